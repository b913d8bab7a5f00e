// SPDX-License-Identifier: Apache-2.0

/// Units that a vendor bills, by the vendor's rules.
package struct BilledUnits: Codable, Sendable, Equatable {
    /// Lower bound since the start of the daemon or the reset of the counters.
    package var atLeast: UInt64

    /// Upper bound: also counts calls of which it is unknown whether they are billed.
    package var atMost: UInt64

    /// Upper bound of the current UTC day, also before a restart; nil if the stored counts are
    /// damaged.
    package var today: UInt64?

    /// Upper bound of the current calendar month (UTC); nil as `today`.
    package var month: UInt64?

    /// Creates the bounds.
    package init(atLeast: UInt64, atMost: UInt64, today: UInt64? = nil, month: UInt64? = nil) {
        self.atLeast = atLeast
        self.atMost = atMost
        self.today = today
        self.month = month
    }
}

/// Amount of money.
package struct BilledCost: Codable, Sendable, Equatable {
    package var amount: Double

    package var currency: String

    /// Creates an amount.
    package init(amount: Double, currency: String) {
        self.amount = amount
        self.currency = currency
    }
}
