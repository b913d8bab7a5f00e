// SPDX-License-Identifier: Apache-2.0

/// Order in which a group queries its servers.
///
/// Latency changes only the order of servers of the same kind.
struct ServerSelection: Sendable, Hashable {
    struct Entry: Sendable, Hashable {
        var isProtected: Bool

        var role = ServerRole.ordinary
        var isPaused = false
        var health: ServerHealth

        fileprivate var isUnusedWhileUp: Bool {
            (isPaused || !health.isFit) && !health.isDown
        }

        fileprivate var kind: Int { (role != .ordinary ? 2 : 0) + (isProtected ? 0 : 1) }
    }

    /// Indices of the servers to query.
    ///
    /// If a protected server is excluded, or is backed off but not down, all later unprotected
    /// servers are also excluded.
    private(set) var order: [Int]

    /// Index of the protected server that excludes all later unprotected servers; nil for none.
    private(set) var blocker: Int?

    /// Index of a server that needs a probe to measure its round trip; nil for none.
    private(set) var measure: Int?

    init(aloneAndLoops loops: Bool, isPaused: Bool = false) {
        order = loops || isPaused ? [] : [0]
    }

    /// Selects and sorts the servers to query; `entries` must be in the order of the settings.
    init(_ entries: [Entry], now: Instant) {
        let blocker = entries.firstIndex { $0.isProtected && $0.isUnusedWhileUp }
        self.blocker = blocker
        let unused = blocker ?? entries.count
        let usable = entries.indices.filter { index in
            let entry = entries[index]
            return !entry.health.loops && !entry.isPaused && (entry.isProtected || index < unused)
        }
        let fit = usable.filter { entries[$0].health.isFit }
        let slow = Set(
            fit.filter { index in
                fit.contains { other in
                    entries[other].kind == entries[index].kind
                        && entries[index].health.isSlower(than: entries[other].health)
                }
            }
        )
        var queues = (0...3).map { kind in
            let those = fit.filter { entries[$0].kind == kind }
            return (those.filter { !slow.contains($0) } + those.filter(slow.contains))[...]
        }
        order = fit.compactMap { queues[entries[$0].kind].popFirst() }
        measure = order.first.flatMap { first in
            let equals = fit.filter { entries[$0].kind == entries[first].kind }
            guard equals.count > 1 else { return nil }
            return equals.first { other in
                entries[other].health.isUnmeasured(at: now)
                    && (other < first || entries[first].health.isBeatable)
            }
        }
        order += usable.filter { !entries[$0].health.isFit }
        let spares = order.filter { entries[$0].role == .spare }
        guard !spares.isEmpty else { return }
        order.removeAll { entries[$0].role == .spare }
        // A spare server is queried only after every server of the VPN has returned an error. If
        // `order` lacks a server of the VPN, this server gets no query and returns no error. Then
        // no spare server is added.
        let first = entries.indices.filter { entries[$0].role == .first }
        if first.allSatisfy(order.contains) { order += spares }
    }
}

extension ServerHealth {
    fileprivate var isBeatable: Bool { latency.map { $0 > UpstreamLimits.slack } ?? false }
}
