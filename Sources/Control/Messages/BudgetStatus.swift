// SPDX-License-Identifier: Apache-2.0

/// Budget of a vendor's calls, and its use.
package struct BudgetStatus: Codable, Sendable, Equatable {
    /// Allowed calls per UTC day.
    package var callsPerDay: UInt64

    /// Calls in the current UTC day; a restart of the daemon begins at 0.
    package var spentToday: UInt64

    /// Calls wanted beyond the budget, made or not.
    package var beyond: UInt64

    /// State that decides if the next call is made.
    package var state: State

    /// Remaining time of the current UTC day.
    package var dayEndsSeconds: Int

    /// State that decides if the next call is made.
    package enum State: String, Codable, Sendable {
        /// The next call is made: the budget is not spent.
        case within

        /// The next call is not made: the route's fallback answers until the day ends.
        case spent

        /// The next call is made although the budget is spent, as the settings request.
        case exceeded
    }

    /// Creates the state of a budget.
    ///
    /// - Parameter onlyWarns: true if calls beyond the budget are made.
    package init(
        callsPerDay: UInt64,
        spentToday: UInt64,
        beyond: UInt64,
        onlyWarns: Bool,
        dayEndsSeconds: Int
    ) {
        self.callsPerDay = callsPerDay
        self.spentToday = spentToday
        self.beyond = beyond
        self.dayEndsSeconds = dayEndsSeconds
        state = spentToday < callsPerDay ? .within : onlyWarns ? .exceeded : .spent
    }
}
