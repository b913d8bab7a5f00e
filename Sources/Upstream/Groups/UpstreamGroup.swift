// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Upstreams in the order of the settings, with failover, hedging and health checks.
///
/// ``ServerSelection``, ``AttemptPlan`` and ``ServerHealth`` contain the rules, without clock or network.
@ServiceLoop
package final class UpstreamGroup {
    package nonisolated let members: [any Forwarding]

    /// Health of the servers.
    package let health: HealthTable

    /// All servers of all members, and their health entries.
    fileprivate let servers: [any Forwarding]
    fileprivate let pages: [HealthTable.Page]

    /// Queries in flight that may need another server, and the timer for the next one.
    private var pending: [ObjectIdentifier: Run] = [:]
    private lazy var alarm = Alarm(health.clocks) { [weak self] in self?.tick() }

    /// Creates a group of at least one upstream.
    ///
    /// - Parameter health: the table shared with other groups.
    package init(_ members: [any Forwarding], health: HealthTable = HealthTable()) {
        self.members = members
        self.health = health
        servers = members.flatMap(\.servers)
        pages = servers.map(health.page)
    }

    /// Reply and the upstream that sent it.
    package struct Reply: Sendable {
        package let answer: UpstreamReply
        package let upstream: any Forwarding

        /// True if the server did not answer an earlier attempt of the query in time.
        package let isOfRepetition: Bool
    }

    /// Completion handler of a query.
    package typealias Completion = @ServiceLoop (Result<Reply, UpstreamError>) -> Void

    /// Queries servers until one answers or `deadline` passes.
    ///
    /// SERVFAIL, REFUSED, NOTIMP and FORMERR are failures: the next server may answer.
    ///
    /// - Parameters:
    ///   - trace: records the queries that are sent.
    ///   - completion: the completion handler, called once, possibly before `ask` returns. On failure it
    ///     receives the first error response of a server, otherwise the last failure.
    package func ask(
        _ query: ForwardedQuery,
        deadline: Instant,
        trace: Trace? = nil,
        _ completion: @escaping Completion
    ) {
        let now = health.clocks.now()
        guard now < deadline, !query.isCancelled else { return completion(.failure(.timedOut)) }
        let standing = standing(now)
        for (index, page) in pages.enumerated()
        where !page.health.isFit && !health.isPaused(servers[index]) {
            let server = servers[index]
            lookAgain(at: server, loopsUntil: page.health.loopsUntil, now: now)
            if page.health.isDue(at: now) { health.probe(server, until: now + server.timeout) }
        }
        guard !standing.order.isEmpty else {
            return completion(.failure(servers.contains(where: health.isPaused) ? .paused : .loop))
        }
        if let index = standing.measure { health.measure(servers[index]) }
        let plan = AttemptPlan(
            standing.order.map { index in
                let server = servers[index]
                return AttemptPlan.Candidate(
                    server: index,
                    isProtected: server.isProtected,
                    isDown: pages[index].health.isDown,
                    timeout: server.timeout,
                    patience: pages[index].health.patience,
                    repeatsAfter: server.repeatsAfter
                )
            },
            deadline: deadline
        )
        Run(query, plan, self, trace, completion).begin(now)
    }

    /// Servers in the order in which a query would use them now; excluded servers come last.
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

    /// Schedules the next `tick` of a query; nil removes the query.
    fileprivate func wake(_ run: Run, at instant: Instant?) {
        pending[ObjectIdentifier(run)] = instant == nil ? nil : run
        if let instant { alarm.bring(forward: instant) }
    }

    /// Advances the queries that have waited long enough.
    private func tick() {
        let now = health.clocks.now()
        for run in Array(pending.values) { run.tick(now) }
        // Rounded up, so that many queries share one timer.
        let next = pending.values.compactMap(\.wake).min()
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
    private let query: ForwardedQuery
    private let group: UpstreamGroup
    private var plan: AttemptPlan
    private let trace: Trace?

    /// Completion handler; nil after it was called.
    private var completion: UpstreamGroup.Completion?

    /// Instant of the next ``tick(_:)``.
    private(set) var wake: Instant?

    /// Servers that returned an error response, and the start of each attempt.
    private var declined: [(server: any Forwarding, error: UpstreamError, began: Instant)] = []

    /// Attempts that are not yet silent for long enough to suspect the server.
    private var unsuspected: [Try] = []

    private var latestError = UpstreamError.timedOut

    /// Query sent to one server.
    private struct Try {
        let number: Int
        let server: Int
        let began: Instant
        let until: Instant

        /// Instant at which the server becomes suspected.
        let suspicious: Instant
    }

    init(
        _ query: ForwardedQuery,
        _ plan: AttemptPlan,
        _ group: UpstreamGroup,
        _ trace: Trace?,
        _ completion: @escaping UpstreamGroup.Completion
    ) {
        self.query = query
        self.plan = plan
        self.group = group
        self.trace = trace
        self.completion = completion
    }

    func begin(_ now: Instant) {
        query.cancellation?.whenCancelled { [self] in end(.failure(.timedOut)) }
        perform(plan.begin(now: now), .first)
    }

    /// Suspects silent servers and sends a hedged query.
    func tick(_ now: Instant) {
        guard let wake, wake <= now else { return }
        let due = unsuspected.filter { $0.suspicious <= now }
        unsuspected.removeAll { $0.suspicious <= now }
        for each in due { suspect(each, isSilent: true) }
        guard completion != nil else { return }
        perform(plan.tick(now: now), .hedge)
    }

    private var health: HealthTable { group.health }

    /// Schedules ``tick(_:)`` for the plan or for the next suspicion.
    private func wait() {
        var next = plan.wake
        for each in unsuspected { next = min(next ?? each.suspicious, each.suspicious) }
        wait(until: completion == nil ? nil : next)
    }

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
        let new = Try(
            number: number,
            server: index,
            began: began,
            until: until,
            suspicious: began + group.pages[index].health.patience
        )
        if new.suspicious < until { unsuspected.append(new) }
        let place = trace?.begin(server.name, server.url, why, now: began)
        server.ask(query, repeating: since, deadline: until, place) { [self] result in
            unsuspected.removeAll { $0.number == number }
            switch result {
            case .success(let reply):
                place?.end(reply.message(to: query.question).summary, at: health.clocks.now())
                health.answered(server, began: began)
                guard plan.answered(number) else { return }
                let reply = UpstreamGroup.Reply(
                    answer: reply,
                    upstream: server,
                    isOfRepetition: since != nil
                )
                end(.success(reply))
            case .failure(let error):
                place?.end("\(error)", at: health.clocks.now())
                failed(new, error)
            }
        }
    }

    private func failed(_ failed: Try, _ error: UpstreamError) {
        guard !query.isCancelled else { return }
        let server = group.servers[failed.server]
        health.failed(server, error, began: failed.began)
        latestError = error
        if error.isDecline {
            declined.append((server, error, failed.began))
            health.suspect(server, silentSince: nil, until: health.clocks.now() + server.timeout)
        } else if error != .timedOut
            || failed.until - failed.began >= min(server.timeout, UpstreamLimits.fairWait)
        {
            suspect(failed, isSilent: error == .timedOut)
        }
        guard completion != nil else { return }
        let now = health.clocks.now()
        perform(plan.failed(failed.number, isFinal: error.isDecline, now: now), .next)
    }

    /// Suspects a server; a silent one only if it has not replied to any query since.
    private func suspect(_ silent: Try, isSilent: Bool) {
        let health = group.pages[silent.server].health
        guard !isSilent || health.isSilent(since: silent.began) else { return }
        plan.suspected(silent.server)
        self.health.suspect(
            group.servers[silent.server],
            silentSince: silent.began,
            until: silent.until
        ) { [self] isDown in
            guard completion != nil else { return }
            let now = self.health.clocks.now()
            perform(plan.judged(silent.server, isDown: isDown, now: now), .next)
        }
    }

    private func end(_ outcome: Result<UpstreamGroup.Reply, UpstreamError>) {
        wait(until: nil)
        guard let completion else { return }
        self.completion = nil
        completion(outcome)
    }
}

extension Message {
    fileprivate var summary: String {
        let records = answers.map { "\($0.type) \($0.data) (\($0.ttl) s)" }
        return ([rcode.description] + records).joined(separator: ", ")
    }
}
