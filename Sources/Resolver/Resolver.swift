// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
package import Net
package import Upstream

/// Resolver for queries that the cache cannot answer.
///
/// `Resolver.md` lists the stages in order.
@ServiceLoop
package final class Resolver {
    package let statistics: ResolverStatistics

    package nonisolated var origins: AnswerSourceRegistry { statistics.origins }

    package let vendors: VendorStage

    package let upstreams: UpstreamStage

    package let singleFlight: SingleFlight

    package let prefetcher: Prefetcher

    package let snapshotWaiters: SnapshotWaiters

    private let prober: AddressProber?

    let cache: AnswerCache
    private let localAnswers: LocalAnswers
    private let cacheWriter: CacheWriter
    let clocks: Clocks
    package nonisolated var routes: RouteTable { activeRoutes.table }
    let activeRoutes: ActiveRoutes
    private var comparison: RouteTable.Comparison?
    let plan: ReloadInvalidation.Plan
    private let staticHosts: StaticHosts
    private let dns64: DNS64
    let sharedResolution: SharedResolution
    private let serveStale: ServeStale
    private let policy: TTLPolicy

    /// - Parameter standard: the default upstreams, for names without a route and for routes
    ///   without upstreams.
    package init(
        routes: RouteTable,
        standard: UpstreamGroup?,
        policy: TTLPolicy,
        answers: AnswerPolicy = AnswerPolicy(),
        nat64: NAT64? = nil,
        network: LearnedNetwork? = nil,
        probe: @escaping AddressProber.Probe = { _, _ in false },
        freshness: Freshness = Freshness(),
        cache: AnswerCache,
        clocks: Clocks = .system,
        succeeding old: Resolver? = nil,
        comparison: RouteTable.Comparison? = nil
    ) {
        self.comparison = comparison
        self.cache = cache
        self.clocks = clocks
        let activeRoutes = ActiveRoutes(routes, network)
        self.activeRoutes = activeRoutes
        plan = ReloadInvalidation.Plan(routes: routes, standard: standard, answers: answers)
        let statistics = old?.statistics ?? ResolverStatistics()
        self.statistics = statistics
        localAnswers = LocalAnswers(suppressed: answers.suppressed)
        let prefixes: NAT64Prefixes = {
            [answers.nat64, nat64?.prefix].compactMap(\.self)
        }
        vendors = VendorStage(
            policy: policy,
            statistics: statistics,
            clocks: clocks,
            prefixes: prefixes
        )
        // For CNAME targets, only upstreams are queried, because an upstream's reply must never
        // cause a billed call. Learned servers are not queried for names of a route with
        // `fallback: none`.
        let chosen = standard.flatMap { $0.withoutLearned() }
        upstreams = UpstreamStage(policy: policy, statistics: statistics, clocks: clocks) {
            target in
            let match = activeRoutes.route(for: target.name)
            guard SpecialNames.answer(target, match) == nil else { return .none }
            guard let route = match?.route else { return .group(standard) }
            return .group(route.upstreams ?? (route.fallsBack ? standard : chosen))
        }
        self.policy = policy
        serveStale = ServeStale(freshness.stale, cache: cache)
        snapshotWaiters = SnapshotWaiters(serveStale, clocks: clocks)
        cacheWriter = CacheWriter(
            freshness,
            cache: cache,
            routes: activeRoutes,
            snapshotWaiters: snapshotWaiters,
            clocks: clocks
        )
        var addressOrdering: AddressOrdering?
        if case .fastest(let rules) = answers.order {
            let prober = old?.prober ?? AddressProber(probe, cache: cache, clocks: clocks)
            addressOrdering = AddressOrdering(rules, prober: prober, clocks: clocks)
            self.prober = prober
        } else {
            prober = nil
        }
        dns64 = DNS64(answers.synthesis, nat64, origins: statistics.origins, clocks: clocks)
        let sharedResolution = SharedResolution(
            policy,
            vendors: vendors,
            upstreams: upstreams,
            ServiceBindingFilter(
                answers,
                policy,
                routes: activeRoutes,
                localAnswers: localAnswers,
                cache: cache,
                clocks: clocks,
                prefixes: prefixes
            ),
            DenialFilter(
                cache: cache,
                clocks: clocks,
                unconfirmedLifetime: policy.negative.lowerBound
            ),
            standard: standard,
            chosen: chosen,
            dns64,
            localAnswers,
            cacheWriter,
            addressOrdering
        )
        self.sharedResolution = sharedResolution
        singleFlight = SingleFlight(statistics, clocks, hash: cache.hash) {
            sharedResolution.begin($0)
        }
        staticHosts = StaticHosts(localAnswers, origins: statistics.origins)
        prefetcher = Prefetcher(
            freshness.prefetch,
            routes: activeRoutes,
            localAnswers: localAnswers,
            singleFlight: singleFlight,
            statistics: statistics,
            cache: cache,
            clocks: clocks
        )
        dns64.resolver = self
    }

    /// Answers `query` by `deadline`, with SERVFAIL if no source has answered by then.
    ///
    /// - Parameter hash: the cache's hash of the question; nil if unknown.
    /// - Parameter mayBeCached: false if the cache has no entry with this hash, not even a stale
    ///   entry.
    /// - Parameter client: the client with its limits; nil for a query of the daemon itself.
    package func resolve(
        _ query: Query,
        hash: UInt64? = nil,
        mayBeCached: Bool = true,
        of client: ClientNetwork? = nil,
        deadline: Instant,
        _ completion: consuming Completion<Resolution>
    ) {
        let match = activeRoutes.route(for: query.question.name)
        if let own = ownAnswer(query.question, match) { return completion(own.answer) }
        let now = clocks.now()
        if let answer = bypassed(query, match, now: now) { return completion(answer) }
        if mayBeCached,
            let lastResort = serveStale.lastResort(query, hash: hash, match, now: now)
        {
            guard let delay = lastResort.delay else { return completion(lastResort.resolution) }
            let end = min(deadline, (singleFlight.began(query) ?? now) + delay)
            let fallback = completion.after { (found: Resolution, completion) in
                completion(lastResort.unless(found))
            }
            ask(query, hash, match, of: client, now: now, deadline: end, fallback)
        } else if snapshotWaiters.isLoading {
            let added = snapshotWaiters.add(
                query,
                match,
                of: client,
                now: now,
                firstBegan: singleFlight.began(query) ?? now,
                deadline: deadline,
                completion
            )
            guard let waiting = added else {
                statistics.evicted += 1
                return
            }
            let resolved = Completion<Resolution> { [snapshotWaiters] in
                snapshotWaiters.resolved(waiting, $0)
            }
            ask(query, hash, match, of: client, now: now, deadline: deadline, resolved)
        } else {
            ask(query, hash, match, of: client, now: now, deadline: deadline, completion)
        }
    }

    private func ask(
        _ query: Query,
        _ hash: UInt64?,
        _ match: RouteTable.Match?,
        of client: ClientNetwork?,
        now: Instant,
        deadline: Instant,
        _ completion: consuming Completion<Resolution>
    ) {
        let joined = singleFlight.ask(
            query,
            hash: hash,
            match,
            for: client,
            now: now,
            deadline: deadline,
            completion
        )
        if joined, let client { sharedResolution.join(query, match, of: client) }
    }

    /// Answers `query` without using cache or deduplication, and records each step in `trace`.
    package func resolve(
        _ query: Query,
        deadline: Instant,
        trace: Trace
    ) async -> Resolution {
        let match = activeRoutes.route(for: query.question.name)
        if let own = ownAnswer(query.question, match) { return own.answer }
        return await withCheckedContinuation { continuation in
            let pending = PendingQuery(
                query,
                match,
                now: clocks.now(),
                deadline: deadline,
                trace: trace,
                Completion { continuation.resume(returning: $0.1.resolution) }
            )
            sharedResolution.begin(pending)
        }
    }

    package func resolve(_ query: Query, deadline: Instant) async -> Resolution {
        await withCheckedContinuation { continuation in
            resolve(query, deadline: deadline, Completion { continuation.resume(returning: $0) })
        }
    }

    private func ownAnswer(
        _ question: Question,
        _ match: RouteTable.Match?
    ) -> (stage: Decision.OwnStage, answer: Resolution)? {
        if let answer = staticHosts.answer(question, match) { return (.hosts, answer) }
        if let answer = SpecialNames.refusal(question) { return (.types, answer) }
        if let answer = dns64.ownAnswer(question, match) { return (.nat64, answer) }
        if !dns64.translates(question), let answer = SpecialNames.answer(question, match) {
            return (.specialNames, answer)
        }
        guard localAnswers.suppressed.contains(question.type) else { return nil }
        return (.suppressing, FamilySuppression.answer(question, match, policy))
    }

    /// Returns the cached answer if the name keeps its route in captive portal mode.
    ///
    /// In this mode, workers bypass the cache. Without this function, each query for a name of a
    /// route with `fallback: none` would cause a billed call.
    private func bypassed(
        _ query: Query,
        _ match: RouteTable.Match?,
        now: Instant
    ) -> Resolution? {
        guard let portal = activeRoutes.portal, match !== portal else { return nil }
        return cache.bypassedAnswer(for: query.question, variant: query.variant, now: now)
            .map { Resolution($0) }
    }

    /// Returns the cache entry with which a worker would answer `query`; nil for a miss.
    package func hit(_ query: Query) -> CacheEntry? {
        hit(query, activeRoutes.route(for: query.question.name))
    }

    private func hit(_ query: Query, _ match: RouteTable.Match?) -> CacheEntry? {
        if let portal = activeRoutes.portal, match === portal { return nil }
        return cache.entry(answering: query.question, variant: query.variant, now: clocks.now())
    }

    /// Returns the steps that a worker and `resolve` would take for `query`; sends nothing.
    package func preview(_ query: Query) -> Decision {
        let now = clocks.now()
        var decision = Decision(query: query)
        decision.match = activeRoutes.route(for: query.question.name) {
            decision.passedOver.append($0)
        }
        decision.hit = hit(query, decision.match)
        decision.own = ownAnswer(query.question, decision.match)
        decision.lastResort = serveStale.preview(query, decision.match, now: now)
        decision.isAsked = singleFlight.isAsking(query)
        decision.plan = sharedResolution.preview(query, decision.match)
        if query.question.type == .aaaa, !query.dnssecOK {
            decision.prefix = dns64.prefix(for: query, decision.match)
        }
        return decision
    }

    /// Discards failures and measurements from the time before a change of the network.
    package func networkChanged() {
        vendors.forget()
        cacheWriter.networkChanged()
        prefetcher.networkChanged()
        prober?.networkChanged()
    }
}

// MARK: - Local answers

extension Resolver {
    package var hosts: HostsTable { localAnswers.hosts }

    /// Replaces the static hosts; a sweep removes the cached answers that contradict the new hosts.
    ///
    /// The first step of the sweep runs before this function returns, the other steps in a task.
    package func use(_ hosts: HostsTable) {
        localAnswers.hosts = hosts
        let overridden = overridden
        var sweep = CacheSweep(removingFrom: cache, now: clocks.now()) { name, type, _, _ in
            overridden(Question(name: name, type: type))
        }
        guard sweep.step(now: clocks.now()) else { return }
        ServiceLoop.task { [sweep, clocks] in
            await clocks.pause()
            _ = await sweep.finish(clocks)
        }
    }

    /// Returns a thread-safe predicate that is true for questions with a local answer.
    package var overridden: @Sendable (Question) -> Bool {
        let (hosts, suppressed) = (localAnswers.hosts, localAnswers.suppressed)
        return { question in
            suppressed.contains(question.type) || hosts.covers(question)
                // The name exists, so a cached NXDOMAIN for any type is wrong.
                || hosts.contains(question.name)
        }
    }
}

// MARK: - Reload

extension Resolver {
    /// Replaces the resolver `old` within one iteration of the service loop.
    ///
    /// Queries in flight in `old` continue; their answers are cached if they are valid under the
    /// new settings.
    ///
    /// - Parameter sameVendors: names of the vendors that give the same answers as before.
    /// - Returns: the sweep that removes invalid answers; nil if all answers are valid. The caller
    ///   runs the sweep to its end, and only then reports the new settings as active.
    package func takeOver(
        from old: Resolver,
        hosts: HostsTable,
        sameVendors: Set<String>
    ) -> CacheSweep? {
        // `comparison` refers to the old vendor clients; their secrets must not stay in memory.
        defer { comparison = nil }
        let (succession, sweep) = invalidation(after: old, hosts, sameVendors)
        old.cacheWriter.retire(for: cacheWriter, succession)
        prefetcher.takeOver(from: old.prefetcher)
        return sweep
    }

    /// Returns a sweep that only counts the answers that a reload would remove; nil for none.
    package func trialSweep(
        after old: Resolver,
        hosts: HostsTable,
        sameVendors: Set<String>
    ) -> CacheSweep? { invalidation(after: old, hosts, sameVendors, isTrial: true).sweep }

    private func invalidation(
        after old: Resolver,
        _ hosts: HostsTable,
        _ sameVendors: Set<String>,
        isTrial: Bool = false
    ) -> (ReloadInvalidation, sweep: CacheSweep?) {
        localAnswers.hosts = hosts
        let succession = ReloadInvalidation(
            from: old.plan,
            to: plan,
            comparison: comparison,
            sameVendors: sameVendors,
            origins,
            overridden: overridden
        )
        guard
            hosts != old.localAnswers.hosts
                || !localAnswers.suppressed.isSubset(of: old.localAnswers.suppressed)
                || !succession.isUneventful
        else { return (succession, nil) }
        let sweep = CacheSweep(removingFrom: cache, now: clocks.now(), isTrial: isTrial) {
            !succession.keeps(Question(name: $0, type: $1), $2, $3)
        }
        return (succession, sweep)
    }
}
