// SPDX-License-Identifier: Apache-2.0

package struct BilledUnits: Codable, Sendable, Equatable {
    package var atLeast: UInt64

    /// Includes calls that the vendor possibly does not bill.
    package var atMost: UInt64

    /// Includes units before a restart of the daemon; nil if the stored counts are damaged.
    package var today: UInt64?

    package var month: UInt64?

    package init(atLeast: UInt64, atMost: UInt64, today: UInt64? = nil, month: UInt64? = nil) {
        self.atLeast = atLeast
        self.atMost = atMost
        self.today = today
        self.month = month
    }
}

package struct BilledCost: Codable, Sendable, Equatable {
    package var amount: Double
    package var currency: String

    package init(amount: Double, currency: String) {
        self.amount = amount
        self.currency = currency
    }
}
