// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
package import Net
package import Upstream

/// The whole way of a query that the cache has no answer for.
///
///     hosts -> special names -> [no AAAA] -> patience ║ merge -> keep -> route -> vendors -> upstreams
///
/// What stands before the line is done for one client, what stands behind it once for all who ask.
/// Whatever knows its answer says it at once; whatever has to wait calls back.  So a query that an
/// upstream answers takes no task, and this is the one place where its way is written down: `resolve`
/// before the line, `Inquiry` behind it.
@ServiceLoop
package final class Resolver {
    /// What was counted, by this resolver and by those before it.
    package let books: Bookkeeping

    /// The names behind the numbers in cache entries.
    package nonisolated var origins: Origins { books.origins }

    /// The vendor stage, for its numbers.
    package let vendors: VendorStage

    /// The upstream stage, for its numbers.
    package let upstreams: UpstreamStage

    /// The merging stage, for its numbers.
    package let merging: Merging

    /// What asks for answers anew before their time is over.
    package let refreshing: Refreshing

    /// The clients that wait for the snapshot of the cache.
    package let restoring: Restoring

    /// What finds out which addresses are fast; nil if nobody wants to know.
    private let probing: Probing?

    private let cache: AnswerCache
    private let overrides: Overrides
    private let storing: Storing
    private let clocks: Clocks
    /// The routes.
    package let routes: RouteTable
    private var comparison: RouteTable.Comparison?
    private let plan: Succession.Plan
    private let staticHosts: StaticHosts
    private let router: Router
    private let inquiry: Inquiry
    private let patience: Patience
    private let policy: TTLPolicy

    /// Puts the stages together.
    ///
    /// - Parameters:
    ///   - standard: the upstreams asked for all that no route sends elsewhere.
    ///   - answers: what is done to answers on their way to clients.
    ///   - probe: how to find out whether a server answers, where the order of addresses needs it.
    ///   - clocks: the kind of time in which deadlines are given and answers grow old.
    ///   - old: the one whose place it will take, if there is one: see `takeOver`.
    ///   - comparison: that of `routes` with those of `old`, if a thread has made it already.
    package init(
        routes: RouteTable,
        standard: UpstreamGroup?,
        policy: TTLPolicy,
        answers: AnswerPolicy = AnswerPolicy(),
        probe: @escaping Probing.Probe = { _, _ in false },
        freshness: Freshness = Freshness(),
        cache: AnswerCache,
        clocks: Clocks = .system,
        succeeding old: Resolver? = nil,
        comparison: RouteTable.Comparison? = nil
    ) {
        self.comparison = comparison
        self.cache = cache
        self.clocks = clocks
        self.routes = routes
        plan = Succession.Plan(routes: routes, standard: standard, answers: answers)
        let books = old?.books ?? Bookkeeping()
        self.books = books
        overrides = Overrides(suppressesAAAA: answers.suppressesAAAA)
        vendors = VendorStage(policy: policy, books: books, clocks: clocks)
        // As for a query of a client, but upstreams only: no reply of one may cost a vendor's call.
        upstreams = UpstreamStage(policy: policy, books: books, clocks: clocks) { target in
            let match = routes.route(for: target.name)
            guard SpecialNames.answer(target, match) == nil else { return nil }
            return match?.route.upstreams ?? standard
        }
        self.policy = policy
        router = Router(
            policy: policy,
            vendors: vendors,
            upstreams: Aligning(
                answers,
                policy,
                routes: routes,
                overrides: overrides,
                upstreams: upstreams,
                cache: cache,
                clocks: clocks
            ),
            denials: DenialFilter(cache: cache, clocks: clocks),
            standard: standard
        )
        patience = Patience(freshness.stale, cache: cache)
        restoring = Restoring(patience, clocks: clocks)
        storing = Storing(freshness, cache: cache, restoring: restoring, clocks: clocks)
        var ordering: Ordering?
        if case .fastest(let rules) = answers.order {
            let probing = old?.probing ?? Probing(probe, cache: cache, clocks: clocks)
            ordering = Ordering(rules, probing: probing, clocks: clocks)
            self.probing = probing
        } else {
            probing = nil
        }
        inquiry = Inquiry(router, overrides, storing, ordering)
        merging = Merging(
            inquiry,
            books: books,
            clocks: clocks
        )
        staticHosts = StaticHosts(overrides, origins: books.origins)
        refreshing = Refreshing(
            freshness.prefetch,
            routes: routes,
            overrides: overrides,
            merging: merging,
            books: books,
            cache: cache,
            clocks: clocks
        )
    }

    /// What `resolve` is to tell.
    package typealias Tell = @ServiceLoop (Resolution) -> Void

    /// Answers `query`, with SERVFAIL if need be, at `deadline` at the latest.
    ///
    /// - Parameters:
    ///   - client: the client that the query counts against; nil for the daemon itself.
    ///   - tell: called once, perhaps before this returns.
    package func resolve(
        _ query: Query,
        of client: ClientNetwork? = nil,
        deadline: ContinuousClock.Instant,
        _ tell: @escaping Tell
    ) {
        let match = routes.route(for: query.question.name)
        if let own = ownAnswer(query.question, match) { return tell(own.answer) }
        let now = clocks.now()
        guard let lastResort = patience.lastResort(query, match, now: now) else {
            guard restoring.isLoading else {
                return merging.ask(query, match, for: client, now: now, deadline: deadline) {
                    tell($0.resolution)
                }
            }
            let began = merging.began(query) ?? now
            let place = restoring.add(query, match, began: began, deadline: deadline, tell)
            return merging.ask(query, match, for: client, now: now, deadline: deadline) {
                [restoring] in
                restoring.resolved(place, $0.resolution)
            }
        }
        guard let patience = lastResort.patience else { return tell(lastResort.resolution) }
        // From when it was first asked for: while nobody answers, one wait is enough for all.
        let end = (merging.began(query) ?? now) + patience
        merging.ask(query, match, for: client, now: now, deadline: min(deadline, end)) {
            tell(lastResort.unless($0.resolution))
        }
    }

    /// Answers `query` past the cache and whoever asks the same, and tells `trace` how.
    package func resolve(
        _ query: Query,
        deadline: ContinuousClock.Instant,
        trace: Trace
    ) async -> Resolution {
        let match = routes.route(for: query.question.name)
        if let own = ownAnswer(query.question, match) { return own.answer }
        return await withCheckedContinuation { continuation in
            inquiry.begin(query, match, deadline: deadline, trace: trace) {
                continuation.resume(returning: $0.resolution)
            }
        }
    }

    /// The same for whoever waits in a task.
    package func resolve(_ query: Query, deadline: ContinuousClock.Instant) async -> Resolution {
        await withCheckedContinuation { continuation in
            resolve(query, deadline: deadline) { continuation.resume(returning: $0) }
        }
    }

    /// What is answered here, and so asked of nobody; and by which stage.
    private func ownAnswer(
        _ question: Question,
        _ match: RouteTable.Match?
    ) -> (stage: Decision.OwnStage, answer: Resolution)? {
        if let answer = staticHosts.answer(question, match) { return (.hosts, answer) }
        if let answer = SpecialNames.refusal(question) { return (.types, answer) }
        if let answer = SpecialNames.answer(question, match) { return (.specialNames, answer) }
        guard overrides.suppressesAAAA else { return nil }
        return Suppressing.answer(question, match, policy).map { (.suppressing, $0) }
    }

    /// The entry of the cache that a worker answers `query` from, so that `resolve` never sees it.
    package func hit(_ query: Query) -> CacheEntry? {
        cache.entry(answering: query.question, variant: query.variant, now: clocks.now())
    }

    /// What `resolve` would do with `query`, and a worker before it; nobody is asked, and nothing
    /// counts as demand.
    package func preview(_ query: Query) -> Decision {
        let now = clocks.now()
        var decision = Decision(query: query)
        decision.match = routes.route(for: query.question.name) { decision.passedOver.append($0) }
        decision.hit = hit(query)
        decision.own = ownAnswer(query.question, decision.match)
        decision.lastResort = patience.preview(query, decision.match, now: now)
        decision.isAsked = merging.isAsking(query)
        decision.course = router.preview(query, decision.match)
        return decision
    }

    /// The network is another one: answers were chosen for the old one, so they are stale now, and
    /// what could not be found out there may be known here.
    ///
    /// What is being asked goes on; vendors' clients send it again by themselves.
    ///
    /// - Returns: what marks the answers stale, to be taken to its end.
    package func networkChanged() -> CacheSweep {
        vendors.forget()
        storing.networkChanged()
        refreshing.networkChanged()
        probing?.networkChanged()
        return CacheSweep(markingAll: cache, now: clocks.now())
    }
}

// MARK: - What the settings answer

extension Resolver {
    /// The names that are written down.
    package var hosts: HostsTable { overrides.hosts }

    /// Has other names written down, and removes what the cache has of them: beside everything else,
    /// but as far as one step of a sweep goes at once.
    package func use(_ hosts: HostsTable) {
        overrides.hosts = hosts
        let overridden = overridden
        var sweep = CacheSweep(removingFrom: cache, now: clocks.now()) { name, type, _, _ in
            overridden(Question(name: name, type: type))
        }
        guard sweep.step(now: clocks.now()) else { return }
        ServiceLoop.task { [sweep, clocks] in
            await clocks.lull()
            _ = await sweep.finish(clocks)
        }
    }

    /// Tells, on any thread, what the settings answer as they are now: answers of an earlier life
    /// that must not get into the cache.
    package var overridden: @Sendable (Question) -> Bool {
        let (hosts, suppressesAAAA) = (overrides.hosts, overrides.suppressesAAAA)
        return { question in
            suppressesAAAA && question.type == .aaaa || hosts.covers(question)
                // That there is no such name is not true any more.
                || hosts.contains(question.name)
        }
    }
}

// MARK: - Taking over

extension Resolver {
    /// Takes the place of the resolver that it was made to succeed, in one turn of the loop.
    ///
    /// Whoever asked that one is answered by it, but of what it finds out only that is kept which is
    /// right here.
    ///
    /// - Parameters:
    ///   - hosts: the names that are written down.
    ///   - sameVendors: the vendors whose answers are what they were, by name.
    /// - Returns: what removes the answers that are not right any more, to be taken to its end before
    ///   anybody is told that these settings are in force; nil if all are right.
    package func takeOver(
        from old: Resolver,
        hosts: HostsTable,
        sameVendors: Set<String>
    ) -> CacheSweep? {
        // It holds the former vendors, whose secrets must leave the memory.
        defer { comparison = nil }
        overrides.hosts = hosts
        let succession = Succession(
            from: old.plan,
            to: plan,
            comparison: comparison,
            sameVendors: sameVendors,
            origins,
            overridden: overridden
        )
        old.storing.retire(for: storing, succession)
        refreshing.takeOver(from: old.refreshing)
        guard
            hosts != old.overrides.hosts
                || overrides.suppressesAAAA && !old.overrides.suppressesAAAA
                || !succession.isUneventful
        else { return nil }
        // What comes from now on is kept by these settings, or as far as it is right under them.
        return CacheSweep(removingFrom: cache, now: clocks.now()) { name, type, source, server in
            !succession.keeps(Question(name: name, type: type), source, server)
        }
    }
}
