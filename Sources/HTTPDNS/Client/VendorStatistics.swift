// SPDX-License-Identifier: Apache-2.0
package import Net

/// What a vendor client has done since it was made.
package struct VendorStatistics: Sendable, Hashable {
    /// Whether a forged reply is detected, so that its answers are the vendor's.
    package var isProtected = true

    /// Look-ups; each ends as one of `successes`, `empty`, `failures` or `cancelled`, or runs on.
    package var calls: UInt64 = 0

    /// Look-ups that brought an address.
    package var successes: UInt64 = 0

    /// Look-ups that brought an answer without any address.
    package var empty: UInt64 = 0

    /// Look-ups that brought nothing.
    package var failures: UInt64 = 0

    /// Look-ups that were given up by the one who asked.
    package var cancelled: UInt64 = 0

    /// Requests sent; more than `calls` when servers fail.
    package var tries: UInt64 = 0

    /// Requests that may be on the bill: all that were sent, except those that the vendor refused.
    ///
    /// A call that ended while it was connecting was not sent.
    package var billable: UInt64 = 0

    /// The names in those requests; more than `billable` when names share calls.
    package var billableNames: UInt64 = 0

    /// `billableNames` by the routes that sent them here.
    package var billableByRoute: [String: UInt64] = [:]

    /// Tries that brought no answer, by kind.
    package var failuresByKind: [VendorError.Kind: UInt64] = [:]

    /// Addresses left out of answers as unusable or unreadable.
    package var droppedAddresses: UInt64 = 0

    /// Replies that came over a new connection.
    package var connectionsOpened: UInt64 = 0

    /// Replies that came over a connection that was already open.
    package var connectionsReused: UInt64 = 0

    /// How often another server became current.
    package var switches: UInt64 = 0

    /// How often the first server became current again.
    package var returns: UInt64 = 0

    /// Requests sent because the one before was slow.
    package var hedges: UInt64 = 0

    /// Requests sent again on a fresh connection after a silence on an old one.
    package var freshRetries: UInt64 = 0

    /// Calls that were begun again because the network changed.
    package var reissued: UInt64 = 0

    /// Look-ups that were spared a call: the same was being asked.
    package var merged: UInt64 = 0

    /// Look-ups that were spared a call: the other family was being asked.
    package var paired: UInt64 = 0

    /// Names that were spared a call of their own: they shared another's.
    package var batched: UInt64 = 0

    /// How far the vendor's clock is ahead of ours; nil as long as ours was good enough.
    package var clockSkew: Duration?

    /// How far the vendor said its clock to be ahead of ours, if that was too far to be believed and it
    /// has accepted no request since.
    package var refusedClockSkew: Duration?

    /// How often signing with the vendor's time made a refused request acceptable.
    package var skewRepairs: UInt64 = 0

    /// What the operator allows; nil for everything.
    package var budget: Budget.Rule?

    /// Requests of the present day of UTC.
    package var spentToday: UInt64 = 0

    /// How long that day still lasts.
    package var dayEndsIn = Duration.zero

    /// Calls that the budget forbade, or requests sent in spite of it.
    package var beyondBudget: UInt64 = 0

    /// Whether the vendor is asked for its servers' addresses at all.
    package var refreshesAddresses = false

    /// How often the vendor told its servers' addresses.
    package var refreshes: UInt64 = 0

    /// When it did so last; nil if it never did.
    package var refreshedAt: ContinuousClock.Instant?

    /// How often it was asked for them in vain.
    package var refreshFailures: UInt64 = 0

    /// Why it was in vain the last time; nil if it was not.
    package var refreshError: VendorError?

    /// Calls without an answer so far.
    package var inFlight = 0

    /// Names that wait for a place among them.
    package var queued = 0

    /// Whether the vendor is asked, and if not, why.
    package var state = State.open

    /// The servers in the order of preference.
    package var servers: [ServerStatistics] = []

    /// Whether a vendor is asked, and if not, why.
    package enum State: Sendable, Hashable {
        case open

        /// The operator paused it, which is no degradation.
        case paused

        /// It refuses the account; a trial may pass at that instant, or is under way.
        case refused(VendorError, until: ContinuousClock.Instant)

        /// All its servers said 429; one may be tried at that instant.
        case limited(until: ContinuousClock.Instant)

        /// The budget of the day is spent.
        case overBudget
    }
}

/// What became of the tries on one server.
package struct ServerStatistics: Sendable, Hashable {
    /// The server.
    package let address: SocketAddress

    /// Requests sent to it.
    package var tries: UInt64 = 0

    /// Requests it gave no usable answer to.
    package var failures: UInt64 = 0

    /// Failures since its latest answer.
    package var failuresInRow: UInt64 = 0

    /// Its latest failure, however long ago.
    package var lastError: VendorError?

    /// When that was.
    package var lastErrorAt: ContinuousClock.Instant?

    /// Until when it asked to be left alone; nil if it did not.
    package var limitedUntil: ContinuousClock.Instant?

    /// How long half of its replies took at most; nil before the first.
    package var medianLatency: Duration?

    /// Whether it is the one that is asked first.
    package var isCurrent = false

    init(address: SocketAddress) {
        self.address = address
    }
}
