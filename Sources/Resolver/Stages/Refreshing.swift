// SPDX-License-Identifier: Apache-2.0
package import DNSCache
internal import DNSWire
internal import HTTPDNS
package import Net

/// Asks for answers anew before their time is over, so that no client waits for them.
///
/// It is no stage: nobody waits for it.  It asks what a client would make the merging stage ask, so
/// that client and refresh never ask the same twice.  What it may cost is bounded: each answer is
/// refreshed once, only if it is in demand; vendors are asked within a budget, and not at all while
/// none of those concerned takes questions.
@ServiceLoop
package final class Refreshing {
    private let rule: Freshness.Prefetch?
    private let routes: RouteTable
    private let overrides: Overrides
    private let merging: Merging
    private let books: Bookkeeping
    private let cache: AnswerCache
    private let clocks: Clocks

    /// Look-ups by vendors in the last minute.
    private var window: CallWindow

    /// What is being refreshed.
    private var underWay: Set<Subject> = []

    /// The names that are always kept, each with the time when it is to be looked at again; none
    /// while that is under way.
    private var due: [Name: ContinuousClock.Instant] = [:]
    private var isKeeping = false

    /// How often in a row each of them could not be refreshed.
    private var failures: [Name: Int] = [:]
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.keepNames() }

    /// What was done.
    package var numbers: RefreshNumbers { books.refreshes }

    /// Makes one that refreshes what it is told to; `start` makes it keep the names of the rule.
    init(
        _ rule: Freshness.Prefetch?,
        routes: RouteTable,
        overrides: Overrides,
        merging: Merging,
        books: Bookkeeping,
        cache: AnswerCache,
        clocks: Clocks
    ) {
        self.rule = rule
        self.routes = routes
        self.overrides = overrides
        self.merging = merging
        self.books = books
        self.cache = cache
        self.clocks = clocks
        window = CallWindow(limit: rule?.budgetPerMinute ?? 0)
    }

    // MARK: - In demand

    /// Refreshes what a client was just answered from the cache, because a hit asked for it.
    package func refresh(_ query: Query) {
        guard rule != nil else { return }
        ServiceLoop.task { [self] in _ = await attempt(query) }
    }

    /// Refreshes what was asked for most in an earlier life and is stale by now, most first: no more
    /// than a minute's budget, as the rest is refreshed when somebody asks for it again.
    package func refresh(hottest entries: [HotEntry]) {
        guard let rule else { return }
        for entry in entries.lazy.filter({ !$0.isFresh }).prefix(rule.budgetPerMinute) {
            refresh(Query(question: entry.question))
        }
    }

    // MARK: - Always kept

    /// Begins to keep the names of the rule.
    package func start() {
        isKeeping = true
        lookAtNames(clocks.now())
    }

    /// Keeps no more names.
    package func stop() {
        isKeeping = false
        due = [:]
        alarm.set(nil)
    }

    /// Goes on where `old` stops: a reload allows no more look-ups a minute than there were.
    func takeOver(from old: Refreshing) {
        window.takeOver(from: old.window)
        failures = old.failures
        guard old.isKeeping else { return }
        old.stop()
        start()
    }

    /// The network is another one: names are asked for there, as soon as it has settled.
    func networkChanged() {
        failures = [:]
        lookAtNames(clocks.now() + .seconds(1))
    }

    /// Wants to look at all names at `instant`; at those only that are answered elsewhere.
    private func lookAtNames(_ instant: ContinuousClock.Instant) {
        guard isKeeping, let rule else { return }
        for name in rule.names {
            let isClaimed = routes.route(for: name)?.claimsSpecialNames ?? false
            if isClaimed || SpecialNames.answer(Question(name: name, type: .a)) == nil {
                due[name] = instant
            }
        }
        if !due.isEmpty { alarm.set(instant) }
    }

    /// Looks at the names that are due.
    private func keepNames() {
        let now = clocks.now()
        for (name, instant) in due where instant <= now {
            due[name] = nil
            ServiceLoop.task { [self] in await keep(name) }
        }
        alarm.set(due.values.min())
    }

    /// Refreshes a name's addresses as far as that is due, one family after the other: the first
    /// one's call may bring both.
    private func keep(_ name: Name) async {
        let shortest = Duration.seconds(ResolverLimits.shortestRefresh)
        var next = clocks.now() + ResolverLimits.longestRetry
        var hasFailed = false
        for type in [RecordType.a, .aaaa] {
            let query = Query(question: Question(name: name, type: type))
            // What the settings answer, and that may change, is asked of nobody.
            guard !overrides.cover(query.question) else { continue }
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

    /// When the cached answer is to be refreshed; nil if that is now, or there is none.
    private func refreshTime(_ query: Query) -> ContinuousClock.Instant? {
        let now = clocks.now()
        guard let rule,
            let fresh = cache.freshAnswer(for: query.question, variant: query.variant, now: now)
        else { return nil }
        let lifetime = fresh.age + fresh.answer.lifetime
        let due = rule.due(lifetime)
        let time = now + .seconds(Int64(due == 0 ? lifetime : due) - Int64(fresh.age))
        return time > now ? time : nil
    }

    // MARK: - Asking

    /// What is refreshed at once: a question, or a name whose families one call brings both.
    private struct Subject: Hashable {
        let name: Name
        let type: RecordType?
    }

    /// What became of a refresh.
    private enum Outcome {
        case done, failed

        /// It was not begun: it is under way, no vendor would be asked, or it would be one too many.
        case refrained
    }

    /// Refreshes an answer, if nothing speaks against it.
    private func attempt(_ query: Query) async -> Outcome {
        let match = routes.route(for: query.question.name)
        let vendors = match.flatMap { $0.asksVendors(query) ? $0.route.vendors : nil } ?? []
        let isPaired = vendors.first?.facts.pairsFamilies ?? false
        let subject = Subject(
            name: query.question.name,
            type: isPaired ? nil : query.question.type
        )
        guard !merging.isAsking(query), !underWay.contains(subject) else { return .refrained }
        if !vendors.isEmpty {
            guard vendors.contains(where: { $0.statistics.state == .open }) else {
                books.refreshes.held += 1
                return .refrained
            }
            guard window.take(clocks.now()) else {
                books.refreshes.overBudget += 1
                return .refrained
            }
        }
        underWay.insert(subject)
        books.refreshes.started += 1
        let now = clocks.now()
        let finding = await withCheckedContinuation { continuation in
            let deadline = now + ResolverLimits.total
            merging.ask(query, match, for: nil, now: now, deadline: deadline) {
                continuation.resume(returning: $0)
            }
        }
        underWay.remove(subject)
        guard !finding.resolution.isFailure else {
            books.refreshes.failed += 1
            return .failed
        }
        books.refreshes.done += 1
        return .done
    }
}

/// Counts of what was refreshed before its time was over.
package struct RefreshNumbers: Sendable, Equatable {
    /// Refreshes begun; each ends as one of `done` and `failed`, or is under way.
    package var started: UInt64 = 0

    /// Those that brought an answer.
    package var done: UInt64 = 0

    /// Those that brought none; the old answer stays as it is.
    package var failed: UInt64 = 0

    /// Those not begun because there were too many in the last minute.
    package var overBudget: UInt64 = 0

    /// Those not begun because no vendor would have been asked.
    package var held: UInt64 = 0
}
