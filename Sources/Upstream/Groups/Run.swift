// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Query of a client, sent to one or more servers of a group.
@ServiceLoop
final class Run {
    private let query: Query
    private let group: UpstreamGroup
    private let roster: UpstreamRoster
    private let deadline: Instant
    private let load: ClientLoad
    private var plan: AttemptPlan
    private let cancellation: CancellationSignal?
    private let trace: Trace?

    private var completion: Completion<UpstreamGroup.Outcome>?

    private(set) var wake: Instant?

    /// Index in `pending` of the group; nil if no `tick` is scheduled.
    var place: Int?

    /// Servers that returned an error response, with the start of each attempt.
    private var declined: [(server: any Forwarding, error: UpstreamError, began: Instant)] = []

    private var latestError = UpstreamError.timedOut

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
        self.query = query
        self.plan = consume plan
        self.group = group
        self.roster = roster
        self.deadline = deadline
        self.load = load
        self.cancellation = cancellation
        self.trace = trace
        self.completion = consume completion
    }

    func begin(_ now: Instant) {
        cancellation?.whenCancelled { [self] in end(.failure(.timedOut)) }
        perform(plan.begin(now: now), .first, now)
    }

    /// Begins a query that has only `untrusted` servers: the query waits for probes of the servers.
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

    /// Probes servers that have not replied in time, and sends a hedged query if due.
    func tick(_ now: Instant) {
        guard let wake, wake <= now else { return }
        for each in plan.newlySuspicious(now: now) {
            suspect(each.server, silentSince: each.start, until: each.until, isSilent: true)
        }
        guard !isOver else { return }
        perform(plan.tick(now: now), .hedge, now)
    }

    private var health: HealthTable { group.health }

    private var isOver: Bool { completion == nil }

    private func wait() { wait(until: isOver ? nil : plan.nextEvent()) }

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
            end(.failure(declined.first?.error ?? latestError))
        case nil: break
        }
        wait()
    }

    /// Restarts the query with the current servers after a change of the servers.
    private func beginAgain() {
        wait(until: nil)
        guard let completion = completion.take() else { return }
        group.ask(
            query,
            deadline: deadline,
            load: load,
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
        server.ask(
            Attempt(
                query,
                deadline: until,
                repeating: since,
                cancellation: cancellation,
                place: trace?.begin(server.name, server.url, why, now: began),
                number: number,
                server: index,
                began: began,
                Completion { [self] in ended($0) }
            )
        )
        if load != .normal { health.sample(server, roster.pages[index], now: began) }
    }

    private func ended(_ attempt: Attempt) {
        let now = attempt.ended ?? health.clocks.now()
        switch attempt.takeOutcome() {
        case .success(let reply):
            let server = roster.servers[attempt.server]
            attempt.place?.end(reply.message(to: query.question).summary, at: now)
            health.answered(server, roster.pages[attempt.server], began: attempt.began, now: now)
            guard plan.answered(attempt.number) else { return }
            let reply = UpstreamGroup.Reply(
                answer: reply,
                upstream: server,
                received: now,
                wasRepeated: attempt.number > 0
            )
            end(.success(reply))
        case .failure(let error):
            attempt.place?.end("\(error)", at: now)
            failed(attempt, error, now)
        }
    }

    private func failed(_ failed: Attempt, _ error: UpstreamError, _ now: Instant) {
        guard !failed.isCancelled else { return }
        guard error != .withdrawn else {
            guard !isOver else { return }
            return perform(plan.withdrawn(failed.number, now: now), .next, now)
        }
        let server = roster.servers[failed.server]
        health.failed(server, error, began: failed.began)
        latestError = error
        if error.isDecline {
            declined.append((server, error, failed.began))
            health.suspect(server, silentSince: nil, until: now + server.timeout)
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
        guard !isOver else { return }
        perform(plan.failed(failed.number, isFinal: error.isFinal, now: now), .next, now)
    }

    /// Marks a server as suspected, and probes the server.
    ///
    /// - Parameter isSilent: true for a timeout: a server that has replied since `began` is then
    ///   not probed.
    private func suspect(
        _ index: Int,
        silentSince began: Instant,
        until end: Instant,
        isSilent: Bool
    ) {
        guard !isSilent || roster.pages[index].health.isSilent(since: began) else { return }
        plan.suspected(index)
        health.suspect(roster.servers[index], silentSince: began, until: end) { [self] in
            judged(index, $0)
        }
    }

    private func judged(_ index: Int, _ isDown: Bool) {
        guard !isOver else { return }
        let now = health.clocks.now()
        perform(plan.judged(index, isDown: isDown, now: now), .next, now)
    }

    private func end(_ outcome: UpstreamGroup.Outcome) {
        wait(until: nil)
        guard let completion = completion.take() else { return }
        completion(outcome)
    }
}

extension Message {
    fileprivate var summary: String {
        let records = answers.map { "\($0.type) \($0.data) (\($0.ttl) s)" }
        return ([rcode.description] + records).joined(separator: ", ")
    }
}
