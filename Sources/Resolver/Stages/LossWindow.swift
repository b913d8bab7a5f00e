// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limit of one client's queries, which shrinks while an upstream drops many of these queries.
///
/// A rate-limited upstream drops queries of all clients, so a client with too many queries makes
/// queries of other clients fail.
///
/// The limit is adapted once per second.  The limit shrinks if three conditions are true: more than
/// 1/8 of the queries was lost, the upstreams are overloaded (``OverloadEvidence``), and the client
/// has more than `FairLimits.share` entries.  The limit is then multiplied by the part of
/// the queries that was answered, at most by 1/2.  Otherwise the limit grows by `FairLimits.share`.
struct LossWindow {
    enum Result {
        case answered

        /// A server answered only a repetition of the query (``LossWatch``).
        case repeated

        /// No server answered in time.  The servers of the queried name may be the reason.
        case lost
    }

    private var size: Int
    private var ended = 0
    private var lost = 0

    /// Start of the current period; nil before the first result.
    private var since: Instant?

    /// Moving average of the time until an answer.
    private var usual = Duration.zero

    private static var period: Duration { .seconds(1) }

    /// The limit shrinks only if more than 1/`tolerance` of the queries is lost.
    private static var tolerance: Int { 8 }

    private static var longestGrace: Duration { .seconds(4) }

    init(_ limits: FairLimits) { size = limits.perClient }

    /// True if the limit was reduced and has not recovered at the last result.
    func isReduced(_ limits: FairLimits) -> Bool { size < limits.perClient }

    /// Returns the maximum number of the client's queries in the table.
    ///
    /// - Parameter limits: the limits that this window was created with.
    func size(at now: Instant, _ limits: FairLimits) -> Int {
        guard size < limits.perClient, let since else { return size }
        let periods = Int(min((now - since) / Self.period, Double(limits.perClient)))
        return min(limits.perClient, size + max(0, periods) * limits.share)
    }

    /// Returns the minimum age of an entry that the client may replace.
    ///
    /// The age is twice the usual time until an answer, so that a slow server can still answer.
    func grace(_ limits: FairLimits) -> Duration {
        min(max(limits.grace, usual * 2), max(limits.grace, Self.longestGrace))
    }

    /// Counts a result.
    ///
    /// - Parameters:
    ///   - age: time since the query began.
    ///   - entries: number of entries of the client, including this entry.
    ///   - isOverloaded: true if the upstreams seem to drop queries of several clients.
    mutating func note(
        _ result: Result,
        age: Duration,
        entries: Int,
        isOverloaded: Bool,
        now: Instant,
        _ limits: FairLimits
    ) {
        let start = since ?? now
        since = start
        ended += 1
        switch result {
        case .answered:
            // A shift by 3 divides by 8; `/` takes 400 instructions.
            usual += Duration(attoseconds: (age - usual).attoseconds >> 3)
        case .repeated, .lost: lost += 1
        }
        guard now - start >= Self.period, ended >= limits.share / 2 else { return }
        size = size(at: now, limits)
        if isOverloaded, lost * Self.tolerance > ended, entries > limits.share {
            let part = min(ended / 2, ended - lost)
            size = max(limits.share, min(size, entries) * part / ended)
        }
        since = now
        ended = 0
        lost = 0
    }
}
