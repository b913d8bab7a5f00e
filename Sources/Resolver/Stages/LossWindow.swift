// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limit of the work of one client, which shrinks while much of this work is lost.
///
/// An upstream that limits its rate drops the queries of all clients alike.  A client that sends
/// more than the upstream answers would therefore make the names of other clients fail.  Lost work
/// is counted against the client that started it: the client with the most work loses the most, and
/// its limit shrinks until the upstream answers nearly all queries again.
///
/// Once per second, the limit of a client with more than `FairLimits.share` entries is halved if more
/// than an eighth of its work was lost.  Otherwise the limit grows by `FairLimits.share`.  It is never
/// smaller than `FairLimits.share`, so that names that are never answered do not stop a client.
struct LossWindow {
    private var size: Int
    private var ended = 0
    private var lost = 0

    /// Start of the current period; nil before the first result.
    private var since: Instant?

    private static var period: Duration { .seconds(1) }

    /// One part in this many may be lost.
    private static var tolerance: Int { 8 }

    init(_ limits: FairLimits) { size = limits.perClient }

    /// True if the limit was reduced and no result has shown since that it has grown back.
    func isReduced(_ limits: FairLimits) -> Bool { size < limits.perClient }

    /// Returns the maximum number of entries of the client.
    ///
    /// - Parameter limits: the limits that this was created with.
    func size(at now: Instant, _ limits: FairLimits) -> Int {
        guard size < limits.perClient, let since else { return size }
        let periods = Int(min((now - since) / Self.period, Double(limits.perClient)))
        return min(limits.perClient, size + max(0, periods) * limits.share)
    }

    /// Counts a result.
    ///
    /// - Parameter entries: the number of entries of the client, this one included.
    mutating func note(isLost: Bool, entries: Int, now: Instant, _ limits: FairLimits) {
        let start = since ?? now
        since = start
        ended += 1
        if isLost { lost += 1 }
        guard now - start >= Self.period else { return }
        size = size(at: now, limits)
        if lost * Self.tolerance > ended, entries > limits.share {
            size = max(limits.share, min(size, entries) / 2)
        }
        since = now
        ended = 0
        lost = 0
    }
}
