// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

package struct VendorStatistics: Sendable, Hashable {
    package var isProtected = true

    /// Number of lookups; each ended lookup also counts in one of the next four counters.
    package var calls: UInt64 = 0

    package var successes: UInt64 = 0

    package var empty: UInt64 = 0

    package var failures: UInt64 = 0

    package var cancelled: UInt64 = 0

    package var tries: UInt64 = 0

    /// Sent requests that the vendor did not refuse.
    package var billable: UInt64 = 0

    package var billableNames: UInt64 = 0

    package var billableByRoute: [String: UInt64] = [:]

    package var units = UnitRange.zero

    /// Estimate of `units` if the minimum TTL were ``ClientLimits/advisedTTL``.
    package var unitsAtAdvisedTTL = 0.0

    /// 0 if the vendor does not bill by family.
    package var unitsForV6: UInt64 = 0

    package var unitsByRoute: [String: UnitRange] = [:]

    package var failuresByKind: [VendorError.Kind: UInt64] = [:]

    package var droppedAddresses: UInt64 = 0

    package var connectionsOpened: UInt64 = 0

    package var connectionsReused: UInt64 = 0

    package var switches: UInt64 = 0

    package var returns: UInt64 = 0

    package var hedges: UInt64 = 0

    /// Retries on a new connection, after a reused connection failed.
    package var freshRetries: UInt64 = 0

    package var reissued: UInt64 = 0

    package var merged: UInt64 = 0

    /// Lookups that joined a lookup of the same name and the other family.
    package var paired: UInt64 = 0

    /// Names in calls, without the first name of each call.
    package var batched: UInt64 = 0

    /// Time by which the vendor's clock is ahead of the local clock.
    package var clockSkew: Duration?

    /// Clock difference that is not used, because it is above the limit; nil after the vendor has
    /// accepted a request.
    package var refusedClockSkew: Duration?

    package var skewRepairs: UInt64 = 0

    package var budget: Budget.Rule?

    /// Nil if the stored counts are unknown.
    package var usage: UsageRecord?

    package var usageProblem: String?

    package var isBudgetSpent = false

    package var clientAddress: IPAddress?

    package var price = PriceModel.unknown

    package var dayEndsIn = Duration.zero

    /// Valid only if the budget is spent.
    package var budgetStartsIn = Duration.zero

    package var beyondBudget: UInt64 = 0

    package var refreshesAddresses = false

    package var refreshes: UInt64 = 0

    package var refreshedAt: Instant?

    package var refreshFailures: UInt64 = 0

    package var refreshError: VendorError?

    package var inFlight = 0

    package var queued = 0

    package var state = State.open

    package var servers: [ServerStatistics] = []

    package enum State: Sendable, Hashable {
        case open

        case paused

        case refused(VendorError, until: Instant)

        case limited(until: Instant)

        /// The budget is spent, or its counts are unknown because of `problem`.
        case overBudget(problem: String?)
    }
}

package struct ServerStatistics: Sendable, Hashable {
    package let address: SocketAddress

    package var tries: UInt64 = 0

    package var failures: UInt64 = 0

    /// Failures to connect and failed probes since the latest answer.
    package var failuresInRow: UInt64 = 0

    package var lastError: VendorError?

    package var lastErrorAt: Instant?

    package var limitedUntil: Instant?

    package var medianLatency: Duration?

    package var isCurrent = false

    init(address: SocketAddress) {
        self.address = address
    }
}
