// SPDX-License-Identifier: Apache-2.0
package import Net

/// Counters and state of a vendor client since its creation.
package struct VendorStatistics: Sendable, Hashable {
    /// True if a forged reply is detected by TLS or by the API.
    package var isProtected = true

    /// Look-ups; each ends as one of `successes`, `empty`, `failures` or `cancelled`.
    package var calls: UInt64 = 0

    /// Look-ups that returned an address.
    package var successes: UInt64 = 0

    /// Look-ups that returned an answer without addresses.
    package var empty: UInt64 = 0

    /// Look-ups that failed.
    package var failures: UInt64 = 0

    /// Look-ups cancelled by their caller.
    package var cancelled: UInt64 = 0

    /// Requests sent; more than `calls` when servers fail.
    package var tries: UInt64 = 0

    /// Requests that may be billed: all sent requests except those that the vendor refused.
    ///
    /// A request that was cancelled while connecting was not sent.
    package var billable: UInt64 = 0

    /// Names in billable requests; more than `billable` when names share calls.
    package var billableNames: UInt64 = 0

    /// `billableNames` by route.
    package var billableByRoute: [String: UInt64] = [:]

    /// Failed tries by kind.
    package var failuresByKind: [VendorError.Kind: UInt64] = [:]

    /// Addresses dropped as unusable or unreadable.
    package var droppedAddresses: UInt64 = 0

    /// Replies over new connections.
    package var connectionsOpened: UInt64 = 0

    /// Replies over already open connections.
    package var connectionsReused: UInt64 = 0

    /// Switches to another server.
    package var switches: UInt64 = 0

    /// Returns to the primary server.
    package var returns: UInt64 = 0

    /// Hedged requests.
    package var hedges: UInt64 = 0

    /// Retries on a new connection after a timeout on a reused connection.
    package var freshRetries: UInt64 = 0

    /// Calls restarted after a network change.
    package var reissued: UInt64 = 0

    /// Look-ups that joined a pending look-up of the same families.
    package var merged: UInt64 = 0

    /// Look-ups that joined a pending look-up of the other family.
    package var paired: UInt64 = 0

    /// Names that shared the call of another name.
    package var batched: UInt64 = 0

    /// Corrected lead of the vendor's clock; nil if no correction is needed.
    package var clockSkew: Duration?

    /// Lead of the vendor's clock beyond the correctable limit; nil again once the vendor accepts a
    /// request.
    package var refusedClockSkew: Duration?

    /// Refused requests that a clock correction made acceptable.
    package var skewRepairs: UInt64 = 0

    /// Configured budget; nil for no limit.
    package var budget: Budget.Rule?

    /// Requests of the current UTC day.
    package var spentToday: UInt64 = 0

    /// Time until the end of that day.
    package var dayEndsIn = Duration.zero

    /// Calls or requests beyond the budget, sent or not.
    package var beyondBudget: UInt64 = 0

    /// True if the client queries the vendor's scheduling service.
    package var refreshesAddresses = false

    /// Successful address refreshes.
    package var refreshes: UInt64 = 0

    /// Time of the latest successful refresh; nil if there was none.
    package var refreshedAt: Instant?

    /// Failed address refreshes.
    package var refreshFailures: UInt64 = 0

    /// Error of the latest refresh; nil if it succeeded.
    package var refreshError: VendorError?

    /// Calls in flight without an answer.
    package var inFlight = 0

    /// Names waiting for a call.
    package var queued = 0

    /// State of the vendor.
    package var state = State.open

    /// Servers in the order of preference.
    package var servers: [ServerStatistics] = []

    /// State of a vendor, with the reason if calls are blocked.
    package enum State: Sendable, Hashable {
        case open

        /// The operator paused the vendor; this does not count as degraded.
        case paused

        /// The vendor refuses the account; a probe may start at that time, or is in flight.
        case refused(VendorError, until: Instant)

        /// All servers returned 429; one may be queried at that time.
        case limited(until: Instant)

        case overBudget
    }
}

/// Counters and state of one server.
package struct ServerStatistics: Sendable, Hashable {
    package let address: SocketAddress

    /// Requests sent to the server.
    package var tries: UInt64 = 0

    /// Requests without a usable answer.
    package var failures: UInt64 = 0

    /// Failures since the latest answer.
    package var failuresInRow: UInt64 = 0

    /// Latest failure, of any age.
    package var lastError: VendorError?

    /// Time of the latest failure.
    package var lastErrorAt: Instant?

    /// End of the pause after a 429; nil if there is none.
    package var limitedUntil: Instant?

    /// Median reply time; nil before the first reply.
    package var medianLatency: Duration?

    /// True for the current server.
    package var isCurrent = false

    init(address: SocketAddress) {
        self.address = address
    }
}
