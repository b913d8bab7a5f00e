// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Decides when a repeated query needs a new connection although the daemon's own queries get
/// replies.
///
/// A host of a pool can have lost its upstreams, and answer only names in its cache.
struct Renewals {
    /// Time of the latest reply to any query.
    var repliedAt: Instant?

    /// Time of the latest usable reply to a query of a client.
    private var answeredAt: Instant?

    private var next: Instant?

    /// Doubles with each new connection, because clients can query names that get no answer.
    private var spacing = UpstreamLimits.lossCheckSpacing

    /// Returns true if the repeated query must use a new connection: since `earlier`, the daemon got
    /// a reply, but no client got a usable reply, and the minimum interval has passed.
    mutating func begin(repeating earlier: Instant, at now: Instant) -> Bool {
        guard let repliedAt, repliedAt > earlier, (answeredAt ?? earlier) <= earlier else {
            return false
        }
        if let next {
            guard now >= next else { return false }
            // Answers do not reset the interval: a client can also query names without an answer.
            if now - next > UpstreamLimits.longestRest { spacing = UpstreamLimits.lossCheckSpacing }
        }
        next = now + spacing
        spacing = min(spacing * 2, UpstreamLimits.longestRest)
        return true
    }

    mutating func answered(at now: Instant) { answeredAt = now }
}
