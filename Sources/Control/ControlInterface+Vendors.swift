// SPDX-License-Identifier: Apache-2.0

extension ControlInterface {
    static let vendors = """
        # failed: failed calls. failures: deprecated
        # + latency-p50-us: ?int               median duration of a call
        # + latency-ms-p50: ?float             deprecated
        # + last-error: ?string
        # + last-error-age-seconds: ?int
        type VendorServer (
          address: string,
          current: bool,
          state: Health,
          calls: int,
          failures: int,
          failed: ?int
        )

        # operator: paused with Pause. account: the vendor refused the account; one probe call
        # follows after for-seconds. limit: all servers returned HTTP 429. budget: the budget is
        # spent, or its stored counts are unknown because of `error`
        type Reason (operator, account, limit, budget)

        # Reason why a vendor is not called.
        # + for-seconds: ?int                  remaining time; absent: until Resume, or until the
        #                                      counts are known
        type Rest (by: Reason, error: ?string)

        # within: the next call is made. spent: the fallback answers instead. exceeded: the next
        # call is made although the budget is spent
        type BudgetState (within, spent, exceeded)

        # beyond: calls beyond the budget, made or refused
        # + calls-per-day: ?int, spent-today: int    per UTC day
        # + units-per-day, units-today, units-per-month, units-this-month: ?int
        # + day-ends-seconds: int
        # problem: error of the stored counts
        # shared: the limits apply to all machines of the fleet, the counts to this machine
        type Budget (beyond: int, state: BudgetState, problem: ?string, shared: ?bool)

        # today, month: absent if the stored counts are unknown
        # + at-least, at-most: int             since the start or the reset
        type Units (today: ?int, month: ?int)

        # currency: ISO 4217
        type Cost (amount: float, currency: string)

        # Refresh of a vendor's server addresses.
        # + last-age-seconds: ?int             time since the last success
        type Refresh (count: int, failures: int, error: ?string)

        # calls: HTTP requests sent
        # + billable-calls, connections-opened, connections-reused: int
        # protected: forged answers are detected, by TLS or by the vendor's protocol
        # + clock-skew-seconds: ?int           clock of the vendor minus clock of this machine
        # + refused-clock-skew-seconds: ?int   skew that is refused because it is too large
        # + client-address: ?string            client address of the latest answer
        # + client-subnet: ?string             client address in the settings
        type VendorStatus (
          name: string,
          kind: string,
          channel: string,
          protected: bool,
          state: Health,
          rest: ?Rest,
          servers: []VendorServer,
          calls: int,
          budget: ?Budget,
          units: ?Units,
          cost: ?Cost,
          refresh: ?Refresh
        )
        """
}
