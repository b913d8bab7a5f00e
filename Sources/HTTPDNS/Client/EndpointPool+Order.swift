// SPDX-License-Identifier: Apache-2.0
package import Net

// MARK: - The order of attempts

extension EndpointPool {
    package enum Order: Sendable, Hashable {
        case servers([SocketAddress])

        /// All servers are paused; the earliest pause ends at `until`.
        case limited(until: Instant)
    }

    /// Servers with ``failuresBeforeSwitch`` or more unanswered requests in flight come last.
    package func order(now: Instant) -> Order {
        var pool = self
        return pool.takeOrder(now: now)
    }

    /// Returns ``order(now:)``; is `mutating` to avoid a copy of the pool.
    mutating func takeOrder(now: Instant) -> Order {
        guard endpoints.contains(where: \.isSpecial) else {
            return .servers(inTurn)
        }
        var order = rotation
        order = order.filter { !isSilent($0) } + order.filter { isSilent($0) }
        order.removeAll { !endpoints[$0].breaker.admits(at: now) }
        guard order.isEmpty else { return .servers(order.map { endpoints[$0].address }) }
        return .limited(until: endpoints.compactMap(\.breaker.openUntil).min() ?? now)
    }

    /// Servers that are due for a check come first.
    func trialOrder(now: Instant) -> [SocketAddress] {
        let candidates = returnCandidates(now)
        let order = candidates + rotation.filter { !candidates.contains($0) }
        return order.map { endpoints[$0] }.filter { $0.breaker.admits(at: now) }.map(\.address)
    }

    /// Indexes of the servers, the current server first, with alternating families (RFC 8305 §4).
    ///
    /// All scheduled servers, or all configured servers, may be silent. Therefore, the first three
    /// servers include both kinds, and the second server is a configured server. Exception: if the
    /// second server has failed since its latest answer, and the third server has not, these two
    /// servers change places.
    var rotation: [Int] {
        let alternating = alternating
        guard hasScheduled else { return alternating }
        let others = byFailure(Array(alternating.dropFirst()))
        var next = others.filter { endpoints[$0].isConfigured }.prefix(1)
        if let other = others.first(where: { !endpoints[$0].isConfigured }),
            endpoints[currentIndex].isConfigured || endpoints[other].failedAt == 0
        {
            next.append(other)
        }
        return [currentIndex] + byFailure(Array(next)) + others.filter { !next.contains($0) }
    }

    private func byFailure(_ indexes: [Int]) -> [Int] {
        let failed = indexes.filter { endpoints[$0].failedAt != 0 }
        return indexes.filter { endpoints[$0].failedAt == 0 }
            + failed.sorted { endpoints[$0].failedAt < endpoints[$1].failedAt }
    }

    private var hasScheduled: Bool { !endpoints.allSatisfy(\.isConfigured) }

    private var alternating: [Int] {
        let round = Array(currentIndex..<endpoints.count) + Array(0..<currentIndex)
        let first = endpoints[currentIndex].address.isIPv6
        var same = round.filter { endpoints[$0].address.isIPv6 == first }[...]
        var other = round.filter { endpoints[$0].address.isIPv6 != first }[...]
        var rotation: [Int] = []
        while !same.isEmpty || !other.isEmpty {
            if let index = same.popFirst() { rotation.append(index) }
            if let index = other.popFirst() { rotation.append(index) }
        }
        return rotation
    }

    func isHealthy(_ server: SocketAddress) -> Bool {
        endpoints.indices.contains {
            endpoints[$0].address == server && endpoints[$0].failedAt == 0 && !isSilent($0)
        }
    }

    var isCurrentSilent: Bool { isSilent(currentIndex) }

    private func isSilent(_ index: Int) -> Bool {
        endpoints[index].silent.count >= failuresBeforeSwitch
    }

    func isReturnDue(_ now: Instant) -> Bool { !returnCandidates(now).isEmpty }

    /// Returns the servers to check now with a probe.
    ///
    /// If there are scheduled servers, and a configured server is current: at most two scheduled
    /// servers. In all other cases: the primary server (the first of the list).
    func returnCandidates(_ now: Instant) -> [Int] {
        guard let returnAt, !isProbing, now >= returnAt else { return [] }
        var candidates = [0]
        if hasScheduled, endpoints[currentIndex].isConfigured {
            candidates = endpoints.indices.filter(isPreferred)
        }
        candidates.removeAll { !endpoints[$0].breaker.admits(at: now) }
        return Array(byFailure(candidates).prefix(2))
    }

    func isPreferred(_ index: Int) -> Bool {
        !endpoints[index].isConfigured && endpoints[currentIndex].isConfigured
    }
}
