// SPDX-License-Identifier: Apache-2.0

package struct BillRequest: CallParameters, Equatable {
    /// True for the costs of the current month; false or nil for the costs of the current day.
    package var month: Bool?

    /// Vendor whose stored counts the daemon sets to 0 before the reply; nil for no reset.
    package var reset: String?

    package init(month: Bool? = nil, reset: String? = nil) {
        self.month = month
        self.reset = reset
    }

    package enum CodingKeys: CodingKey, CaseIterable { case month, reset }
}

package struct BillReply: Codable, Sendable, Equatable {
    /// Period of the costs: `day` or `month` (UTC).
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

    /// Units saved since the reset of the counters, by reason, as in ``VendorStats/avoided``.
    package var saved: Counts = [:]

    /// Upper bounds of the units by route, since the reset of the counters.
    package var routes: [RouteCost] = []

    package var names: [NameCost] = []

    /// Reason why the counts are unknown, or will be lost when the process ends; otherwise nil.
    package var problem: String?

    /// Count that the vendor reports for the month; nil if the settings have no access key.
    package var counted: VendorCount?

    package init(name: String, units: BilledUnits, rules: BillRules) {
        self.name = name
        self.units = units
        self.rules = rules
    }
}

/// Count that the vendor reports for the current month and the whole account.
package struct VendorCount: Codable, Sendable, Equatable {
    /// Resolutions over HTTP; nil if the vendor returned no count.
    package var http: UInt64?

    /// Resolutions over HTTPS; nil if the vendor returned no count.
    package var https: UInt64?

    /// Units of all resolutions, computed as if all calls had used the configured encryption.
    package var units: UInt64?

    /// `units` minus the daemon's own count of units in the current month.
    package var difference: Int64?

    package var problem: String?

    /// True if the developers have tested the request for this count with a real account.
    package var confirmed = false

    package init() {}
}

/// Rules by which a vendor counts units.
package struct BillRules: Codable, Sendable, Equatable {
    /// Billed item: `request`, `name`, or `family` (name and address family).
    package var item: String

    package var weight: UInt64

    /// False if the vendor does not publish its billing rules.
    package var known: Bool

    package var freePerMonth: UInt64

    /// Price of 10,000 units; nil if unknown.
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

    /// Change of the units in percent, negative for a decrease.
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
