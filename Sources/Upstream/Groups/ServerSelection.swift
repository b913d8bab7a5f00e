// SPDX-License-Identifier: Apache-2.0

/// Order in which a group queries its servers (Selection of servers on the page of the module).
///
/// Latency never moves an unprotected server before a protected one.
struct ServerSelection: Sendable, Hashable {
    /// State of a server.
    struct Entry: Sendable, Hashable {
        var isProtected: Bool

        /// True if an operator has paused the server; it then receives no queries.
        var isPaused = false
        var health: ServerHealth
    }

    /// Indices of the servers to query.
    ///
    /// Servers that are paused, or that forward queries back to this daemon, are left out.
    private(set) var order: [Int]

    /// Index of a server for which a probe should measure the round trip; nil for none.
    private(set) var measure: Int?

    /// Creates the order for a single server, which is used unless it loops or is paused.
    init(aloneAndLoops loops: Bool, isPaused: Bool = false) {
        order = loops || isPaused ? [] : [0]
    }

    /// Orders `entries`, which are in the order of the settings.
    init(_ entries: [Entry], now: Instant) {
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
    /// True if another server could be noticeably faster.
    fileprivate var isBeatable: Bool { latency.map { $0 > UpstreamLimits.slack } ?? false }
}
