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
    /// The names behind the numbers in cache entries.
    package let origins = Origins()

    /// The vendor stage, for its numbers.
    package let vendors: VendorStage

    /// The upstream stage, for its numbers.
    package let upstreams: UpstreamStage

    /// The merging stage, for its numbers.
    package let merging: Merging

    /// What asks for answers anew before their time is over.
    package let refreshing: Refreshing

    /// What finds out which addresses are fast; nil if nobody wants to know.
    private let probing: Probing?

    private let cache: AnswerCache
    private let overrides: Overrides
    private let storing: Storing
    private let clocks: Clocks
    private let routes: RouteTable
    private let staticHosts: StaticHosts
    private let patience: Patience
    private let policy: TTLPolicy

    /// Puts the stages together.
    ///
    /// - Parameters:
    ///   - standard: the upstreams asked for all that no route sends elsewhere.
    ///   - answers: what is done to answers on their way to clients.
    ///   - probe: how to find out whether a server answers, where the order of addresses needs it.
    ///   - clocks: the kind of time in which deadlines are given and answers grow old.
    package init(
        routes: RouteTable,
        standard: UpstreamGroup?,
        policy: TTLPolicy,
        answers: AnswerPolicy = AnswerPolicy(),
        probe: @escaping Probing.Probe = { _, _ in false },
        freshness: Freshness = Freshness(),
        cache: AnswerCache,
        clocks: Clocks = .system
    ) {
        self.cache = cache
        self.clocks = clocks
        self.routes = routes
        overrides = Overrides(suppressesAAAA: answers.suppressesAAAA)
        vendors = VendorStage(policy: policy, origins: origins, clocks: clocks)
        upstreams = UpstreamStage(policy: policy, origins: origins, clocks: clocks)
        self.policy = policy
        let router = Router(
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
            standard: standard
        )
        storing = Storing(freshness, cache: cache, clocks: clocks)
        var ordering: Ordering?
        if case .fastest(let rules) = answers.order {
            let probing = Probing(probe, cache: cache, clocks: clocks)
            ordering = Ordering(rules, probing: probing, clocks: clocks)
            self.probing = probing
        } else {
            probing = nil
        }
        merging = Merging(Inquiry(router, overrides, storing, ordering), clocks: clocks)
        staticHosts = StaticHosts(overrides, origins: origins)
        patience = Patience(freshness.stale, cache: cache)
        refreshing = Refreshing(
            freshness.prefetch,
            routes: routes,
            overrides: overrides,
            merging: merging,
            cache: cache,
            clocks: clocks
        )
    }

    /// What `resolve` is to tell.
    package typealias Tell = @ServiceLoop (Resolution) -> Void

    /// Answers `query`, with SERVFAIL if need be, at `deadline` at the latest.
    ///
    /// - Parameter tell: called once, perhaps before this returns.
    package func resolve(
        _ query: Query,
        deadline: ContinuousClock.Instant,
        _ tell: @escaping Tell
    ) {
        let match = routes.route(for: query.question.name)
        if let answer = ownAnswer(query.question, match) { return tell(answer) }
        let now = clocks.now()
        guard let lastResort = patience.lastResort(query, match, now: now) else {
            return merging.ask(query, match, now: now, deadline: deadline) { tell($0.resolution) }
        }
        guard let patience = lastResort.patience else { return tell(lastResort.resolution) }
        merging.ask(query, match, now: now, deadline: min(deadline, patience)) {
            tell(lastResort.unless($0.resolution))
        }
    }

    /// The same for whoever waits in a task.
    package func resolve(_ query: Query, deadline: ContinuousClock.Instant) async -> Resolution {
        await withCheckedContinuation { continuation in
            resolve(query, deadline: deadline) { continuation.resume(returning: $0) }
        }
    }

    /// What is answered here, and so asked of nobody.
    private func ownAnswer(_ question: Question, _ match: RouteTable.Match?) -> Resolution? {
        staticHosts.answer(question, match)
            ?? SpecialNames.refusal(question)
            ?? SpecialNames.answer(question, match)
            ?? (overrides.suppressesAAAA ? Suppressing.answer(question, match, policy) : nil)
    }

    /// The network is another one: answers were chosen for the old one, so they are stale now, and
    /// what could not be found out there may be known here.
    ///
    /// What is being asked goes on; vendors' clients send it again by themselves.
    ///
    /// - Returns: how many answers are stale now.
    package func networkChanged() -> Int {
        vendors.forget()
        storing.networkChanged()
        refreshing.networkChanged()
        probing?.networkChanged()
        return cache.markStale(.all, now: clocks.now())
    }
}

// MARK: - What the settings answer

extension Resolver {
    /// The names that are written down; what the cache has of new ones is removed.
    package var hosts: HostsTable {
        get { overrides.hosts }
        set {
            overrides.hosts = newValue
            removeOverridden()
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

    /// Removes from the cache what the settings answer otherwise, and tells how much that was.
    @discardableResult
    package func removeOverridden() -> Int {
        let overridden = overridden
        return cache.remove { overridden(Question(name: $0, type: $1)) }
    }
}
