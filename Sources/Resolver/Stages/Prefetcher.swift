// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
internal import HTTPDNS
package import Net

/// Stage that refreshes cached answers before they expire.
///
/// Refreshes that may call vendors are limited per minute, and do not start while no vendor of the
/// name accepts calls.
@ServiceLoop
package final class Prefetcher {
    private let rule: Freshness.Prefetch?
    private let routes: ActiveRoutes
    private let localAnswers: LocalAnswers
    private let singleFlight: SingleFlight
    private let statistics: ResolverStatistics
    private let cache: AnswerCache
    private let clocks: Clocks

    private var window: CallWindow

    private var underWay: Set<Subject> = []

    private var hottest: [Question] = []
    private var hottestAt: Instant?
    private var hottestTimer: (any Cancellable)?

    /// Time of the next check of each name in `prefetch.names`; none while the check runs.
    private var due: [Name: Instant] = [:]
    private var isKeeping = false

    private var failures: [Name: Int] = [:]
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.keepNames() }

    init(
        _ rule: Freshness.Prefetch?,
        routes: ActiveRoutes,
        localAnswers: LocalAnswers,
        singleFlight: SingleFlight,
        statistics: ResolverStatistics,
        cache: AnswerCache,
        clocks: Clocks
    ) {
        self.rule = rule
        self.routes = routes
        self.localAnswers = localAnswers
        self.singleFlight = singleFlight
        self.statistics = statistics
        self.cache = cache
        self.clocks = clocks
        window = CallWindow(limit: rule?.budgetPerMinute ?? 0)
    }

    // MARK: - In demand

    /// Refreshes the cached answer to `query`.
    ///
    /// - Parameter client: client that got the cached answer; the limits of this client apply to
    ///   the refresh. Nil if no client caused the refresh.
    package func refresh(_ query: Query, for client: ClientNetwork?) {
        guard rule != nil, isPrefetched(query.question.name) else { return }
        ServiceLoop.task { [self] in _ = await attempt(query, for: client) }
    }

    /// Refreshes the most used stale entries of a snapshot, within the limit per minute.
    ///
    /// Waits for ``ResolverLimits/refreshAfterStart``, so that a daemon that crashes repeatedly
    /// does not repeat billed calls at each start.
    package func refresh(hottest entries: [HotEntry]) {
        let stale = entries.lazy.filter { !$0.isFresh }.map(\.question)
        refresh(Array(stale), at: clocks.now() + ResolverLimits.refreshAfterStart)
    }

    private func refresh(_ questions: [Question], at instant: Instant) {
        guard let rule, !questions.isEmpty else { return }
        (hottest, hottestAt) = (questions, instant)
        hottestTimer = clocks.timer(instant) { [weak self] in
            guard let self else { return }
            let due = hottest.lazy.map { Query(question: $0) }
                .filter { [self] in isPrefetched($0.question.name) && refreshTime($0) == nil }
            for query in due.prefix(rule.budgetPerMinute) { refresh(query, for: nil) }
            hottest = []
        }
    }

    private func isPrefetched(_ name: Name) -> Bool {
        routes.route(for: name)?.route.options.isPrefetched ?? true
    }

    // MARK: - Configured names

    package func start() {
        isKeeping = true
        lookAtNames(clocks.now())
    }

    package func stop() {
        isKeeping = false
        due = [:]
        alarm.set(nil)
    }

    func takeOver(from old: Prefetcher) {
        window.takeOver(from: old.window)
        failures = old.failures
        if let instant = old.hottestAt { refresh(old.hottest, at: instant) }
        old.hottestTimer?.cancel()
        guard old.isKeeping else { return }
        old.stop()
        start()
    }

    /// Checks all names in `prefetch.names` after 1 s, because the new network may not be usable
    /// yet.
    func networkChanged() {
        failures = [:]
        lookAtNames(clocks.now() + .seconds(1))
    }

    private func lookAtNames(_ instant: Instant) {
        guard isKeeping, let rule else { return }
        for name in rule.names where isPrefetched(name) {
            let isClaimed = routes.route(for: name)?.claimsSpecialNames ?? false
            if isClaimed || SpecialNames.answer(Question(name: name, type: .a)) == nil {
                due[name] = instant
            }
        }
        if !due.isEmpty { alarm.set(instant) }
    }

    private func keepNames() {
        let now = clocks.now()
        for (name, instant) in due where instant <= now {
            due[name] = nil
            ServiceLoop.task { [self] in await keep(name) }
        }
        alarm.set(due.values.min())
    }

    /// Checks the cached addresses of `name`, and refreshes them if necessary.
    ///
    /// A is checked before AAAA, because a vendor call for A may return both families.
    private func keep(_ name: Name) async {
        let shortest = Duration.seconds(ResolverLimits.shortestRefresh)
        var next = clocks.now() + ResolverLimits.longestRetry
        var hasFailed = false
        for type in [RecordType.a, .aaaa] {
            let query = Query(question: Question(name: name, type: type))
            // The static hosts can change, so the daemon checks the name again later.
            guard !localAnswers.cover(query.question), isWanted(query) else { continue }
            if refreshTime(query) == nil, await attempt(query) == .failed { hasFailed = true }
            next = min(next, refreshTime(query) ?? clocks.now() + shortest)
        }
        if hasFailed {
            let count = min(failures[name, default: 0], 8)
            failures[name] = count + 1
            next = clocks.now() + min(shortest * (1 << count), ResolverLimits.longestRetry)
        } else {
            failures[name] = nil
        }
        guard isKeeping else { return }
        due[name] = max(next, clocks.now() + shortest)
        alarm.bring(forward: due[name] ?? next)
    }

    /// False for AAAA if no client queries AAAA of the name, and the vendor bills each family.
    private func isWanted(_ query: Query) -> Bool {
        guard query.question.type == .aaaa,
            let route = routes.route(for: query.question.name)?.route,
            let vendor = route.vendors.first
        else { return true }
        return vendor.isWorthRefreshing(query.question.name, .v6, route.options.families)
    }

    private func refreshTime(_ query: Query) -> Instant? {
        let now = clocks.now()
        guard let rule,
            let fresh = cache.freshAnswer(for: query.question, variant: query.variant, now: now)
        else { return nil }
        let lifetime = fresh.age + fresh.answer.lifetime
        let due = rule.due(lifetime)
        let time = now + .seconds(Int64(due == 0 ? lifetime : due) - Int64(fresh.age))
        return time > now ? time : nil
    }

    // MARK: - Queries

    /// Key of a refresh in flight; `type` is nil if one vendor call returns both families.
    private struct Subject: Hashable {
        let name: Name
        let type: RecordType?
    }

    private enum Outcome {
        case done, failed

        /// The refresh was not started: an equal query is in flight, no vendor accepts calls, or
        /// the limit per minute is reached.
        case refrained
    }

    private func attempt(_ query: Query, for client: ClientNetwork? = nil) async -> Outcome {
        let match = routes.route(for: query.question.name)
        let vendors = match.flatMap { $0.asksVendors(query) ? $0.route.vendors : nil } ?? []
        let isPaired =
            vendors.first.map { $0.facts.pairsFamilies && $0.price.pairsForFree } ?? false
        let subject = Subject(
            name: query.question.name,
            type: isPaired ? nil : query.question.type
        )
        guard !singleFlight.isAsking(query), !underWay.contains(subject) else { return .refrained }
        if !vendors.isEmpty {
            guard vendors.contains(where: { $0.statistics.state == .open }) else {
                statistics.refreshes.held += 1
                return .refrained
            }
            guard window.take(clocks.now()) else {
                statistics.refreshes.overBudget += 1
                return .refrained
            }
        }
        underWay.insert(subject)
        statistics.refreshes.started += 1
        let now = clocks.now()
        let answer = await withCheckedContinuation { continuation in
            let deadline = now + ResolverLimits.total
            singleFlight.ask(
                query,
                match,
                for: client,
                isAwaited: false,
                now: now,
                deadline: deadline,
                Completion { continuation.resume(returning: $0) }
            )
        }
        underWay.remove(subject)
        guard !answer.isFailure else {
            statistics.refreshes.failed += 1
            return .failed
        }
        statistics.refreshes.done += 1
        return .done
    }
}

package struct RefreshNumbers: Sendable, Equatable {
    package var started: UInt64 = 0

    package var done: UInt64 = 0

    package var failed: UInt64 = 0

    package var overBudget: UInt64 = 0

    /// Refreshes that did not start, because no vendor accepted calls.
    package var held: UInt64 = 0
}
