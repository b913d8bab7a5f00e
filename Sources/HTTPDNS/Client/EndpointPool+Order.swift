// SPDX-License-Identifier: Apache-2.0
package import Net

// MARK: - The order of attempts

extension EndpointPool {
    /// Servers available to a call.
    package enum Order: Sendable, Hashable {
        /// Distinct servers in the order to query them; never empty.
        case servers([SocketAddress])

        /// No server: every server returned 429, and one may be queried at `until` at the earliest.
        case limited(until: Instant)
    }

    /// Returns the servers for a call that starts now: from the current server on, in a circle.
    ///
    /// Address families alternate (RFC 8305 §4), so if one family is broken, the second attempt
    /// already uses the other. Servers with several unanswered requests come last.
    package func order(now: Instant) -> Order {
        // Fast path: no server has an open breaker or an unanswered request.
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

    /// Returns the servers for a health probe that starts now, without those with an open breaker.
    ///
    /// The first one is the current server, or the primary server if its check is due.
    func trialOrder(now: Instant) -> [SocketAddress] {
        var order = rotation
        if isReturnDue(now) {
            order.removeAll { $0 == 0 }
            order.insert(0, at: 0)
        }
        return order.map { endpoints[$0] }.filter { $0.breaker.admits(at: now) }.map(\.address)
    }

    /// Indexes of all servers, starting at the current one, with alternating families.
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

    /// True if too many requests to the current server are unanswered.
    var isCurrentSilent: Bool { isSilent(currentIndex) }

    /// Returns true if so many requests to the server at `index` are unanswered that it comes last.
    private func isSilent(_ index: Int) -> Bool {
        endpoints[index].silent.count >= failuresBeforeSwitch
    }

    /// Returns true if the primary server is not current and its check is due.
    func isReturnDue(_ now: Instant) -> Bool {
        guard let returnAt, !isProbing else { return false }
        return now >= returnAt
    }
}
