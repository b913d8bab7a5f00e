// SPDX-License-Identifier: Apache-2.0

/// Failover and hedging plan of one query among the servers of a group: an event in, at most one move
/// out; no clock, no network.
///
/// The next server is asked when one fails, and also when one has been silent for longer than its
/// usual latency.  The first answer ends the course.  After the last server the first one has another
/// turn, unless it declined.
///
/// An unprotected server is asked only if every protected server before it in the settings is down.
/// The health of a server decides that, and never what became of this query: a client chose its name.
/// While a probe decides, the query waits for the verdict.
struct Course: Sendable, Hashable {
    /// A server as far as the course has to know it.
    struct Candidate: Sendable, Hashable {
        /// Its index in the group, in the order of the settings.
        var server: Int

        /// Whether its answers cannot be forged on the way.
        var isProtected: Bool

        /// Whether it is judged to be out of service, so that an unprotected server may stand in.
        var isDown = false

        /// How long one try may take.
        var timeout: Duration

        /// How long it is waited for alone.
        var patience: Duration

        /// The least time after which it may be asked again while it has not answered; nil: never.
        var repeatsAfter: Duration?
    }

    /// What to do now.
    enum Move: Sendable, Hashable {
        /// Ask a server, and report what came of it under the number of the try.
        case ask(Int, server: Int, until: ContinuousClock.Instant, since: ContinuousClock.Instant?)

        /// Nothing more will come: the query has failed.
        case end
    }

    /// A try that runs.
    private struct Try: Sendable, Hashable {
        var number: Int
        var candidate: Candidate
        var start: ContinuousClock.Instant
    }

    private let deadline: ContinuousClock.Instant

    /// The servers, in the order in which they take turns.
    private var candidates: [Candidate]

    /// Servers that declined the query.
    private var refused: [Int] = []

    /// Servers that a probe is deciding on.
    private var suspects: [Int] = []

    /// The most tries of one server, and of all.
    private let rounds: Int
    private let mostTries: Int

    /// The tries of each server so far.
    private var triesOf: [Int]

    /// The tries that run.
    private var running: [Try] = []

    /// How many tries there were.
    private(set) var count = 0

    /// The latest try.
    private var latest: Try?

    /// When each server of the group was last asked.
    private var asked: [ContinuousClock.Instant?]

    /// Whether there was an answer, or none will come.
    private(set) var isOver = false

    /// Makes the course of a query that was not sent yet.
    init(_ candidates: [Candidate], deadline: ContinuousClock.Instant) {
        let isAlone = candidates.count == 1 && candidates[0].repeatsAfter != nil
        rounds = isAlone ? UpstreamLimits.roundsAlone : UpstreamLimits.rounds
        mostTries = min(rounds * candidates.count, UpstreamLimits.tries)
        self.candidates = candidates
        let servers = candidates.reduce(0) { max($0, $1.server + 1) }
        asked = Array(repeating: nil, count: servers)
        triesOf = Array(repeating: 0, count: servers)
        self.deadline = deadline
    }

    /// The instant at which ``tick(now:)`` has something to do; nil if only another event can.
    var wake: ContinuousClock.Instant? {
        guard !isOver else { return nil }
        // Only a verdict is awaited, and no longer than the query may take.
        guard let latest, !running.isEmpty else { return deadline }
        guard let next, mayJoin(next), !isHeld(next) else { return nil }
        var wake = latest.start + latest.candidate.patience
        if let last = asked[next.server], isRunning(next) {
            wake = max(wake, last + (next.repeatsAfter ?? .zero))
        }
        return wake < deadline ? wake : nil
    }

    /// The server to ask next: of those that may be asked, the first with the fewest tries.
    private var next: Candidate? {
        guard count < mostTries else { return nil }
        var next: Candidate?
        for candidate in candidates where mayBeAsked(candidate) {
            if let next, triesOf[next.server] <= triesOf[candidate.server] { continue }
            next = candidate
        }
        return next
    }

    /// Whether a server has tries left, and may be asked in the clear if it is unprotected.
    private func mayBeAsked(_ candidate: Candidate) -> Bool {
        isLeft(candidate)
            && (candidate.isProtected || protectedBefore(candidate).allSatisfy(\.isDown))
    }

    /// Whether a server has tries left and has not declined.
    private func isLeft(_ candidate: Candidate) -> Bool {
        triesOf[candidate.server] < rounds && !refused.contains(candidate.server)
    }

    /// The protected servers that stand before an unprotected one in the settings.
    private func protectedBefore(_ candidate: Candidate) -> some Sequence<Candidate> {
        candidates.lazy.filter { $0.isProtected && $0.server < candidate.server }
    }

    /// Whether a verdict could let an unprotected server be asked that may not be asked now.
    private var awaitsVerdict: Bool {
        count < mostTries
            && candidates.contains { candidate in
                isLeft(candidate) && !mayBeAsked(candidate)
                    && protectedBefore(candidate).allSatisfy {
                        $0.isDown || suspects.contains($0.server)
                    }
            }
    }

    /// Whether a server is being asked.
    private func isRunning(_ candidate: Candidate) -> Bool {
        running.contains { $0.candidate.server == candidate.server }
    }

    /// Whether `next` may be asked while others have not answered.
    ///
    /// An unprotected server must not win a race against protected ones that are in service.
    private func mayJoin(_ next: Candidate) -> Bool {
        running.count < UpstreamLimits.triesAtOnce
            && running.allSatisfy { other in
                (next.isProtected || !other.candidate.isProtected || isDown(other.candidate.server))
                    && (other.candidate.server != next.server || next.repeatsAfter != nil)
            }
    }

    /// Whether a server that has failed is not asked again before a verdict, which may let an
    /// unprotected one stand in.
    private func isHeld(_ next: Candidate) -> Bool {
        (next.isDown || suspects.contains(next.server)) && !isRunning(next) && awaitsVerdict
    }

    private func isDown(_ server: Int) -> Bool {
        candidates.contains { $0.server == server && $0.isDown }
    }
}

// MARK: - Events

extension Course {
    /// Returns the first move.
    mutating func begin(now: ContinuousClock.Instant) -> Move { advance(now: now) }

    /// Returns the move that time has brought.
    mutating func tick(now: ContinuousClock.Instant) -> Move? {
        guard let wake, now >= wake else { return nil }
        return advance(now: now)
    }

    /// Ends a try that brought no answer.
    ///
    /// - Parameter isFinal: whether the server declined, and so is not asked again.
    mutating func failed(
        _ number: Int,
        isFinal: Bool,
        now: ContinuousClock.Instant
    ) -> Move? {
        guard let ended = end(number), !isOver else { return nil }
        if isFinal { refused.append(ended.candidate.server) }
        return proceed(now: now)
    }

    /// Notes that a probe is deciding on a server, of which ``judged(_:isDown:now:)`` will tell.
    mutating func suspected(_ server: Int) {
        if !suspects.contains(server) { suspects.append(server) }
    }

    /// Ends the suspicion of a server.
    mutating func judged(_ server: Int, isDown: Bool, now: ContinuousClock.Instant) -> Move? {
        suspects.removeAll { $0 == server }
        for index in candidates.indices where candidates[index].server == server {
            candidates[index].isDown = isDown
        }
        guard !isOver else { return nil }
        let wasProtected = candidates.contains { $0.server == server && $0.isProtected }
        let mayStandIn = isDown && wasProtected && next?.isProtected == false
        return running.isEmpty || mayStandIn ? proceed(now: now) : nil
    }

    /// Asks the next server if nothing speaks against it, or ends.
    private mutating func proceed(now: ContinuousClock.Instant) -> Move? {
        guard now < deadline, let next else {
            guard running.isEmpty, now >= deadline || !awaitsVerdict else { return nil }
            isOver = true
            return .end
        }
        // A server that is being asked is not asked again because of another's failure.
        guard mayJoin(next), !isRunning(next), !isHeld(next) else { return nil }
        return advance(now: now)
    }

    /// A try brought an answer.
    ///
    /// - Returns: whether it is the first, which counts.
    mutating func answered(_ number: Int) -> Bool {
        guard end(number) != nil, !isOver else { return false }
        isOver = true
        return true
    }

    /// Takes a try out of those that run.
    private mutating func end(_ number: Int) -> Try? {
        running.firstIndex { $0.number == number }.map { running.remove(at: $0) }
    }

    /// Asks the next server.
    private mutating func advance(now: ContinuousClock.Instant) -> Move {
        guard now < deadline, let next else {
            isOver = true
            return .end
        }
        triesOf[next.server] += 1
        var left = deadline - now
        if next.isProtected, candidates.contains(where: { !$0.isProtected && isLeft($0) }) {
            // An unprotected server is asked only when this one is down, and needs time for it.
            let (part, whole) = UpstreamLimits.protectedShare
            left = left * part / whole
        }
        let until = now + min(next.timeout, left)
        let number = count
        count += 1
        let new = Try(number: number, candidate: next, start: now)
        let since = asked[next.server]
        running.append(new)
        latest = new
        asked[next.server] = now
        return .ask(number, server: next.server, until: until, since: since)
    }
}
