// SPDX-License-Identifier: Apache-2.0

/// Whom a group asks for one query, in which order, and who gets a copy besides.
///
/// The order of the settings holds among servers that are fit, except that one which is clearly
/// slower than another of equal protection comes after it.  Latency never puts an unprotected server
/// before a protected one: whoever forges answers is always the fastest.  Those that rest come last.
struct Standing: Sendable, Hashable {
    /// What a group knows of a server.
    struct Entry: Sendable, Hashable {
        var isProtected: Bool
        var health: ServerHealth
    }

    /// The servers to ask, by index; without those that lead back to us.
    private(set) var order: [Int]

    /// A server that gets a copy of the query although nobody will wait for it.
    ///
    /// To see whether it is well again, or how fast it is; one a query.
    private(set) var copy: Int?

    /// The only server is asked unless it leads back to us.
    init(alone health: borrowing ServerHealth) {
        order = health.loops ? [] : [0]
    }

    /// Puts servers, which are in the order of the settings, into the order in which to ask.
    init(_ entries: [Entry], now: ContinuousClock.Instant) {
        let fit = entries.indices.filter { entries[$0].health.isFit }
        let slow = Set(
            fit.filter { index in
                fit.contains { other in
                    entries[other].isProtected == entries[index].isProtected
                        && entries[index].health.isSlower(than: entries[other].health)
                }
            }
        )
        var queues = [true, false].map { isProtected in
            let those = fit.filter { entries[$0].isProtected == isProtected }
            return (those.filter { !slow.contains($0) } + those.filter(slow.contains))[...]
        }
        order = fit.compactMap { queues[entries[$0].isProtected ? 0 : 1].popFirst() }
        copy = order.first.flatMap { first in
            entries.indices.first { entries[$0].health.isDue(at: now) }
                ?? fit.first { other in
                    other != first && entries[other].health.isUnmeasured(at: now)
                        && entries[other].isProtected == entries[first].isProtected
                        && (other < first || entries[first].health.isBeatable)
                }
        }
        order += entries.indices.filter { !entries[$0].health.isFit && !entries[$0].health.loops }
    }
}

extension ServerHealth {
    /// Whether another server could be so much faster that it would matter.
    fileprivate var isBeatable: Bool { latency.map { $0 > UpstreamLimits.slack } ?? false }
}
