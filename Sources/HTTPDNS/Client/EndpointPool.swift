// SPDX-License-Identifier: Apache-2.0
package import Net

/// Which server of a vendor is asked, and which one after it: events in, decisions out.
///
/// One server is current and sticky, so that its connection stays warm.  Failures in a row move it
/// on to the next one; after a while one call tries the first server again, and its success moves
/// it back.  Each server has a breaker for 429.  Knows no network, and of time what it is told:
/// ``VendorClient`` asks and reports.
///
/// What fails for a name that a client chose counts only once a trial that began later, with the
/// daemon's own question, has failed, too; and not at all if the server answered anything since.
///
/// Every move of the current server begins a new era.  What an attempt of an earlier era reports
/// moves nothing any more, so that fifty calls which fail together cause one switch.
package struct EndpointPool: Sendable, Hashable {
    /// One server and what is known of it.
    struct Endpoint: Sendable, Hashable {
        /// Where it is; no two endpoints have the same address.
        let address: SocketAddress

        /// Failures in this era since the last answer.
        var failuresInRow = 0

        /// Failures of names that clients chose, in this era since the last answer or failed trial.
        var suspicions = 0

        /// The number of the newest attempt, of any server, when this server last
        /// answered.
        var heardThrough: UInt64 = 0

        /// The number of the latest failed trial of this era, if there was no answer since; else 0.
        var failedTrial: UInt64 = 0

        /// Closed unless it said 429.
        var breaker = Breaker()

        /// The numbers of attempts that another server was asked after, as nothing came; of those
        /// that still run and began since the last answer.
        var silent: Set<UInt64> = []

        /// Whether calls may have to begin elsewhere although this server is their first.
        var isSpecial: Bool { breaker.openUntil != nil || !silent.isEmpty }

        /// Nothing is held against the server any more but its breaker.
        mutating func forgetFailures() {
            failuresInRow = 0
            suspicions = 0
            failedTrial = 0
            silent = []
        }
    }

    /// The servers in the order of preference, the primary one first; never empty.
    private(set) var endpoints: [Endpoint]

    /// The servers of the settings, which stay when others are scheduled.
    private let configured: [SocketAddress]

    /// Failures in a row that make the next server current.
    let failuresBeforeSwitch: Int

    /// How long another server than the first stays current without the first being tried.
    private let returnAfter: Duration

    /// The index of the server that is asked first; always one of `endpoints`.
    private(set) var currentIndex = 0

    /// The addresses of all servers in the order of ``rotation``, kept because every call wants them.
    private(set) var inTurn: [SocketAddress] = []

    /// Counts the moves of the current server and the changes of the network.
    private(set) var era: UInt64 = 0

    /// The number of the latest attempt.
    private var latest: UInt64 = 0

    /// When the primary server may be tried again; nil exactly while it is current.
    package private(set) var returnAt: ContinuousClock.Instant?

    /// The number of the attempt that tries the primary one; nil if `returnAt` is.
    private(set) var probe: UInt64?

    /// Makes a pool whose first server is current.
    ///
    /// - Precondition: there is a server, and `failuresBeforeSwitch` is at least 1.
    package init(
        servers: [SocketAddress],
        failuresBeforeSwitch: Int = 3,
        returnAfter: Duration = .seconds(600)
    ) {
        precondition(!servers.isEmpty, "a vendor without servers cannot be asked")
        precondition(failuresBeforeSwitch >= 1, "at least one failure makes a switch")
        configured = Self.distinct(servers)
        endpoints = configured.map { Endpoint(address: $0) }
        self.failuresBeforeSwitch = failuresBeforeSwitch
        self.returnAfter = returnAfter
        inTurn = rotation.map { endpoints[$0].address }
    }

    /// The addresses of all servers, the primary one first.
    package var servers: [SocketAddress] { endpoints.map(\.address) }

    /// The server that is asked first.
    package var current: SocketAddress { endpoints[currentIndex].address }

    /// The server that is preferred.
    package var primary: SocketAddress { endpoints[0].address }

    /// Whether the primary one is being tried while another is current.
    package var isProbing: Bool { probe != nil }

    /// Until when `server` has asked to be left alone; nil if it has not.
    package func openUntil(_ server: SocketAddress) -> ContinuousClock.Instant? {
        endpoints.first { $0.address == server }?.breaker.openUntil
    }

    /// `servers`, each once.
    private static func distinct(_ servers: [SocketAddress]) -> [SocketAddress] {
        servers.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

// MARK: - Attempts

extension EndpointPool {
    /// Begins an attempt on `server`.
    ///
    /// - Parameter isTrial: whether it asks the daemon's own question.
    /// - Returns: nil if its breaker admits none now, or there is no such server any more.
    package mutating func begin(
        _ server: SocketAddress,
        isTrial: Bool = false,
        now: ContinuousClock.Instant
    ) -> Attempt? {
        guard let index = index(of: server), endpoints[index].breaker.admits(at: now) else {
            return nil
        }
        latest += 1
        endpoints[index].breaker.began(latest)
        if isTrial, index == 0, isReturnDue(now) { probe = latest }
        return Attempt(server: server, number: latest, era: era, isTrial: isTrial)
    }

    /// Nothing has come of `attempt` for so long that another server is asked, too.
    ///
    /// Nor does a breaker wait for it any longer: a name that is never answered would keep it open.
    package mutating func fellSilent(_ attempt: Attempt) {
        guard attempt.era == era, let index = index(of: attempt.server) else { return }
        endpoints[index].breaker.ended(attempt.number)
        endpoints[index].silent.insert(attempt.number)
    }

    /// Notes how `attempt` ended; to be called once for each.
    package mutating func end(
        _ attempt: Attempt,
        _ outcome: Outcome,
        now: ContinuousClock.Instant
    ) -> Change? {
        let wasProbe = probe == attempt.number
        if wasProbe { probe = nil }
        guard let index = index(of: attempt.server) else { return nil }
        endpoints[index].silent.remove(attempt.number)
        switch outcome {
        case .answered, .answeredLate:
            endpoints[index].breaker.answered(attempt.number)
            endpoints[index].forgetFailures()
            endpoints[index].heardThrough = latest
        case .limited(let retryAfter):
            endpoints[index].breaker.limited(
                attempt.number,
                retryAfter: retryAfter,
                last: latest,
                now: now
            )
        case .failed, .suspected, .unjudged:
            endpoints[index].breaker.ended(attempt.number)
        }
        if wasProbe { return probeEnded(outcome, now) }
        guard attempt.era == era else { return nil }
        switch outcome {
        case .failed where attempt.isTrial:
            endpoints[index].failedTrial = attempt.number
            let suspicions = endpoints[index].suspicions
            endpoints[index].suspicions = 0
            return failed(index, times: max(1, suspicions), now)
        case .failed:
            return failed(index, times: 1, now)
        case .suspected where attempt.number <= endpoints[index].heardThrough:
            return nil
        case .suspected where attempt.number < endpoints[index].failedTrial:
            return failed(index, times: 1, now)
        case .suspected:
            endpoints[index].suspicions += 1
            return nil
        case .answered, .answeredLate, .limited, .unjudged:
            return nil
        }
    }

    /// Whether the current server is suspected of having failed, so that a trial shall decide.
    package var isCurrentSuspected: Bool { endpoints[currentIndex].suspicions > 0 }

    /// Moves back to the primary server, or puts that off.
    ///
    /// An answer that came late puts it off, too: a server that loses every race would have every
    /// call hedged and paid twice, and never fails.
    private mutating func probeEnded(
        _ outcome: Outcome,
        _ now: ContinuousClock.Instant
    ) -> Change? {
        switch outcome {
        case .answered:
            let old = current
            move(to: 0, now)
            return .returned(from: old)
        case .answeredLate, .failed, .suspected, .limited:
            returnAt = now + returnAfter
        case .unjudged:
            break
        }
        return nil
    }

    /// Counts failures of this era, and moves on if they are too many.
    private mutating func failed(
        _ index: Int,
        times: Int,
        _ now: ContinuousClock.Instant
    ) -> Change? {
        endpoints[index].failuresInRow += times
        guard index == currentIndex, endpoints[index].failuresInRow >= failuresBeforeSwitch,
            let next = rotation.dropFirst().first
        else { return nil }
        move(to: next, now)
        return .switched(from: endpoints[index].address, to: current)
    }

    /// Makes the server at `index` current and begins an era.
    private mutating func move(to index: Int, _ now: ContinuousClock.Instant) {
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

    /// Forgets the failures so far, and what attempts under way will report.
    private mutating func beginEra() {
        era += 1
        for index in endpoints.indices { endpoints[index].forgetFailures() }
    }

    /// The place of `server`.
    private func index(of server: SocketAddress) -> Int? {
        endpoints.firstIndex { $0.address == server }
    }
}

// MARK: - Changes from outside

extension EndpointPool {
    /// The network is another one: nothing that was learnt about servers holds any more.
    ///
    /// The current server stays so, but if it is not the primary one, that is tried by the next
    /// call.  What is under way reports in vain.
    package mutating func networkChanged(now: ContinuousClock.Instant) {
        for index in endpoints.indices { endpoints[index].breaker.reset() }
        beginEra()
        probe = nil
        if returnAt != nil { returnAt = now }
    }

    /// Prefers the servers that the vendor names now to those it named before.
    ///
    /// The configured ones stay as the last resort.  A current server that is named again stays
    /// current; else the first one named is, as its answers are what the vendor means us to have.
    ///
    /// - Parameter scheduled: in the vendor's order; none brings back the configured ones alone.
    package mutating func schedule(_ scheduled: [SocketAddress], now: ContinuousClock.Instant) {
        let old = endpoints
        let oldCurrent = current
        endpoints = Self.distinct(scheduled + configured).map { address in
            old.first { $0.address == address } ?? Endpoint(address: address)
        }
        guard endpoints.map(\.address) != old.map(\.address) else { return }
        let preferred = scheduled.isEmpty ? configured : scheduled
        let kept = preferred.contains(oldCurrent) ? index(of: oldCurrent) : nil
        returnAt = nil
        probe = nil
        move(to: kept ?? 0, now)
    }
}
