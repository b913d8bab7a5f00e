// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Query of a client to one or more servers of a group; the object is also the first attempt.
final class Run: Attempt {
    private let group: UpstreamGroup
    private let roster: UpstreamRoster

    private let latest: Instant
    private let load: ClientLoad
    private var plan: AttemptPlan
    private let trace: Trace?

    private var answered: Completion<UpstreamGroup.Outcome>?

    private(set) var wake: Instant?

    var index: Int?

    private var declined: [(server: any Forwarding, error: UpstreamError, began: Instant)] = []

    var avoided: [any Forwarding] = []

    private var winner: (server: Int, number: Int)?

    private var latestError = UpstreamError.timedOut

    /// True if a limit (`crowded`) ended an attempt at a server that had not declined the query.
    private var isCrowded = false

    private var isClientCrowded = false

    /// True if this query counts against ``UpstreamLimits/repeatedOfBusyClient``.
    private var isRepeated = false

    init(
        _ query: Query,
        _ plan: consuming AttemptPlan,
        _ group: UpstreamGroup,
        _ roster: UpstreamRoster,
        _ deadline: Instant,
        _ load: ClientLoad,
        _ cancellation: CancellationSignal?,
        _ trace: Trace?,
        _ completion: consuming Completion<UpstreamGroup.Outcome>
    ) {
        self.plan = consume plan
        self.group = group
        self.roster = roster
        latest = deadline
        self.load = load
        self.trace = trace
        answered = consume completion
        super.init(query, cancellation: cancellation)
    }

    func begin(_ now: Instant) { begin(plan.begin(now: now), now) }

    func begin(_ move: AttemptPlan.Move?, _ now: Instant) {
        cancellation?.whenCancelled { [self] in finish(.failure(.timedOut)) }
        perform(move, .first, now)
    }

    /// Begins a query that has only `untrusted` servers, and waits for probes of these servers.
    func begin(_ now: Instant, _ untrusted: [Int]) {
        latestError = roster.pages[untrusted[0]].health.failure ?? latestError
        let probed = untrusted.filter { roster.pages[$0].health.isRecheckable(at: now) }
        for index in probed { plan.suspected(index) }
        begin(now)
        for index in probed {
            let server = roster.servers[index]
            health.recheck(server, until: now + server.timeout) { [self] in judged(index, $0) }
        }
    }

    func tick(_ now: Instant) {
        guard let wake, wake <= now else { return }
        for each in plan.newlySuspicious(now: now) {
            suspect(each.server, silentSince: each.start, until: each.until, isSilent: true)
        }
        guard !isFinished else { return }
        let why: Trace.Why = plan.isIdle ? .next : .hedge
        perform(plan.tick(now: now), why, now)
    }

    private var health: HealthTable { group.health }

    private var isFinished: Bool { answered == nil }

    private func wait() { wait(until: isFinished ? nil : plan.nextEvent()) }

    private func wait(until instant: Instant?) {
        guard wake != instant else { return }
        wake = instant
        group.wake(self, at: instant)
    }

    private func perform(_ move: AttemptPlan.Move?, _ why: Trace.Why, _ now: Instant) {
        switch move {
        case .ask(let number, let server, let until, let since):
            ask(server, number, why, until, since, now)
        case .end where group.roster !== roster:
            return beginAgain()
        case .end:
            for no in declined { health.seekLoop(through: no.server, failedSince: no.began) }
            let crowded: UpstreamError = isClientCrowded ? .clientCrowded : .crowded
            finish(.failure(isCrowded ? crowded : declined.first?.error ?? latestError))
        case nil: break
        }
        wait()
    }

    private func beginAgain() {
        wait(until: nil)
        endRepetition()
        guard let completion = answered.take() else { return }
        group.ask(
            query,
            deadline: latest,
            load: load,
            avoiding: avoided,
            cancellation: cancellation,
            trace: trace,
            completion
        )
    }

    private func ask(
        _ index: Int,
        _ number: Int,
        _ why: Trace.Why,
        _ until: Instant,
        _ since: Instant?,
        _ began: Instant
    ) {
        let server = roster.servers[index]
        let attempt = number == 0 ? self : Attempt(query, cancellation: cancellation)
        attempt.prepare(
            deadline: until,
            repeating: since,
            isOfBusyClient: load != .normal,
            usesStream: plan.usesStream(index),
            place: trace?.begin(server.name, server.url, why, now: began),
            number: number,
            server: index,
            began: began,
            Completion { [self] in received($0) }
        )
        server.ask(attempt)
        if load != .normal { health.sample(server, roster.pages[index], now: began) }
    }

    private func received(_ attempt: Attempt) {
        let now = attempt.ended ?? health.clocks.now()
        switch attempt.takeOutcome() {
        case .success(let reply):
            let server = roster.servers[attempt.server]
            attempt.place?.end(reply.message(to: query.question).summary, at: now)
            health.answered(server, roster.pages[attempt.server], began: attempt.began, now: now)
            guard plan.answered(attempt.number) else { return }
            if attempt.number > 0 { winner = (attempt.server, attempt.number) }
            finish(
                .success(
                    UpstreamGroup.Reply(
                        answer: reply,
                        upstream: server,
                        received: now,
                        wasRepeated: attempt.number > 0
                    )
                )
            )
        case .failure(let error):
            attempt.place?.end("\(error)", at: now)
            if load != .normal, case .broken = error, attempt.wasRefused, !attempt.isCancelled,
                now < attempt.deadline
            {
                hold(attempt)
            } else {
                failed(attempt, error, now)
            }
        }
    }

    /// Keeps an attempt open until its timeout, after the server closed the connection.
    ///
    /// The limit on the client's queries in flight then also limits the rate of the client's
    /// queries.
    private func hold(_ attempt: Attempt) {
        roster.pages[attempt.server].samples.noteLoss(isClosed: false)
        ServiceLoop.task { [self] in
            try? await health.clocks.sleep(attempt.deadline)
            let (server, page) = (roster.servers[attempt.server], roster.pages[attempt.server])
            let error = health.isKnown(server, page) ? UpstreamError.timedOut : .withdrawn
            failed(attempt, error, health.clocks.now())
        }
    }

    private func failed(_ failed: Attempt, _ error: UpstreamError, _ now: Instant) {
        guard !failed.isCancelled else { return }
        guard error != .withdrawn else {
            guard !isFinished else { return }
            return perform(plan.withdrawn(failed.number, now: now), .next, now)
        }
        let server = roster.servers[failed.server]
        health.failed(server, error, began: failed.began)
        if error == .timedOut, server.repeatsAfter == .zero, let winner,
            winner.server == failed.server, winner.number > failed.number
        {
            // The server answered only the repetition, so this datagram was lost.
            roster.pages[failed.server].health.lostDatagram(now: now)
        }
        latestError = error
        let hasDeclined = declined.contains { $0.server === server }
        guard !error.isCrowded else {
            // If the server has declined this query before, the result is the server's error.
            if !hasDeclined { isCrowded = true }
            if error == .clientCrowded { isClientCrowded = true }
            guard !isFinished else { return }
            return perform(plan.withdrawn(failed.number, now: now), .next, now)
        }
        if error.isDecline {
            if !hasDeclined {
                declined.append((server, error, failed.began))
                health.suspect(server, silentSince: nil, until: now + server.timeout)
            }
        } else if error != .timedOut
            || failed.deadline - failed.began >= min(server.timeout, UpstreamLimits.fairWait)
        {
            suspect(
                failed.server,
                silentSince: failed.began,
                until: failed.deadline,
                isSilent: error == .timedOut
            )
        }
        guard !isFinished else { return }
        var repetition = error.repetition
        if load == .high, repetition == .afterPause, !mayRepeat() { repetition = .never }
        perform(plan.failed(failed.number, repetition, now: now), .next, now)
    }

    /// Limits the repetitions for a busy client, because they would multiply a flood of failing
    /// names.
    ///
    /// The limit is not zero, because an attacker who forges queries can make a client busy.
    private func mayRepeat() -> Bool {
        if !isRepeated { isRepeated = group.beginRepetition(of: client) }
        return isRepeated
    }

    private func endRepetition() {
        guard isRepeated else { return }
        isRepeated = false
        group.endRepetition(of: client)
    }

    /// Probes a server after an unanswered or failed attempt.
    ///
    /// - Parameter isSilent: true for a timeout. Then the server is probed only if it has not
    ///   replied since `began`.
    private func suspect(
        _ index: Int,
        silentSince began: Instant,
        until end: Instant,
        isSilent: Bool
    ) {
        let now = health.clocks.now()
        guard !isSilent || roster.pages[index].health.isSilent(since: began) else {
            noteLosses(index, now)
            return perform(plan.replied(now: now), .next, now)
        }
        plan.suspected(index)
        let server = roster.servers[index]
        var end = end
        if health.mayBeSlow(server) {
            // Keeps a part of the query's time for an unprotected server, in case the probe fails.
            let (part, whole) = UpstreamLimits.protectedShare
            let share = began + (latest - began) * part / whole
            end = max(end, min(share, now + UpstreamLimits.firstProbeTime))
        }
        health.suspect(server, silentSince: began, until: end) { [self] in
            judged(index, $0)
        }
    }

    private func judged(_ index: Int, _ isDown: Bool) {
        guard !isFinished else { return }
        let now = health.clocks.now()
        noteLosses(index, now)
        perform(plan.judged(index, isDown: isDown, now: now), .next, now)
    }

    private func noteLosses(_ index: Int, _ now: Instant) {
        guard load == .normal, roster.pages[index].health.isLossy(at: now) else { return }
        plan.foundLossy(index)
    }

    private func finish(_ outcome: consuming UpstreamGroup.Outcome) {
        wait(until: nil)
        endRepetition()
        guard let completion = answered.take() else { return }
        completion(outcome)
    }
}

extension Message {
    fileprivate var summary: String {
        let records = answers.map { "\($0.type) \($0.data) (\($0.ttl) s)" }
        return ([rcode.description] + records).joined(separator: ", ")
    }
}
