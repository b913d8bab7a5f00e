// SPDX-License-Identifier: Apache-2.0

package struct BillRequest: CallParameters, Equatable {
    package var month: Bool?

    package var reset: String?

    package init(month: Bool? = nil, reset: String? = nil) {
        self.month = month
        self.reset = reset
    }

    package enum CodingKeys: CodingKey, CaseIterable { case month, reset }
}

package struct BillReply: Codable, Sendable, Equatable {
    /// `day` or `month` (UTC).
    package var period: String

    package var vendors: [VendorBill]
    package var advice: [BillAdvice]

    package init(period: String, vendors: [VendorBill], advice: [BillAdvice]) {
        self.period = period
        self.vendors = vendors
        self.advice = advice
    }
}

package struct VendorBill: Codable, Sendable, Equatable {
    package var name: String
    package var units: BilledUnits

    /// Cost of the units that are not free; nil if the price is unknown.
    package var cost: BilledCost?

    package var rules: BillRules

    package var saved: Counts = [:]

    package var routes: [RouteCost] = []

    package var names: [NameCost] = []

    package var problem: String?

    package var counted: VendorCount?

    package init(name: String, units: BilledUnits, rules: BillRules) {
        self.name = name
        self.units = units
        self.rules = rules
    }
}

/// Vendor's count of resolutions in the current month, for the whole account.
package struct VendorCount: Codable, Sendable, Equatable {
    package var http: UInt64?

    package var https: UInt64?

    package var units: UInt64?

    package var difference: Int64?

    package var problem: String?

    package var confirmed = false

    package init() {}
}

/// Rules by which a vendor counts units.
package struct BillRules: Codable, Sendable, Equatable {
    package var item: String

    package var weight: UInt64

    package var known: Bool

    package var freePerMonth: UInt64

    package var price: BilledCost?

    package var page: String?
    package var readOn: String?

    package init(item: String, weight: UInt64, known: Bool, freePerMonth: UInt64) {
        self.item = item
        self.weight = weight
        self.known = known
        self.freePerMonth = freePerMonth
    }
}

/// Change of the settings that reduces the cost of a vendor.
package struct BillAdvice: Codable, Sendable, Equatable {
    package var vendor: String
    package var setting: String

    /// Units per day after the change, if the query rate stays the same.
    package var unitsPerDay: UInt64

    /// Negative for a decrease.
    package var changePercent: Int

    package var givesUp: String

    package init(
        vendor: String,
        setting: String,
        unitsPerDay: UInt64,
        changePercent: Int,
        givesUp: String
    ) {
        self.vendor = vendor
        self.setting = setting
        self.unitsPerDay = unitsPerDay
        self.changePercent = changePercent
        self.givesUp = givesUp
    }
}
