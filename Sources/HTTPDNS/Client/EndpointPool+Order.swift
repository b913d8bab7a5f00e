// SPDX-License-Identifier: Apache-2.0
package import Net

// MARK: - The order of attempts

extension EndpointPool {
    package enum Order: Sendable, Hashable {
        case servers([SocketAddress])

        /// All servers returned 429; the earliest pause ends at `until`.
        case limited(until: Instant)
    }

    /// Returns the servers for a call, the current server first.
    ///
    /// Address families alternate (RFC 8305 §4). Servers with several unanswered requests come
    /// last.
    package func order(now: Instant) -> Order {
        var pool = self
        return pool.takeOrder(now: now)
    }

    /// Returns ``order(now:)``; is `mutating` because the pool would otherwise be copied.
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

    /// Returns the servers for a health probe; the primary server is first if its check is due.
    func trialOrder(now: Instant) -> [SocketAddress] {
        var order = rotation
        if isReturnDue(now) {
            order.removeAll { $0 == 0 }
            order.insert(0, at: 0)
        }
        return order.map { endpoints[$0] }.filter { $0.breaker.admits(at: now) }.map(\.address)
    }

    /// Indexes of the servers, the current server first, with alternating families.
    var rotation: [Int] {
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

    var isCurrentSilent: Bool { isSilent(currentIndex) }

    private func isSilent(_ index: Int) -> Bool {
        endpoints[index].silent.count >= failuresBeforeSwitch
    }

    func isReturnDue(_ now: Instant) -> Bool {
        guard let returnAt, !isProbing else { return false }
        return now >= returnAt
    }
}
