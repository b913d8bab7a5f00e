// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Failover and hedging plan of one query to a group: a state machine without clock or network.
///
/// The rules are in `Upstream.md`, section "Selection of servers".
struct AttemptPlan: Sendable, Hashable {
    enum Move: Sendable, Hashable {
        /// Send the query to a server; the first `Int` is the sequence number of the attempt.
        ///
        /// `since` is the start of the previous attempt at this server.
        case ask(Int, server: Int, until: Instant, since: Instant?)

        case end
    }

    /// Attempt in flight.
    struct Try: Sendable, Hashable {
        let number: Int

        let server: Int
        fileprivate let candidate: Int

        let start: Instant
        let until: Instant

        /// Time at which an unanswered attempt causes a probe, and a hedged query to the next
        /// server.
        fileprivate let overdue: Instant
        fileprivate var isSuspected = false
    }

    private let deadline: Instant

    private var candidates: ShortArray<Candidate>

    /// Servers that get no further attempt.
    ///
    /// The caller excluded the server, or the server returned an error that permits no repetition.
    var refused: [Int] = []

    private var suspects: [Int] = []

    private let rounds: Int

    private var running = ShortArray<Try>()

    var isIdle: Bool { running.isEmpty }

    private(set) var count = 0

    private var hedge: Instant?

    /// True if the latest attempt repeated a datagram, because the server had not replied.
    ///
    /// The next attempt then waits, because a short outage could lose all datagrams that are sent
    /// at short intervals.
    private var waitsForReply = false

    private var start: Instant?

    private(set) var isOver = false

    /// Creates the plan of a query to `candidates`, which are in order of preference.
    ///
    /// - Parameter isRepeated: false if each server gets the query only once.
    init(_ candidates: consuming ShortArray<Candidate>, deadline: Instant, isRepeated: Bool = true)
    {
        var main = 0
        for index in candidates.indices where candidates[index].role != .spare { main += 1 }
        let isAlone = main == 1 && candidates[0].repeatsAfter != nil
        let most = isAlone ? UpstreamLimits.roundsAlone : UpstreamLimits.rounds
        rounds = isRepeated ? most : 1
        self.candidates = consume candidates
        self.deadline = deadline
    }

    /// Time of the next ``tick(now:)``; nil if only another event can continue the plan.
    var wake: Instant? {
        guard !isOver else { return nil }
        guard !running.isEmpty else {
            guard let next, !isHeld(next), let end = candidates[next].repeatableAt else {
                return deadline
            }
            return min(end, deadline)
        }
        guard let hedge, let next, mayJoin(next), !isHeld(next) else { return nil }
        let pauseEnd = candidates[next].repeatableAt
        guard !waitsForReply || candidates[next].isLossy || pauseEnd != nil else { return nil }
        var wake = max(hedge, pauseEnd ?? hedge)
        if let last = candidates[next].asked, isRunning(next) {
            let isLate = candidates[next].isLossy && candidates[next].tries > 1
            let pause = isLate ? UpstreamLimits.lossPause : candidates[next].repeatsAfter
            wake = max(wake, last + (pause ?? .zero))
        }
        return wake < deadline ? wake : nil
    }

    /// Returns the earlier of `wake` and `suspicion`.
    ///
    /// Mutating to avoid a copy: Swift 6.3 copies a stored struct before a nonmutating call.
    mutating func nextEvent() -> Instant? {
        guard let suspicion else { return wake }
        return min(wake ?? suspicion, suspicion)
    }

    private var suspicion: Instant? {
        var first: Instant?
        for index in running.indices {
            let each = running[index]
            guard !each.isSuspected, each.overdue < each.until else { continue }
            first = min(first ?? each.overdue, each.overdue)
        }
        return first
    }

    /// Index of the server to query next.
    ///
    /// After two attempts at servers of one upstream, other upstreams come first. Without this
    /// rule, an upstream with many servers could use all attempts if they answer only probes.
    private var next: Int? {
        guard count < UpstreamLimits.tries else { return nil }
        var next: (index: Int, tries: Int, isTried: Bool)?
        for index in candidates.indices where mayBeAsked(index) {
            let hasDeclined = candidates[index].repeatableAt != nil
            let tries = candidates[index].tries + (hasDeclined ? UpstreamLimits.tries : 0)
            if let next, next.tries < tries || next.tries == tries && !next.isTried { continue }
            let isTried = count > 1 && isTried(candidates[index].upstream)
            if let next, next.tries == tries, isTried { continue }
            next = (index, tries, isTried)
        }
        return next?.index
    }

    private func isTried(_ upstream: Int) -> Bool {
        var tries = 0
        for index in candidates.indices where candidates[index].upstream == upstream {
            tries += candidates[index].tries
        }
        return tries >= 2
    }

    private func mayBeAsked(_ candidate: Int) -> Bool {
        isLeft(candidate) && !candidates[candidate].isUntrusted && !isSurplus(candidate)
            && (candidates[candidate].isProtected
                || isLast(candidate) { $0.isDown })
    }

    /// True for a spare server until all servers of the VPN have returned an error response.
    private func isSurplus(_ candidate: Int) -> Bool {
        candidates[candidate].role == .spare
            && candidates.contains {
                $0.role == .first && $0.repeatableAt == nil && !refused.contains($0.server)
            }
    }

    private func isLeft(_ candidate: Int) -> Bool {
        var most = candidates[candidate].isLossy ? UpstreamLimits.roundsWithLosses : rounds
        if candidates[candidate].repeatableAt != nil { most = UpstreamLimits.roundsWithErrors }
        return candidates[candidate].tries < most
            && !refused.contains(candidates[candidate].server)
    }

    private func isLast(_ candidate: Int, _ isOut: (Candidate) -> Bool) -> Bool {
        let server = candidates[candidate].server
        return candidates.allSatisfy { !$0.isProtected || $0.server >= server || isOut($0) }
    }

    /// True if the failure of a probe in flight would permit a query to an unprotected server.
    private var awaitsProbe: Bool {
        count < UpstreamLimits.tries
            && candidates.indices.contains { candidate in
                isLeft(candidate) && !mayBeAsked(candidate) && !isSurplus(candidate)
                    && !candidates[candidate].isProtected
                    && isLast(candidate) { $0.isDown || suspects.contains($0.server) }
            }
    }

    /// True if a probe in flight could authenticate a server that is untrusted now.
    private var awaitsTrust: Bool {
        count < UpstreamLimits.tries
            && candidates.indices.contains {
                isLeft($0) && candidates[$0].isUntrusted
                    && suspects.contains(candidates[$0].server)
            }
    }

    private func isRunning(_ candidate: Int) -> Bool {
        running.contains { $0.candidate == candidate }
    }

    /// True if `next` may be queried in parallel with the attempts in flight.
    private func mayJoin(_ next: Int) -> Bool {
        (running.count < UpstreamLimits.triesAtOnce || candidates[next].isLossy)
            && running.allSatisfy { other in
                let rival = candidates[other.candidate]
                return (candidates[next].isProtected || !rival.isProtected || rival.isDown)
                    && (other.candidate != next || candidates[next].repeatsAfter != nil)
            }
    }

    /// True if the query must wait for a probe, because `next` is down or being probed.
    private func isHeld(_ next: Int) -> Bool {
        (candidates[next].isDown || suspects.contains(candidates[next].server))
            && !isRunning(next) && awaitsProbe
    }
}

// MARK: - Events

extension AttemptPlan {
    mutating func begin(now: Instant) -> Move? { proceed(now: now) }

    mutating func tick(now: Instant) -> Move? {
        guard let wake, now >= wake else { return nil }
        return advance(to: next, now: now)
    }

    /// Returns the attempts that became overdue since the last call.
    mutating func newlySuspicious(now: Instant) -> [Try] {
        guard let suspicion, now >= suspicion else { return [] }
        return running.indices.compactMap { index in
            let each = running[index]
            guard !each.isSuspected, each.overdue < each.until, each.overdue <= now else {
                return nil
            }
            running[index].isSuspected = true
            return each
        }
    }

    mutating func failed(
        _ number: Int,
        _ repetition: Repetition,
        now: Instant
    ) -> Move? {
        guard let ended = end(number), !isOver else { return nil }
        let end = now + UpstreamLimits.declinePause
        switch repetition {
        case .afterPause where rounds > 1 && end < deadline:
            candidates[ended.candidate].repeatableAt = end
        case .afterPause, .never: refused.append(ended.server)
        case .allowed: break
        }
        return proceed(now: now)
    }

    /// Ends an attempt that failed because the server was removed or a limit was reached.
    ///
    /// The server gets no further attempt, but does not count as a server that returned an error.
    mutating func withdrawn(_ number: Int, now: Instant) -> Move? {
        guard let ended = end(number), !isOver else { return nil }
        candidates[ended.candidate].tries = UpstreamLimits.tries
        return proceed(now: now)
    }

    mutating func suspected(_ server: Int) {
        if !suspects.contains(server) { suspects.append(server) }
    }

    mutating func foundLossy(_ server: Int) {
        for index in candidates.indices where candidates[index].server == server {
            candidates[index].isLossy = true
        }
    }

    /// True if the latest attempt at a server must use TCP.
    func usesStream(_ server: Int) -> Bool {
        candidates.contains {
            $0.server == server && $0.isLossy && $0.tries == UpstreamLimits.roundsWithLosses
        }
    }

    mutating func judged(_ server: Int, isDown: Bool, now: Instant) -> Move? {
        suspects.removeAll { $0 == server }
        for index in candidates.indices where candidates[index].server == server {
            candidates[index].isDown = isDown
            if !isDown { candidates[index].isUntrusted = false }
        }
        guard !isOver else { return nil }
        let wasProtected = candidates.contains { $0.server == server && $0.isProtected }
        let mayStandIn =
            isDown && wasProtected && next.map { !candidates[$0].isProtected } ?? false
        if !isDown, let move = replied(now: now) { return move }
        return running.isEmpty || mayStandIn ? proceed(now: now) : nil
    }

    /// Records that a server with an attempt in flight replied to another query, or to a probe.
    mutating func replied(now: Instant) -> Move? {
        guard waitsForReply, !isOver, now < deadline, let next, mayJoin(next),
            !candidates[next].isLossy, candidates[next].repeatableAt == nil
        else { return nil }
        return advance(to: next, now: now)
    }

    private mutating func proceed(now: Instant) -> Move? {
        guard now < deadline, let next else {
            guard running.isEmpty, now >= deadline || !awaitsProbe && !awaitsTrust else {
                return nil
            }
            isOver = true
            return .end
        }
        // The failure of another server must not cause a second attempt at `next`.
        guard mayJoin(next), !isRunning(next), !isHeld(next) else { return nil }
        if let end = candidates[next].repeatableAt, now < end { return nil }
        return advance(to: next, now: now)
    }

    /// Ends an answered attempt; returns true for the first answer, which is the result.
    mutating func answered(_ number: Int) -> Bool {
        guard end(number) != nil, !isOver else { return false }
        isOver = true
        return true
    }

    private mutating func end(_ number: Int) -> Try? {
        running.firstIndex { $0.number == number }.map { running.remove(at: $0) }
    }

    private mutating func advance(to next: Int?, now: Instant) -> Move {
        guard now < deadline, let next else {
            isOver = true
            return .end
        }
        let server = candidates[next]
        var left = deadline - now
        if server.isProtected,
            candidates.indices.contains(where: { !candidates[$0].isProtected && isLeft($0) })
        {
            // Keeps time for an unprotected server, in case the protected server fails.
            let (part, whole) = UpstreamLimits.protectedShare
            left = left * part / whole
        }
        let start = start ?? now
        self.start = start
        let usesStream = server.isLossy && server.tries + 1 == UpstreamLimits.roundsWithLosses
        if waitsForReply, server.tries > 0, !usesStream {
            // Limits the total time of the query: perhaps the server never answers this name.
            let rest = start - now + server.timeout + server.patience * 3
            left = min(left, max(server.patience, rest))
        }
        // The attempt over TCP is the last attempt, so it gets all the time that is left: TCP can
        // need seconds until it repeats a lost packet.
        let until = now + (usesStream ? left : min(server.timeout, left))
        let number = count
        count += 1
        let overdue = now + server.patience
        waitsForReply =
            server.tries > 0 && server.repeatsAfter == .zero && server.repeatableAt == nil
        hedge = overdue
        running.append(
            Try(
                number: number,
                server: server.server,
                candidate: next,
                start: now,
                until: until,
                overdue: overdue
            )
        )
        candidates[next].tries += 1
        candidates[next].asked = now
        return .ask(number, server: server.server, until: until, since: server.asked)
    }
}
