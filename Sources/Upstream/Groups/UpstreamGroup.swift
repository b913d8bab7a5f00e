// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Group of upstreams with failover, hedging and health checks.
///
/// ``ServerSelection``, ``AttemptPlan`` and ``ServerHealth`` contain the rules.
@ServiceLoop
package final class UpstreamGroup {
    package nonisolated let members: [any Forwarding]

    package let health: HealthTable

    private let learned: [LearnedUpstream]
    private var latestRoster: UpstreamRoster

    private var pending: [Run] = []
    private let alarm: Alarm

    /// Number of queries that are repeated after an error, for each busy client.
    private var repeated: [ClientNetwork?: Int] = [:]

    /// Creates a group of at least one upstream.
    package init(_ members: [any Forwarding], health: HealthTable = HealthTable()) {
        self.members = members
        self.health = health
        learned = members.compactMap { $0 as? LearnedUpstream }
        latestRoster = UpstreamRoster(members, health, version: Self.version(of: learned))
        alarm = Alarm(health.clocks)
        // Not `weak`, because an object with weak references has a slower reference count. `deinit`
        // ends the alarm.
        alarm.action = { [unowned self] in tick() }
    }

    isolated deinit { alarm.set(nil) }

    /// Returns the group without any ``LearnedUpstream``; nil if no other member exists.
    package func withoutLearned() -> UpstreamGroup? {
        guard !learned.isEmpty else { return self }
        let others = members.filter { !($0 is LearnedUpstream) }
        return others.isEmpty ? nil : UpstreamGroup(others, health: health)
    }

    private static func version(of learned: [LearnedUpstream]) -> Int {
        learned.reduce(0) { $0 + $1.version }
    }

    /// True if the group has a configured encrypted server.
    package var isEncrypted: Bool { roster.servers.first?.isProtected ?? false }

    var roster: UpstreamRoster {
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

        package let received: Instant

        /// True if the answer is not from the first attempt.
        package let wasRepeated: Bool
    }

    /// Result of a query.
    ///
    /// If all attempts fail, the error is the first in this list that exists:
    ///
    /// 1. `crowded` or `clientCrowded`;
    /// 2. the first error response;
    /// 3. the latest error.
    package typealias Outcome = Result<Reply, UpstreamError>

    /// Queries servers until one server answers or `deadline` passes.
    ///
    /// - Parameters:
    ///   - avoided: servers to skip. If the group has an upstream without avoided servers, each
    ///     upstream with an avoided server is skipped completely. If not, only the avoided servers
    ///     are skipped. If the group has only avoided servers, no server is skipped.
    ///   - completion: may be called before `ask` returns.
    package func ask(
        _ query: Query,
        deadline: Instant,
        load: ClientLoad = .normal,
        avoiding avoided: [any Forwarding] = [],
        cancellation: CancellationSignal? = nil,
        trace: Trace? = nil,
        now: Instant? = nil,
        _ completion: consuming Completion<Outcome>
    ) {
        let now = now ?? health.clocks.now()
        guard now < deadline, !(cancellation?.isCancelled ?? false) else {
            return completion(.failure(.timedOut))
        }
        let roster = roster
        if let only = onlyCandidate(roster, load, now) {
            var plan = AttemptPlan(
                ShortArray(CollectionOfOne(only)),
                deadline: deadline,
                isRepeated: load != .excessive
            )
            let move = plan.begin(now: now)
            let (end, signal) = (deadline, cancellation)
            Run(query, consume plan, self, roster, end, load, signal, trace, completion)
                .begin(move, now)
            return
        }
        let (servers, pages) = (roster.servers, roster.pages)
        let standing = standing(roster, now)
        for (index, page) in pages.enumerated() where !page.health.isFit {
            let server = servers[index]
            guard !health.isPaused(server) else { continue }
            lookAgain(at: server, loopsUntil: page.health.loopsUntil, now: now)
            health.probeIfDue(server, page)
        }
        guard !standing.order.isEmpty else {
            return completion(.failure(noneUsable(servers)))
        }
        if let index = standing.measure { health.measure(servers[index]) }
        var (untrusted, hasFit): ([Int], Bool) = ([], false)
        var candidates = ShortArray<AttemptPlan.Candidate>()
        // The isolation check of a closure for `map` would take 350 instructions.
        for index in standing.order {
            let (server, health) = (servers[index], pages[index].health)
            let isLossy = load == .normal && pages[index].health.isLossy(at: now)
            if health.isFit, roster.roles[index] != .spare { hasFit = true }
            if health.isUntrusted { untrusted.append(index) }
            candidates.append(
                health.candidate(
                    server,
                    index,
                    roster.roles[index],
                    isProtected: roster.isProtected(index),
                    upstream: roster.upstreams[index],
                    isLossy: isLossy
                )
            )
        }
        let isRepeated = load != .excessive
        var plan = AttemptPlan(candidates, deadline: deadline, isRepeated: isRepeated)
        if !avoided.isEmpty { plan.refused = indices(of: avoided, servers) }
        let run =
            Run(query, plan, self, roster, deadline, load, cancellation, trace, completion)
        if !avoided.isEmpty { run.avoided = avoided }
        if hasFit || untrusted.isEmpty { run.begin(now) } else { run.begin(now, untrusted) }
    }

    private func indices(of avoided: [any Forwarding], _ servers: [any Forwarding]) -> [Int] {
        let names = servers.indices.filter { index in
            avoided.contains { $0.name == servers[index].name }
        }
        if names.count < servers.count { return names }
        let same = servers.indices.filter { index in avoided.contains { $0 === servers[index] } }
        return same.count < servers.count ? same : []
    }

    package func hasServer(besides avoided: [any Forwarding]) -> Bool {
        roster.servers.contains { server in !avoided.contains { $0 === server } }
    }

    /// True if servers of the group drop queries, and no healthy server of the group answers them.
    ///
    /// Servers that are down are ignored. A protected server that is backed off, but not down, is
    /// not ignored: the server can be overloaded.
    package func dropsQueries(now: Instant) -> Bool {
        let roster = roster
        let isProtected = roster.hasProtectedServer
        var drops = false
        for (index, page) in roster.pages.enumerated() {
            guard !page.health.isDown, !page.health.loops,
                !isProtected || roster.isProtected(index),
                let areLost = page.samples.areLost(at: now)
            else { continue }
            if areLost { drops = true } else if page.health.isFit { return false }
        }
        return drops
    }

    package var hasProtectedServer: Bool { roster.hasProtectedServer }

    /// Reason why the group has no server; nil if the group has a server.
    package var absence: UpstreamError? { roster.servers.isEmpty ? learned.first?.error : nil }

    private func onlyCandidate(
        _ roster: UpstreamRoster,
        _ load: ClientLoad,
        _ now: Instant
    ) -> AttemptPlan.Candidate? {
        guard roster.servers.count == 1, let server = roster.servers.first,
            !health.isPaused(server), let patience = roster.pages[0].health.patienceIfFit()
        else { return nil }
        return AttemptPlan.Candidate(
            server: 0,
            isProtected: roster.isProtected(0),
            timeout: server.timeout,
            patience: patience,
            repeatsAfter: server.repeatsAfter,
            isLossy: load == .normal && roster.pages[0].health.isLossy(at: now)
        )
    }

    private func noneUsable(_ servers: [any Forwarding]) -> UpstreamError {
        if servers.contains(where: health.isPaused) { return .paused }
        return absence ?? .loop
    }

    func standing(_ roster: UpstreamRoster, _ now: Instant) -> ServerSelection {
        let (servers, pages) = (roster.servers, roster.pages)
        guard servers.count != 1 else {
            return ServerSelection(
                aloneAndLoops: pages[0].health.loops,
                isPaused: health.isPaused(servers[0])
            )
        }
        return ServerSelection(
            servers.indices.map { index in
                ServerSelection.Entry(
                    isProtected: roster.isProtected(index),
                    role: roster.roles[index],
                    isPaused: health.isPaused(servers[index]),
                    health: pages[index].health
                )
            },
            now: now
        )
    }

    /// Returns true if a query of a busy client may be repeated after an error.
    ///
    /// Then the caller must call ``endRepetition(of:)`` when the query ends.
    func beginRepetition(of client: ClientNetwork?) -> Bool {
        let count = repeated[client, default: 0]
        guard count < UpstreamLimits.repeatedOfBusyClient else { return false }
        repeated[client] = count + 1
        return true
    }

    func endRepetition(of client: ClientNetwork?) {
        let count = repeated[client, default: 1]
        repeated[client] = count > 1 ? count - 1 : nil
    }

    func wake(_ run: Run, at instant: Instant?) {
        // Works on a local array, which needs no run-time exclusivity checks.
        var pending: [Run] = []
        swap(&pending, &self.pending)
        defer { swap(&pending, &self.pending) }
        if let instant {
            if run.index == nil {
                run.index = pending.count
                pending.append(run)
            }
            alarm.bring(forward: instant)
        } else if let index = run.index {
            run.index = nil
            let last = pending.removeLast()
            if last !== run {
                pending[index] = last
                last.index = index
            }
        }
    }

    private func tick() {
        let now = health.clocks.now()
        for run in pending { run.tick(now) }
        // Queries that are due soon share a timer.
        let next = pending.lazy.compactMap(\.wake).min()
        alarm.set(next.map { max($0, now + UpstreamLimits.grain) })
    }

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
