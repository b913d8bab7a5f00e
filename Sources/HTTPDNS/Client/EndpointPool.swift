// SPDX-License-Identifier: Apache-2.0
package import Net

/// State machine for server selection and failover of one vendor.
///
/// Each change of the current server begins an era. Attempts of earlier eras cannot change the
/// current server.
package struct EndpointPool: Sendable, Hashable {
    struct Endpoint: Sendable, Hashable {
        let address: SocketAddress

        /// False for a server that only the scheduling service lists.
        let isConfigured: Bool

        var failuresInRow = 0

        var suspicions = 0

        /// Highest attempt number of all servers when this server last answered.
        var receivedThrough: UInt64 = 0

        /// Attempt number of the latest failed probe since the latest answer; 0 if there is none.
        var failedTrial: UInt64 = 0

        /// Attempt number of the latest failure, even of an earlier era; 0 after an answer.
        var failedAt: UInt64 = 0

        var breaker = Breaker()

        /// Refusal of the account in a probe; nil after a later answer.
        var refusal: VendorError?

        /// Number of probes of the current server in which another server answered first.
        ///
        /// Returns to 0 when the current server answers a probe first. Always 0 for other servers.
        var lateTrials = 0

        /// Attempts in flight that had no answer when a hedged request started.
        var silent: Set<UInt64> = []

        var isSpecial: Bool { breaker.openUntil != nil || !silent.isEmpty }

        mutating func forgetFailures() {
            failuresInRow = 0
            suspicions = 0
            failedTrial = 0
            silent = []
        }

        mutating func endPause() {
            breaker.reset()
            refusal = nil
        }
    }

    private(set) var endpoints: [Endpoint]

    private let configured: [SocketAddress]

    let failuresBeforeSwitch: Int

    private let returnAfter: Duration

    private(set) var currentIndex = 0

    /// Servers in the order of ``rotation``.
    private(set) var inTurn: [SocketAddress] = []

    /// Incremented when the current server or the network changes.
    private(set) var era: UInt64 = 0

    private var latest: UInt64 = 0

    /// Server that replied first in the latest answered probe of this ``era``; nil for none.
    private(set) var fastest: SocketAddress?

    private(set) var fastestTrial: UInt64 = 0

    /// Time of the next check; nil while the first server is current.
    package private(set) var returnAt: Instant?

    private(set) var probe: UInt64?

    package init(
        servers: [SocketAddress],
        failuresBeforeSwitch: Int = 3,
        returnAfter: Duration = .seconds(600)
    ) {
        precondition(!servers.isEmpty, "a vendor needs at least one server")
        precondition(failuresBeforeSwitch >= 1, "failuresBeforeSwitch must be at least 1")
        configured = Self.distinct(servers)
        endpoints = configured.map { Endpoint(address: $0, isConfigured: true) }
        self.failuresBeforeSwitch = failuresBeforeSwitch
        self.returnAfter = returnAfter
        inTurn = rotation.map { endpoints[$0].address }
    }

    package var servers: [SocketAddress] { endpoints.map(\.address) }

    package var current: SocketAddress { endpoints[currentIndex].address }

    package var primary: SocketAddress { endpoints[0].address }

    package var isProbing: Bool { probe != nil }

    package func openUntil(_ server: SocketAddress) -> Instant? {
        endpoints.first { $0.address == server }?.breaker.openUntil
    }

    func isScheduled(_ server: SocketAddress) -> Bool {
        endpoints.contains { $0.address == server && !$0.isConfigured }
    }

    private static func distinct(_ servers: [SocketAddress]) -> [SocketAddress] {
        servers.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

// MARK: - Attempts

extension EndpointPool {
    /// Returns nil if the breaker is open or the server was removed.
    package mutating func begin(
        _ server: SocketAddress,
        isTrial: Bool = false,
        now: Instant
    ) -> Attempt? {
        guard let index = index(of: server), endpoints[index].breaker.admits(at: now) else {
            return nil
        }
        latest += 1
        if isTrial, returnCandidates(now).first == index { probe = latest }
        endpoints[index].breaker.began(latest)
        return Attempt(server: server, number: latest, era: era, isTrial: isTrial)
    }

    /// Records that `attempt` was unanswered when a hedged request started.
    package mutating func fellSilent(_ attempt: Attempt) {
        guard attempt.era == era, let index = index(of: attempt.server) else { return }
        endpoints[index].breaker.ended(attempt.number)
        endpoints[index].silent.insert(attempt.number)
    }

    /// Records the end of `attempt`; returns a change of the current server.
    ///
    /// The caller must call this function once per attempt.
    package mutating func end(
        _ attempt: Attempt,
        _ outcome: Outcome,
        now: Instant
    ) -> Change? {
        let wasProbe = probe == attempt.number
        if wasProbe { probe = nil }
        guard let index = index(of: attempt.server) else { return nil }
        endpoints[index].silent.remove(attempt.number)
        switch outcome {
        case .answered, .answeredLate:
            endpoints[index].breaker.answered(attempt.number)
            endpoints[index].refusal = nil
            endpoints[index].forgetFailures()
            endpoints[index].receivedThrough = latest
            setFailure(of: index, 0)
        case .limited(let retryAfter):
            endpoints[index].breaker.limited(
                attempt.number,
                retryAfter: retryAfter,
                last: latest,
                now: now
            )
        case .refused(let error, let pause):
            endpoints[index].refusal = error
            endpoints[index].breaker.limited(
                attempt.number,
                retryAfter: pause,
                last: latest,
                now: now
            )
        case .failed, .suspected, .unjudged:
            endpoints[index].breaker.ended(attempt.number)
        }
        if wasProbe { return probeEnded(attempt, index, outcome, now) }
        guard attempt.era == era else { return nil }
        switch outcome {
        case .answered where attempt.isTrial && isPreferred(index):
            return returned(to: index, now)
        case .answered where attempt.isTrial:
            (fastest, fastestTrial) = (attempt.server, attempt.number)
            endpoints[index].lateTrials = 0
            return nil
        case .answeredLate where attempt.isTrial && index == currentIndex:
            return wasOvertaken(index, now)
        case .failed where attempt.isTrial:
            endpoints[index].failedTrial = attempt.number
            let suspicions = endpoints[index].suspicions
            endpoints[index].suspicions = 0
            let change = failed(attempt, index, times: max(1, suspicions), now)
            guard change == nil, index == currentIndex, attempt.number < fastestTrial else {
                return change
            }
            // Each answered call clears the count of failures. So without `wasOvertaken`, a server
            // that always answers calls, but is too slow for probes, would stay current.
            return wasOvertaken(index, now)
        case .failed:
            return failed(attempt, index, times: 1, now)
        case .suspected where attempt.number <= endpoints[index].receivedThrough:
            return nil
        case .suspected where attempt.number < endpoints[index].failedTrial:
            return failed(attempt, index, times: 1, now)
        case .suspected:
            endpoints[index].suspicions += 1
            return nil
        case .answered, .answeredLate, .limited, .refused, .unjudged:
            return nil
        }
    }

    package var isCurrentSuspected: Bool { endpoints[currentIndex].suspicions > 0 }

    /// A server that answered after another server does not become current: calls to a slow server
    /// are hedged, and therefore billed twice.
    private mutating func probeEnded(
        _ attempt: Attempt,
        _ index: Int,
        _ outcome: Outcome,
        _ now: Instant
    ) -> Change? {
        switch outcome {
        case .answered:
            return returned(to: index, now)
        case .answeredLate, .failed, .suspected, .limited, .refused:
            if outcome == .failed { setFailure(of: index, attempt.number) }
            returnAt = now + returnAfter
        case .unjudged:
            break
        }
        return nil
    }

    private mutating func failed(
        _ attempt: Attempt,
        _ index: Int,
        times: Int,
        _ now: Instant
    ) -> Change? {
        endpoints[index].failuresInRow += times
        setFailure(of: index, attempt.number)
        let isDisproven = attempt.isTrial && !endpoints[index].isConfigured
        guard index == currentIndex,
            isDisproven || endpoints[index].failuresInRow >= failuresBeforeSwitch,
            let next = rotation.dropFirst().first
        else { return nil }
        move(to: next, now)
        if endpoints[currentIndex].isConfigured, !endpoints[index].isConfigured, returnAt != nil {
            returnAt = now
        }
        return .switched(from: endpoints[index].address, to: current)
    }

    private mutating func wasOvertaken(_ index: Int, _ now: Instant) -> Change? {
        endpoints[index].lateTrials += 1
        guard endpoints[index].lateTrials >= failuresBeforeSwitch,
            let next = fastest.flatMap(self.index(of:)), next != index
        else { return nil }
        move(to: next, now)
        return .switched(from: endpoints[index].address, to: current)
    }

    private mutating func returned(to index: Int, _ now: Instant) -> Change {
        let old = current
        move(to: index, now)
        return .returned(from: old)
    }

    private mutating func setFailure(of index: Int, _ number: UInt64) {
        guard endpoints[index].failedAt != number else { return }
        endpoints[index].failedAt = number
        inTurn = rotation.map { endpoints[$0].address }
    }

    private mutating func move(to index: Int, _ now: Instant) {
        currentIndex = index
        inTurn = rotation.map { endpoints[$0].address }
        beginEra()
        if index == 0 {
            returnAt = nil
            probe = nil
        } else if returnAt == nil {
            returnAt = now + returnAfter
        }
    }

    private mutating func beginEra() {
        era += 1
        (fastest, fastestTrial) = (nil, 0)
        for index in endpoints.indices {
            endpoints[index].forgetFailures()
            endpoints[index].lateTrials = 0
        }
    }

    private func index(of server: SocketAddress) -> Int? {
        endpoints.firstIndex { $0.address == server }
    }
}

// MARK: - The account

extension EndpointPool {
    func pauseError(_ server: SocketAddress, now: Instant) -> VendorError {
        let endpoint = endpoints.first { $0.address == server }
        return endpoint?.refusal
            ?? .limited(retryAfter: endpoint?.breaker.openUntil.map { $0 - now })
    }

    var refusal: VendorError? { endpoints.lazy.compactMap(\.refusal).first }

    /// Returns true if all configured servers refuse the account; then ends their pauses.
    mutating func takeRefusal() -> Bool {
        guard endpoints.allSatisfy({ $0.refusal != nil || !$0.isConfigured }) else { return false }
        for index in endpoints.indices where endpoints[index].refusal != nil {
            endpoints[index].endPause()
        }
        return true
    }
}

// MARK: - External changes

extension EndpointPool {
    /// Resets all servers, and makes the next check due now.
    ///
    /// A 429 or a refusal may apply only to the former source address of this machine.
    package mutating func networkChanged(now: Instant) {
        for index in endpoints.indices {
            endpoints[index].endPause()
            endpoints[index].failedAt = 0
        }
        inTurn = rotation.map { endpoints[$0].address }
        beginEra()
        probe = nil
        if returnAt != nil { returnAt = now }
    }

    package mutating func resume() {
        for index in endpoints.indices { endpoints[index].endPause() }
    }

    /// Replaces the servers of the scheduling service; configured servers stay.
    ///
    /// The list can be old or forged. Therefore, a current server that is configured or in the list
    /// stays current.
    ///
    /// - Returns: true if a check of the listed servers is due.
    @discardableResult
    package mutating func schedule(_ scheduled: [SocketAddress], now: Instant) -> Bool {
        let old = endpoints
        let oldCurrent = current
        endpoints = Self.distinct(scheduled + configured).map { address in
            old.first { $0.address == address }
                ?? Endpoint(address: address, isConfigured: configured.contains(address))
        }
        guard endpoints.map(\.address) != old.map(\.address) else { return false }
        let ownServers = endpoints.indices.filter { endpoints[$0].isConfigured }
        let first = ownServers.min { endpoints[$0].failedAt < endpoints[$1].failedAt }
        returnAt = nil
        probe = nil
        move(to: index(of: oldCurrent) ?? first ?? 0, now)
        let isListed = scheduled.isEmpty || scheduled.contains(current)
        guard returnAt != nil, !isListed else { return false }
        returnAt = now
        return true
    }
}
