// SPDX-License-Identifier: Apache-2.0

/// One query's way through the servers of a group: an event in, at most one move out; no clock, no
/// network.
///
/// The next server is asked at once when one fails, and besides when one has been silent for longer
/// than it usually is.  The first answer ends the course; tries that still run then report in vain.
/// After the last server comes the first once more, unless it said no.
struct Course: Sendable, Hashable {
    /// A server as far as the course has to know it.
    struct Candidate: Sendable, Hashable {
        /// Its place in the group.
        var server: Int

        /// Whether nobody on the way can forge its answers.
        var isProtected: Bool

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

    /// The servers, which take turns, and those of them that said no.
    private let candidates: [Candidate]
    private var refused: [Int] = []

    /// The turns that there were, and that there are at most.
    private var turn = 0
    private let turns: Int

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

    /// Makes the course of a query that nobody was asked yet.
    init(_ candidates: [Candidate], deadline: ContinuousClock.Instant) {
        let isAlone = candidates.count == 1 && candidates[0].repeatsAfter != nil
        let rounds = isAlone ? UpstreamLimits.roundsAlone : UpstreamLimits.rounds
        turns = min(rounds * candidates.count, UpstreamLimits.tries)
        self.candidates = candidates
        asked = Array(repeating: nil, count: candidates.reduce(0) { max($0, $1.server + 1) })
        self.deadline = deadline
    }

    /// When ``tick(now:)`` has something to do; nil if only a failure can bring the query on.
    var wake: ContinuousClock.Instant? {
        guard !isOver, let latest, !running.isEmpty, let next, mayJoin(next) else { return nil }
        var wake = latest.start + latest.candidate.patience
        if let last = asked[next.server], isRunning(next) {
            wake = max(wake, last + (next.repeatsAfter ?? .zero))
        }
        return wake < deadline ? wake : nil
    }

    /// Whose turn it is.
    private var next: Candidate? { nextTurn.map(candidate) }

    /// The next turn of a server that has not said no.
    private var nextTurn: Int? { (turn..<turns).first { mayBeAsked(candidate($0)) } }

    /// Who has a turn.
    private func candidate(_ turn: Int) -> Candidate { candidates[turn % candidates.count] }

    private func mayBeAsked(_ candidate: Candidate) -> Bool { !refused.contains(candidate.server) }

    /// Whether a server is being asked.
    private func isRunning(_ candidate: Candidate) -> Bool {
        running.contains { $0.candidate.server == candidate.server }
    }

    /// Whether `next` may be asked while others have not answered.
    ///
    /// An unprotected server must not win a race against protected ones, only stand in for them.
    private func mayJoin(_ next: Candidate) -> Bool {
        running.count < UpstreamLimits.triesAtOnce
            && running.allSatisfy { other in
                (next.isProtected || !other.candidate.isProtected)
                    && (other.candidate.server != next.server || next.repeatsAfter != nil)
            }
    }
}

// MARK: - Events

extension Course {
    /// The first move.
    mutating func begin(now: ContinuousClock.Instant) -> Move { advance(now: now) }

    /// Time has passed.
    mutating func tick(now: ContinuousClock.Instant) -> Move? {
        guard let wake, now >= wake else { return nil }
        return advance(now: now)
    }

    /// A try brought no answer.
    ///
    /// - Parameter isFinal: whether the server need not be asked again, as it has said no.
    mutating func failed(
        _ number: Int,
        isFinal: Bool,
        now: ContinuousClock.Instant
    ) -> Move? {
        guard let ended = end(number), !isOver else { return nil }
        if isFinal { refused.append(ended.candidate.server) }
        guard let next, now < deadline else {
            guard running.isEmpty else { return nil }
            isOver = true
            return .end
        }
        // One that is being asked is not asked again for another's failure.
        return mayJoin(next) && !isRunning(next) ? advance(now: now) : nil
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

    /// Asks the next one.
    private mutating func advance(now: ContinuousClock.Instant) -> Move {
        guard now < deadline, let place = nextTurn else {
            isOver = true
            return .end
        }
        turn = place + 1
        let next = candidate(place)
        var left = deadline - now
        if next.isProtected, standsInLater {
            // They are asked only when this one has failed, and need time for it.
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

    /// Whether an unprotected server has a turn yet.
    private var standsInLater: Bool {
        (turn..<turns).contains { turn in
            let candidate = candidate(turn)
            return !candidate.isProtected && mayBeAsked(candidate)
        }
    }
}
