// SPDX-License-Identifier: Apache-2.0

package struct BudgetStatus: Codable, Sendable, Equatable {
    /// Allowed calls per UTC day; nil if there is no such limit.
    package var callsPerDay: UInt64?

    package var unitsPerDay: UInt64?

    /// Allowed units per calendar month (UTC); nil if there is no such limit.
    package var unitsPerMonth: UInt64?

    /// Number of calls of all daemons on this machine in the current UTC day.
    package var spentToday: UInt64 = 0

    package var unitsToday: UInt64?
    package var unitsThisMonth: UInt64?
    package var beyond: UInt64 = 0
    package var state = State.within
    package var dayEndsSeconds: Int
    package var problem: String?

    /// True if the limits apply to all machines of a fleet together.
    ///
    /// The counts include only the calls and units of this machine.
    package var shared: Bool?

    package enum State: String, Codable, Sendable {
        case within

        /// No more calls until the day or month ends; the fallback answers.
        case spent

        /// The limit is exceeded, but the settings allow the next call.
        case exceeded
    }

    package init(dayEndsSeconds: Int) { self.dayEndsSeconds = dayEndsSeconds }
}
