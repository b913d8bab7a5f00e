// SPDX-License-Identifier: Apache-2.0

/// Budget of a vendor.
package struct BudgetStatus: Codable, Sendable, Equatable {
    /// Limit for a UTC day.
    package var callsPerDay: UInt64

    /// Calls today; a restart of the daemon resets this count.
    package var spentToday: UInt64

    /// Calls beyond the budget, made or not.
    package var beyond: UInt64

    package var state: State

    package var dayEndsSeconds: Int

    /// State of the budget.
    package enum State: String, Codable, Sendable {
        /// The next call is made.
        case within

        /// The next call is not made; the fallback answers.
        case spent

        /// The next call is made, as the settings request.
        case exceeded
    }

    /// Creates a state; `onlyWarns` permits calls beyond the budget.
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
