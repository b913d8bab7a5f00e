// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limit on the number of one client's queries in a table, which shrinks while an upstream drops
/// many queries of the client.
///
/// The reason: an upstream that limits the rate of this daemon drops queries of all clients.
///
/// Each second, the limit is halved if more than `FairLimits.share` / 2 queries of the client were
/// lost, the client has more than `FairLimits.share` entries, and other clients use the table.
/// Otherwise, the limit grows by `FairLimits.share`.
///
/// A query counts as lost if its upstreams drop queries (`UpstreamGroup.dropsQueries(now:)`), and
/// if the query was repeated or got no answer.
struct LossWindow {
    private var size: Int
    private var lost = 0

    private var since: Instant?

    private var usual = Duration.zero

    private static var period: Duration { .seconds(1) }

    private static var longestGrace: Duration { .seconds(4) }

    init(_ limits: FairLimits) { size = limits.perClient }

    func isReduced(_ limits: FairLimits) -> Bool { size < limits.perClient }

    func size(at now: Instant, _ limits: FairLimits) -> Int {
        guard size < limits.perClient, let since else { return size }
        let periods = Int(min((now - since) / Self.period, Double(limits.perClient)))
        return min(limits.perClient, size + max(0, periods) * limits.share)
    }

    /// Returns the minimum age at which a new query can replace the client's oldest query.
    ///
    /// The age is twice the average time until an answer, within bounds, so that a slow server can
    /// still answer the oldest query.
    func grace(_ limits: FairLimits) -> Duration {
        min(max(limits.grace, usual * 2), max(limits.grace, Self.longestGrace))
    }

    mutating func note(
        isLost: Bool,
        age: Duration,
        entries: Int,
        isShared: Bool,
        now: Instant,
        _ limits: FairLimits
    ) {
        let start = since ?? now
        since = start
        if isLost {
            lost += 1
        } else {
            // The operator `/` would take 400 instructions.
            usual += Duration(attoseconds: (age - usual).attoseconds >> 3)
        }
        guard now - start >= Self.period else { return }
        size = size(at: now, limits)
        if lost > limits.share / 2, entries > limits.share, isShared {
            size = max(limits.share, min(size, entries) / 2)
        }
        since = now
        lost = 0
    }
}
