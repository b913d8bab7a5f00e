// SPDX-License-Identifier: Apache-2.0

/// What may be spent on a vendor's calls, and what has been.
package struct BudgetStatus: Codable, Sendable, Equatable {
    /// Calls that are allowed a day.
    package var callsPerDay: UInt64

    /// Calls of the present day of UTC, whenever counting began; a restart begins at 0.
    package var spentToday: UInt64

    /// Calls that were wanted beyond it: not made, or made all the same.
    package var beyond: UInt64

    /// What becomes of the next call.
    package var state: State

    /// How long the present day of UTC still lasts.
    package var dayEndsSeconds: Int

    /// What becomes of the next call.
    package enum State: String, Codable, Sendable {
        /// It is made: the day's calls are not spent.
        case within

        /// It is not made: the route's fallback answers until the day ends.
        case spent

        /// It is made although the day's calls are spent, as the settings want it.
        case exceeded
    }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case callsPerDay = "calls-per-day"
        case spentToday = "spent-today"
        case beyond, state
        case dayEndsSeconds = "day-ends-seconds"
    }

    /// Makes the state of a budget.
    ///
    /// - Parameter onlyWarns: whether calls beyond the budget are made.
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
