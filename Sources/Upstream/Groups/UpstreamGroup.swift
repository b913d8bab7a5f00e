// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Upstreams in the order of the settings, with failover, hedging and health checks.
///
/// ``ServerSelection``, ``AttemptPlan`` and ``ServerHealth`` contain the rules.
@ServiceLoop
package final class UpstreamGroup {
    package nonisolated let members: [any Forwarding]

    package let health: HealthTable

    fileprivate let servers: [any Forwarding]
    fileprivate let pages: [HealthTable.Page]

    /// Queries in flight that may need another server.
    private var pending: [Run] = []
    private lazy var alarm = Alarm(health.clocks) { [weak self] in self?.tick() }

    /// Creates a group of at least one upstream.
    package init(_ members: [any Forwarding], health: HealthTable = HealthTable()) {
        self.members = members
        self.health = health
        servers = members.flatMap(\.servers)
        pages = servers.map(health.page)
    }

    package struct Reply: Sendable {
        package let answer: UpstreamReply
        package let upstream: any Forwarding

        /// True if the server did not answer an earlier attempt of the query in time.
        package let isOfRepetition: Bool
    }

    /// Result of a query; on failure, the first error response, or without a response the last
    /// failure.
    package typealias Outcome = Result<Reply, UpstreamError>

    /// Queries servers until one server answers or `deadline` passes.
    ///
    /// SERVFAIL, REFUSED, NOTIMP and FORMERR are failures: the next server may answer.
    ///
    /// - Parameters:
    ///   - isRepeated: false if each server gets the query only once.
    ///   - trace: records the queries that are sent.
    ///   - completion: may be called before `ask` returns.
    package func ask(
        _ query: Query,
        deadline: Instant,
        isRepeated: Bool = true,
        cancellation: CancellationSignal? = nil,
        trace: Trace? = nil,
        _ completion: consuming Completion<Outcome>
    ) {
        let now = health.clocks.now()
        guard now < deadline, !(cancellation?.isCancelled ?? false) else {
            return completion(.failure(.timedOut))
        }
        let standing = standing(now)
        for (index, page) in pages.enumerated() where !page.health.isFit {
            let server = servers[index]
            guard !health.isPaused(server) else { continue }
            lookAgain(at: server, loopsUntil: page.health.loopsUntil, now: now)
            if page.health.isDue(at: now) { health.probe(server, until: now + server.timeout) }
        }
        guard !standing.order.isEmpty else {
            return completion(
                .failure(servers.contains(where: health.isPaused) ? .paused : .loop)
            )
        }
        if let index = standing.measure { health.measure(servers[index]) }
        var candidates: [AttemptPlan.Candidate] = []
        candidates.reserveCapacity(standing.order.count)
        // Not `map`: the isolation check of its closure takes 350 instructions.
        for index in standing.order {
            let (server, health) = (servers[index], pages[index].health)
            candidates.append(
                AttemptPlan.Candidate(
                    server: index,
                    isProtected: server.isProtected,
                    isDown: health.isDown,
                    timeout: server.timeout,
                    patience: health.patience,
                    repeatsAfter: server.repeatsAfter
                )
            )
        }
        let plan = AttemptPlan(candidates, deadline: deadline, isRepeated: isRepeated)
        Run(query, plan, self, cancellation, trace, completion).begin(now)
    }

    /// Servers in the order in which a query would use them now; excluded servers are last.
    package var standing: [(server: any Forwarding, condition: ServerCondition)] {
        let order = standing(health.clocks.now()).order
        let others = servers.indices.filter { !order.contains($0) }
        return (order + others).map { (servers[$0], health.report(of: servers[$0]).condition) }
    }

    private func standing(_ now: Instant) -> ServerSelection {
        guard servers.count > 1 else {
            return ServerSelection(
                aloneAndLoops: pages[0].health.loops,
                isPaused: health.isPaused(servers[0])
            )
        }
        return ServerSelection(
            zip(servers, pages).map { server, page in
                ServerSelection.Entry(
                    isProtected: server.isProtected,
                    isPaused: health.isPaused(server),
                    health: page.health
                )
            },
            now: now
        )
    }

    fileprivate func wake(_ run: Run, at instant: Instant?) {
        if let instant {
            if run.place == nil {
                run.place = pending.count
                pending.append(run)
            }
            alarm.bring(forward: instant)
        } else if let place = run.place {
            run.place = nil
            let last = pending.removeLast()
            if last !== run {
                pending[place] = last
                last.place = place
            }
        }
    }

    private func tick() {
        let now = health.clocks.now()
        for run in pending { run.tick(now) }
        // The time is rounded up, so that queries share timers.
        let next = pending.lazy.compactMap(\.wake).min()
        alarm.set(next.map { max($0, now + UpstreamLimits.grain) })
    }

    /// Sends a loop probe to a looping server after ``UpstreamLimits/loopRest``.
    private func lookAgain(
        at server: any Forwarding,
        loopsUntil: Instant?,
        now: Instant
    ) {
        if let end = loopsUntil, now >= end {
            health.seekLoop(through: server, failedSince: end - UpstreamLimits.loopRest)
        }
    }
}

/// Query in flight, sent to one or more servers.
@ServiceLoop
private final class Run {
    private let query: Query
    private let group: UpstreamGroup
    private var plan: AttemptPlan
    private let cancellation: CancellationSignal?
    private let trace: Trace?

    private var completion: Completion<UpstreamGroup.Outcome>?

    private(set) var wake: Instant?

    /// Index in `pending` of the group; nil if no `tick` is scheduled.
    fileprivate var place: Int?

    /// Servers that returned an error response, with the start of each attempt.
    private var declined: [(server: any Forwarding, error: UpstreamError, began: Instant)] = []

    private var latestError = UpstreamError.timedOut

    init(
        _ query: Query,
        _ plan: AttemptPlan,
        _ group: UpstreamGroup,
        _ cancellation: CancellationSignal?,
        _ trace: Trace?,
        _ completion: consuming Completion<UpstreamGroup.Outcome>
    ) {
        self.query = query
        self.plan = plan
        self.group = group
        self.cancellation = cancellation
        self.trace = trace
        self.completion = consume completion
    }

    func begin(_ now: Instant) {
        cancellation?.whenCancelled { [self] in end(.failure(.timedOut)) }
        perform(plan.begin(now: now), .first)
    }

    /// Suspects silent servers and sends a hedged query.
    func tick(_ now: Instant) {
        guard let wake, wake <= now else { return }
        for each in plan.newlySuspicious(now: now) {
            suspect(each.server, silentSince: each.start, until: each.until, isSilent: true)
        }
        guard !isOver else { return }
        perform(plan.tick(now: now), .hedge)
    }

    private var health: HealthTable { group.health }

    private var isOver: Bool { completion == nil }

    private func wait() { wait(until: isOver ? nil : plan.nextEvent()) }

    private func wait(until instant: Instant?) {
        guard wake != instant else { return }
        wake = instant
        group.wake(self, at: instant)
    }

    private func perform(_ move: AttemptPlan.Move?, _ why: Trace.Why) {
        switch move {
        case .ask(let number, let server, let until, let since):
            ask(server, number, why, until, since)
        case .end:
            for no in declined { health.seekLoop(through: no.server, failedSince: no.began) }
            end(.failure(declined.first?.error ?? latestError))
        case nil: break
        }
        wait()
    }

    private func ask(
        _ index: Int,
        _ number: Int,
        _ why: Trace.Why,
        _ until: Instant,
        _ since: Instant?
    ) {
        let server = group.servers[index]
        let began = health.clocks.now()
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
    }

    private func ended(_ attempt: Attempt) {
        switch attempt.outcome {
        case .success(let reply):
            let server = group.servers[attempt.server]
            attempt.place?.end(
                reply.message(to: query.question).summary,
                at: health.clocks.now()
            )
            health.answered(server, group.pages[attempt.server], began: attempt.began)
            guard plan.answered(attempt.number) else { return }
            let reply = UpstreamGroup.Reply(
                answer: reply,
                upstream: server,
                isOfRepetition: attempt.earlier != nil
            )
            end(.success(reply))
        case .failure(let error):
            attempt.place?.end("\(error)", at: health.clocks.now())
            failed(attempt, error)
        }
    }

    private func failed(_ failed: Attempt, _ error: UpstreamError) {
        guard !failed.isCancelled else { return }
        let server = group.servers[failed.server]
        health.failed(server, error, began: failed.began)
        latestError = error
        if error.isDecline {
            declined.append((server, error, failed.began))
            health.suspect(server, silentSince: nil, until: health.clocks.now() + server.timeout)
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
        let now = health.clocks.now()
        perform(plan.failed(failed.number, isFinal: error.isDecline, now: now), .next)
    }

    /// Suspects and probes a server; a silent server only if the server sent no reply since
    /// `began`.
    private func suspect(
        _ index: Int,
        silentSince began: Instant,
        until end: Instant,
        isSilent: Bool
    ) {
        guard !isSilent || group.pages[index].health.isSilent(since: began) else { return }
        plan.suspected(index)
        health.suspect(group.servers[index], silentSince: began, until: end) { [self] isDown in
            guard !isOver else { return }
            perform(plan.judged(index, isDown: isDown, now: health.clocks.now()), .next)
        }
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
