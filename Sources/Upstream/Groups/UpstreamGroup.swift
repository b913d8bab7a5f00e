// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Upstreams with failover, hedging and health checks.
///
/// Encrypted servers come first, then plain ones, then those that the network or a file names; each
/// in the order of the settings.
///
/// ``ServerSelection``, ``AttemptPlan`` and ``ServerHealth`` contain the rules.
@ServiceLoop
package final class UpstreamGroup {
    package nonisolated let members: [any Forwarding]

    package let health: HealthTable

    /// Members whose servers change.
    private let learned: [LearnedUpstream]
    private var latestRoster: UpstreamRoster

    /// Queries in flight that may need another server.
    private var pending: [Run] = []
    private lazy var alarm = Alarm(health.clocks) { [weak self] in self?.tick() }

    /// Creates a group of at least one upstream.
    package init(_ members: [any Forwarding], health: HealthTable = HealthTable()) {
        self.members = members
        self.health = health
        learned = members.compactMap { $0 as? LearnedUpstream }
        latestRoster = UpstreamRoster(members, health, version: Self.version(of: learned))
    }

    /// Returns a group without learned members; itself if it has none, nil if it has only these.
    package func withoutLearned() -> UpstreamGroup? {
        guard !learned.isEmpty else { return self }
        let others = members.filter { !($0 is LearnedUpstream) }
        return others.isEmpty ? nil : UpstreamGroup(others, health: health)
    }

    private static func version(of learned: [LearnedUpstream]) -> Int {
        learned.reduce(0) { $0 + $1.version }
    }

    /// The present servers.
    fileprivate var roster: UpstreamRoster {
        guard !learned.isEmpty else { return latestRoster }
        let version = Self.version(of: learned)
        if version != latestRoster.version {
            latestRoster = UpstreamRoster(members, health, version: version)
        }
        return latestRoster
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
        let roster = roster
        let (servers, pages) = (roster.servers, roster.pages)
        let standing = standing(roster, now)
        for (index, page) in pages.enumerated() where !page.health.isFit {
            let server = servers[index]
            guard !health.isPaused(server) else { continue }
            lookAgain(at: server, loopsUntil: page.health.loopsUntil, now: now)
            if page.health.isDue(at: now) { health.probe(server, until: now + server.timeout) }
        }
        guard !standing.order.isEmpty else {
            return completion(.failure(noneUsable(servers)))
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
        Run(query, plan, self, roster, deadline, isRepeated, cancellation, trace, completion)
            .begin(now)
    }

    /// Servers in the order in which a query would use them now; excluded servers are last.
    package var standing: [(server: any Forwarding, condition: ServerCondition)] {
        let roster = roster
        let servers = roster.servers
        let order = standing(roster, health.clocks.now()).order
        let others = servers.indices.filter { !order.contains($0) }
        return (order + others).map { (servers[$0], health.report(of: servers[$0]).condition) }
    }

    private func noneUsable(_ servers: [any Forwarding]) -> UpstreamError {
        if servers.contains(where: health.isPaused) { return .paused }
        return servers.isEmpty ? learned.first?.error ?? .loop : .loop
    }

    private func standing(_ roster: UpstreamRoster, _ now: Instant) -> ServerSelection {
        let (servers, pages) = (roster.servers, roster.pages)
        guard servers.count != 1 else {
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
    private let roster: UpstreamRoster
    private let deadline: Instant
    private let isRepeated: Bool
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
        _ roster: UpstreamRoster,
        _ deadline: Instant,
        _ isRepeated: Bool,
        _ cancellation: CancellationSignal?,
        _ trace: Trace?,
        _ completion: consuming Completion<UpstreamGroup.Outcome>
    ) {
        self.query = query
        self.plan = plan
        self.group = group
        self.roster = roster
        self.deadline = deadline
        self.isRepeated = isRepeated
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
        case .end where group.roster !== roster:
            return beginAgain()
        case .end:
            for no in declined { health.seekLoop(through: no.server, failedSince: no.began) }
            end(.failure(declined.first?.error ?? latestError))
        case nil: break
        }
        wait()
    }

    /// Queries the present servers: the network has changed since the start.
    private func beginAgain() {
        wait(until: nil)
        guard let completion = completion.take() else { return }
        group.ask(
            query,
            deadline: deadline,
            isRepeated: isRepeated,
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
        _ since: Instant?
    ) {
        let server = roster.servers[index]
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
            let server = roster.servers[attempt.server]
            attempt.place?.end(
                reply.message(to: query.question).summary,
                at: health.clocks.now()
            )
            health.answered(server, roster.pages[attempt.server], began: attempt.began)
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
        guard error != .withdrawn else {
            let now = health.clocks.now()
            guard !isOver else { return }
            return perform(plan.failed(failed.number, isFinal: true, now: now), .next)
        }
        let server = roster.servers[failed.server]
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
        guard !isSilent || roster.pages[index].health.isSilent(since: began) else { return }
        plan.suspected(index)
        health.suspect(roster.servers[index], silentSince: began, until: end) { [self] isDown in
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
