// SPDX-License-Identifier: Apache-2.0

/// Order in which a group asks its servers for one query.
///
/// The order of the settings holds among servers that are fit, except that one which is clearly
/// slower than another of equal protection comes after it.  Latency never puts an unprotected server
/// before a protected one: forged answers are always the fastest.  Those that rest come last.
struct Standing: Sendable, Hashable {
    /// What a group knows of a server.
    struct Entry: Sendable, Hashable {
        var isProtected: Bool

        /// Whether an operator has paused it: it is neither asked nor gets a copy.
        var isPaused = false
        var health: ServerHealth
    }

    /// The servers to ask, by index; without those that lead back to us or are paused.
    private(set) var order: [Int]

    /// A server whose round trip is to be measured by an own question; one a query.
    private(set) var measure: Int?

    /// The only server is asked unless it leads back to us or is paused.
    init(alone health: borrowing ServerHealth, isPaused: Bool = false) {
        order = health.loops || isPaused ? [] : [0]
    }

    /// Puts servers, which are in the order of the settings, into the order in which to ask.
    init(_ entries: [Entry], now: ContinuousClock.Instant) {
        let fit = entries.indices.filter { entries[$0].health.isFit && !entries[$0].isPaused }
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
        measure = order.first.flatMap { first in
            let equals = fit.filter { entries[$0].isProtected == entries[first].isProtected }
            guard equals.count > 1 else { return nil }
            return equals.first { other in
                entries[other].health.isUnmeasured(at: now)
                    && (other < first || entries[first].health.isBeatable)
            }
        }
        order += entries.indices.filter { index in
            let entry = entries[index]
            return !entry.health.isFit && !entry.health.loops && !entry.isPaused
        }
    }
}

extension ServerHealth {
    /// Whether another server could be so much faster that it would matter.
    fileprivate var isBeatable: Bool { latency.map { $0 > UpstreamLimits.slack } ?? false }
}
