// SPDX-License-Identifier: Apache-2.0

package struct BudgetStatus: Codable, Sendable, Equatable {
    package var callsPerDay: UInt64?

    package var unitsPerDay: UInt64?

    package var unitsPerMonth: UInt64?

    /// Calls of all daemons on this machine in the current UTC day.
    package var spentToday: UInt64 = 0

    package var unitsToday: UInt64?
    package var unitsThisMonth: UInt64?
    package var beyond: UInt64 = 0
    package var state = State.within
    package var dayEndsSeconds: Int
    package var problem: String?

    package var shared: Bool?

    package enum State: String, Codable, Sendable {
        case within

        case spent

        case exceeded
    }

    package init(dayEndsSeconds: Int) { self.dayEndsSeconds = dayEndsSeconds }
}
