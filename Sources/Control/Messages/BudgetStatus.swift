// SPDX-License-Identifier: Apache-2.0

/// Budget of a vendor, and its use.
package struct BudgetStatus: Codable, Sendable, Equatable {
    /// Allowed calls per UTC day; nil without this limit.
    package var callsPerDay: UInt64?

    /// Allowed units per UTC day; nil without this limit.
    package var unitsPerDay: UInt64?

    /// Allowed units per calendar month (UTC); nil without this limit.
    package var unitsPerMonth: UInt64?

    /// Calls in the current UTC day, of all daemons of the machine.
    package var spentToday: UInt64 = 0

    package var unitsToday: UInt64?

    package var unitsThisMonth: UInt64?

    package var beyond: UInt64 = 0

    package var state = State.within

    package var dayEndsSeconds: Int

    /// Problem with the stored counts; nil if there is none.
    package var problem: String?

    /// Effect of the budget on the next call.
    package enum State: String, Codable, Sendable {
        /// The next call is made.
        case within

        /// The next call is not made; the fallback answers until the day or month ends.
        case spent

        /// The limit is exceeded, but the next call is made, as the settings request.
        case exceeded
    }

    package init(dayEndsSeconds: Int) { self.dayEndsSeconds = dayEndsSeconds }
}
