// SPDX-License-Identifier: Apache-2.0

extension ControlInterface {
    static let bills = """
        # item: the billed item: request, name, or family (an address family of a name)
        # known: the vendor publishes the rules. page: web page with the rules
        # + read-on: ?string                   date on which the page was read
        # price: of 10,000 units. + free-per-month: int
        type BillRules (item: string, weight: int, known: bool, price: ?Cost, page: ?string)

        # Count by the vendor for the month and the whole account; requires an access key.
        # http, https: resolutions over HTTP and HTTPS. units: of these resolutions, as if all
        # had the configured encryption
        # difference: units minus the units that the daemon counted
        # confirmed: the request was tested with a real account
        type VendorCount (
          http: ?int,
          https: ?int,
          units: ?int,
          difference: ?int,
          problem: ?string,
          confirmed: bool
        )

        # saved: avoided units, by reason as in `avoided`. problem: error of the stored counts
        type VendorBill (
          name: string,
          units: Units,
          cost: ?Cost,
          rules: BillRules,
          saved: [string]int,
          routes: []RouteCost,
          names: []NameCost,
          problem: ?string,
          counted: ?VendorCount
        )

        # + units-per-day: int, change-percent: int, gives-up: string
        type BillAdvice (vendor: string, setting: string)

        # Returns billed units and costs of the day, or of the month (UTC). `reset` is a vendor: the
        # counts of this vendor are first set to 0. NotFound for an unknown vendor. Requires the
        # rights of changing calls, because the names are from queries of clients.
        # With an access key, requests the count of the vendor, at most once per minute and key. The
        # reply waits for this count for at most 6 s.
        method Bill(month: ?bool, reset: ?string) -> (
          period: string,
          vendors: []VendorBill,
          advice: []BillAdvice
        )

        # Reply of a vendor for tests of the parser; client addresses are replaced by 203.0.113.1
        type ProofVector (vendor: string, names: []string, types: []string, status: int, body: string)

        # A call for one feature of the protocol, without secrets and account numbers.
        # expected: assumption of the code. skipped: not called, or without a reply
        # result: addresses, an error, or the reason of `skipped`. units: upper bound
        type ProofStep (
          label: string,
          expected: string,
          verdict: (agrees, differs, skipped),
          request: ?string,
          status: ?int,
          result: string,
          units: int,
          vector: ?ProofVector
        )

        # Calls a vendor once for each feature of its protocol, and compares the replies with the
        # assumptions of the code. The calls count in the budget of the vendor. With `plan`, returns
        # the cost without a call. units: upper bound. With `more`, each reply has one step, and the
        # last reply has no step. A changing call.
        # + max-units: ?int (parameter)        a call that could exceed the limit is skipped
        method Prove(vendor: string, name: ?string, plan: ?bool) -> (
          vendor: string,
          name: string,
          calls: int,
          units: int,
          money: ?Cost,
          steps: []ProofStep
        )
        """
}
