// SPDX-License-Identifier: Apache-2.0

/// Failover and hedging plan of one query in a group: a state machine without clock or network.
///
/// The page of the module has the rules (Selection of servers). After the last server, the first
/// one is tried again unless it declined.
struct AttemptPlan: Sendable, Hashable {
    /// Server as seen by the plan.
    struct Candidate: Sendable, Hashable {
        /// Index in the group, in the order of the settings.
        var server: Int

        /// True if answers cannot be forged in transit.
        var isProtected: Bool

        /// True if the server is down, so that an unprotected server may replace it.
        var isDown = false

        var timeout: Duration

        /// Time to wait before a hedged query is sent to the next server.
        var patience: Duration

        /// Minimum time before an unanswered query is repeated to this server; nil for never.
        var repeatsAfter: Duration?

        /// Number of attempts, and the start of the latest one.
        fileprivate(set) var tries = 0
        fileprivate(set) var asked: Instant?
    }

    /// Action for the caller.
    enum Move: Sendable, Hashable {
        /// Query a server, and report the result under the number of the attempt.
        case ask(Int, server: Int, until: Instant, since: Instant?)

        case end
    }

    /// Attempt in flight.
    private struct Try: Sendable, Hashable {
        var number: Int
        var candidate: Candidate
        var start: Instant
    }

    private let deadline: Instant

    /// Servers in the order in which they are tried.
    private var candidates: [Candidate]

    /// Servers that declined the query.
    private var refused: [Int] = []

    /// Servers with a probe in flight.
    private var suspects: [Int] = []

    /// Maximum attempts per server, and of all servers.
    private let rounds: Int
    private let mostTries: Int

    private var running: [Try] = []

    private(set) var count = 0

    private var latest: Try?

    /// True after an answer or a final failure.
    private(set) var isOver = false

    /// Creates the plan of a query that was not sent yet.
    init(_ candidates: [Candidate], deadline: Instant) {
        let isAlone = candidates.count == 1 && candidates[0].repeatsAfter != nil
        rounds = isAlone ? UpstreamLimits.roundsAlone : UpstreamLimits.rounds
        mostTries = min(rounds * candidates.count, UpstreamLimits.tries)
        self.candidates = candidates
        self.deadline = deadline
    }

    /// Instant of the next ``tick(now:)``; nil if only another event can continue the plan.
    var wake: Instant? {
        guard !isOver else { return nil }
        // Only the result of a probe is pending; wait for it until the query's deadline.
        guard let latest, !running.isEmpty else { return deadline }
        guard let next, mayJoin(next), !isHeld(next) else { return nil }
        var wake = latest.start + latest.candidate.patience
        if let last = next.asked, isRunning(next) {
            wake = max(wake, last + (next.repeatsAfter ?? .zero))
        }
        return wake < deadline ? wake : nil
    }

    /// Next server: among the allowed ones, the first with the fewest attempts.
    private var next: Candidate? {
        guard count < mostTries else { return nil }
        var next: Candidate?
        for candidate in candidates where mayBeAsked(candidate) {
            if let next, next.tries <= candidate.tries { continue }
            next = candidate
        }
        return next
    }

    /// Returns true if a server has attempts left and, if unprotected, may be queried.
    private func mayBeAsked(_ candidate: Candidate) -> Bool {
        isLeft(candidate)
            && (candidate.isProtected || protectedBefore(candidate).allSatisfy(\.isDown))
    }

    /// Returns true if a server has attempts left and has not declined.
    private func isLeft(_ candidate: Candidate) -> Bool {
        candidate.tries < rounds && !refused.contains(candidate.server)
    }

    private func protectedBefore(_ candidate: Candidate) -> some Sequence<Candidate> {
        candidates.lazy.filter { $0.isProtected && $0.server < candidate.server }
    }

    /// True if a probe in flight could permit an unprotected server.
    private var awaitsProbe: Bool {
        count < mostTries
            && candidates.contains { candidate in
                isLeft(candidate) && !mayBeAsked(candidate)
                    && protectedBefore(candidate).allSatisfy {
                        $0.isDown || suspects.contains($0.server)
                    }
            }
    }

    private func isRunning(_ candidate: Candidate) -> Bool {
        running.contains { $0.candidate.server == candidate.server }
    }

    /// Returns true if `next` may be queried in parallel with the attempts in flight.
    ///
    /// An unprotected server must not race healthy protected servers.
    private func mayJoin(_ next: Candidate) -> Bool {
        running.count < UpstreamLimits.triesAtOnce
            && running.allSatisfy { other in
                (next.isProtected || !other.candidate.isProtected || isDown(other.candidate.server))
                    && (other.candidate.server != next.server || next.repeatsAfter != nil)
            }
    }

    /// Returns true if a failed server must wait for a probe, which may permit an unprotected
    /// server.
    private func isHeld(_ next: Candidate) -> Bool {
        (next.isDown || suspects.contains(next.server)) && !isRunning(next) && awaitsProbe
    }

    private func isDown(_ server: Int) -> Bool {
        candidates.contains { $0.server == server && $0.isDown }
    }
}

// MARK: - Events

extension AttemptPlan {
    mutating func begin(now: Instant) -> Move { advance(now: now) }

    /// Returns the move that is due by time.
    mutating func tick(now: Instant) -> Move? {
        guard let wake, now >= wake else { return nil }
        return advance(now: now)
    }

    /// Ends a failed attempt.
    ///
    /// - Parameter isFinal: true if the server declined and must not be queried again.
    mutating func failed(
        _ number: Int,
        isFinal: Bool,
        now: Instant
    ) -> Move? {
        guard let ended = end(number), !isOver else { return nil }
        if isFinal { refused.append(ended.candidate.server) }
        return proceed(now: now)
    }

    /// Records that a probe of a server is in flight; ``judged(_:isDown:now:)`` reports its result.
    mutating func suspected(_ server: Int) {
        if !suspects.contains(server) { suspects.append(server) }
    }

    /// Records the result of a probe.
    mutating func judged(_ server: Int, isDown: Bool, now: Instant) -> Move? {
        suspects.removeAll { $0 == server }
        for index in candidates.indices where candidates[index].server == server {
            candidates[index].isDown = isDown
        }
        guard !isOver else { return nil }
        let wasProtected = candidates.contains { $0.server == server && $0.isProtected }
        let mayStandIn = isDown && wasProtected && next?.isProtected == false
        return running.isEmpty || mayStandIn ? proceed(now: now) : nil
    }

    /// Queries the next server if the plan permits it, or ends.
    private mutating func proceed(now: Instant) -> Move? {
        guard now < deadline, let next else {
            guard running.isEmpty, now >= deadline || !awaitsProbe else { return nil }
            isOver = true
            return .end
        }
        // The failure of one server must not repeat the query to another one.
        guard mayJoin(next), !isRunning(next), !isHeld(next) else { return nil }
        return advance(now: now)
    }

    /// Ends an attempt that was answered.
    ///
    /// - Returns: true for the first answer, which is the result of the query.
    mutating func answered(_ number: Int) -> Bool {
        guard end(number) != nil, !isOver else { return false }
        isOver = true
        return true
    }

    private mutating func end(_ number: Int) -> Try? {
        running.firstIndex { $0.number == number }.map { running.remove(at: $0) }
    }

    /// Queries the next server.
    private mutating func advance(now: Instant) -> Move {
        guard now < deadline, let next else {
            isOver = true
            return .end
        }
        var left = deadline - now
        if next.isProtected, candidates.contains(where: { !$0.isProtected && isLeft($0) }) {
            // Leave time for an unprotected server in case this one is down.
            let (part, whole) = UpstreamLimits.protectedShare
            left = left * part / whole
        }
        let until = now + min(next.timeout, left)
        let number = count
        count += 1
        let new = Try(number: number, candidate: next, start: now)
        running.append(new)
        latest = new
        for index in candidates.indices where candidates[index].server == next.server {
            candidates[index].tries += 1
            candidates[index].asked = now
        }
        return .ask(number, server: next.server, until: until, since: next.asked)
    }
}
