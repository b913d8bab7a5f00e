// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Counters and state of a vendor client.
package struct VendorStatistics: Sendable, Hashable {
    /// True if TLS or the API detects forged replies.
    package var isProtected = true

    /// Look-ups; each ends as one of `successes`, `empty`, `failures` or `cancelled`.
    package var calls: UInt64 = 0

    /// Look-ups with addresses.
    package var successes: UInt64 = 0

    package var empty: UInt64 = 0

    package var failures: UInt64 = 0

    package var cancelled: UInt64 = 0

    package var tries: UInt64 = 0

    /// Requests that were sent and not refused; not those cancelled while connecting.
    package var billable: UInt64 = 0

    package var billableNames: UInt64 = 0

    package var billableByRoute: [String: UInt64] = [:]

    /// Units that the vendor bills for these requests.
    package var units = UnitRange.zero

    /// Units that names in constant use would have cost with ``ClientLimits/advisedTTL`` as minimum
    /// TTL.
    package var unitsAtAdvisedTTL = 0.0

    /// Part of the upper bound of `units` for AAAA; 0 if the vendor does not bill families.
    package var unitsForV6: UInt64 = 0

    /// `units` by route.
    package var unitsByRoute: [String: UnitRange] = [:]

    /// Failed tries by kind.
    package var failuresByKind: [VendorError.Kind: UInt64] = [:]

    /// Unusable or unreadable addresses.
    package var droppedAddresses: UInt64 = 0

    package var connectionsOpened: UInt64 = 0

    package var connectionsReused: UInt64 = 0

    package var switches: UInt64 = 0

    package var returns: UInt64 = 0

    package var hedges: UInt64 = 0

    /// Retries after a reused connection timed out or ended.
    package var freshRetries: UInt64 = 0

    package var reissued: UInt64 = 0

    /// Look-ups that joined one of the same families.
    package var merged: UInt64 = 0

    /// Look-ups that joined one of the other family.
    package var paired: UInt64 = 0

    /// Names in the call of another name.
    package var batched: UInt64 = 0

    /// Corrected lead of the vendor's clock.
    package var clockSkew: Duration?

    /// Lead of the vendor's clock above the limit, until an accepted request.
    package var refusedClockSkew: Duration?

    /// Requests accepted after a correction.
    package var skewRepairs: UInt64 = 0

    package var budget: Budget.Rule?

    /// Use of the current UTC day and month; nil if the stored counts are damaged.
    package var usage: UsageRecord?

    /// Reason why `usage` is unknown or does not outlive the process; nil if there is none.
    package var usageProblem: String?

    /// True if the budget does not suffice for a request.
    package var isBudgetSpent = false

    /// Client address in the latest reply to a request without the parameters of a route.
    package var clientAddress: IPAddress?

    /// Rules of the units, and their price.
    package var price = PriceModel.unknown

    package var dayEndsIn = Duration.zero

    /// Calls or requests above the budget.
    package var beyondBudget: UInt64 = 0

    /// True with a scheduling service.
    package var refreshesAddresses = false

    package var refreshes: UInt64 = 0

    package var refreshedAt: Instant?

    package var refreshFailures: UInt64 = 0

    /// Error of the latest refresh, if it failed.
    package var refreshError: VendorError?

    package var inFlight = 0

    package var queued = 0

    package var state = State.open

    package var servers: [ServerStatistics] = []

    /// State of a vendor, with the reason for blocked calls.
    package enum State: Sendable, Hashable {
        case open

        /// Paused by the operator; not degraded.
        case paused

        /// A probe may start at that time.
        case refused(VendorError, until: Instant)

        /// All servers returned 429 until that time.
        case limited(until: Instant)

        /// The budget is spent, or its counts are unknown because of `problem`.
        case overBudget(problem: String?)
    }
}

/// Counters and state of one server.
package struct ServerStatistics: Sendable, Hashable {
    package let address: SocketAddress

    package var tries: UInt64 = 0

    package var failures: UInt64 = 0

    package var failuresInRow: UInt64 = 0

    /// Of any age.
    package var lastError: VendorError?

    package var lastErrorAt: Instant?

    /// End of a pause.
    package var limitedUntil: Instant?

    package var medianLatency: Duration?

    package var isCurrent = false

    init(address: SocketAddress) {
        self.address = address
    }
}
