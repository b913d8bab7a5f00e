// SPDX-License-Identifier: Apache-2.0
package import Net

// MARK: - The order of attempts

extension EndpointPool {
    /// What a call may do.
    package enum Order: Sendable, Hashable {
        /// Ask these servers, the first one first; never empty, each once.
        case servers([SocketAddress])

        /// Nothing: every server said 429, and a trial passes at `until` at the soonest.
        case limited(until: ContinuousClock.Instant)
    }

    /// The servers for a call that begins now.
    ///
    /// The current one comes first, then those after the current one, round the end.  Families take turns (RFC 8305 §4): where one of them
    /// is broken, the second attempt is already one of the other.
    ///
    /// A server that leaves several requests without an answer comes last for as long as it does:
    /// whether it has failed is not known before its time is over, but meanwhile every call that
    /// began with it would wait to be hedged.
    package func order(now: ContinuousClock.Instant) -> Order {
        // Nearly every call finds the servers so.
        guard endpoints.indices.contains(where: { endpoints[$0].isSpecial })
        else {
            return .servers(inTurn)
        }
        var order = rotation
        order = order.filter { !isSilent($0) } + order.filter(isSilent)
        order.removeAll { !endpoints[$0].breaker.admits(at: now) }
        guard order.isEmpty else { return .servers(order.map { endpoints[$0].address }) }
        return .limited(until: endpoints.compactMap(\.breaker.openUntil).min() ?? now)
    }

    /// The servers for a trial that begins now, without those whose breaker admits none.
    ///
    /// The current one comes first, or the primary one if it is time to try it again.
    func trialOrder(now: ContinuousClock.Instant) -> [SocketAddress] {
        var order = rotation
        if isReturnDue(now) {
            order.removeAll { $0 == 0 }
            order.insert(0, at: 0)
        }
        return order.map { endpoints[$0] }.filter { $0.breaker.admits(at: now) }.map(\.address)
    }

    /// The places of all servers from the current one on, families in turn.
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

    /// Whether several requests to the current server wait in silence.
    var isCurrentSilent: Bool { isSilent(currentIndex) }

    /// Whether so many requests to the server at `index` wait in silence that another should be first.
    private func isSilent(_ index: Int) -> Bool {
        endpoints[index].silent.count >= failuresBeforeSwitch
    }

    /// Whether the primary server shall be tried now although another is current.
    func isReturnDue(_ now: ContinuousClock.Instant) -> Bool {
        guard let returnAt, !isProbing else { return false }
        return now >= returnAt
    }
}
