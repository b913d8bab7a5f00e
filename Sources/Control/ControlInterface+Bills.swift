// SPDX-License-Identifier: Apache-2.0

extension ControlInterface {
    /// Part of ``description``: billed units and costs.
    static let bills = """
        # item: request, name, or family for each address family of a name
        # known: the vendor publishes its unit. page: where. + read-on: ?string
        # price: of 10,000 units. + free-per-month: int
        type BillRules (item: string, weight: int, known: bool, price: ?Cost, page: ?string)

        # saved: units that were not needed, by reason as `avoided`. problem: of the stored counts
        type VendorBill (
          name: string,
          units: Units,
          cost: ?Cost,
          rules: BillRules,
          saved: [string]int,
          routes: []RouteCost,
          names: []NameCost,
          problem: ?string
        )

        # + units-per-day: int, change-percent: int, gives-up: string
        type BillAdvice (vendor: string, setting: string)

        # Returns billed units and costs of the day, or of the month (UTC). `reset` names a vendor
        # whose counts are set to 0 first: a changing call. NotFound for an unknown vendor.
        method Bill(month: ?bool, reset: ?string) -> (
          period: string,
          vendors: []VendorBill,
          advice: []BillAdvice
        )
        """
}
