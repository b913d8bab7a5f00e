// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
package import Net

/// Query deduplication: clients with equal queries wait for one result.
///
/// The table of pending queries, their waiting clients and all deadlines.  A query is resolved once
/// for all clients, and continues when clients stop waiting, unless it is evicted (``FairTable``).  A
/// query that has not ended after `limit` is cancelled, so that a fault of a lower layer cannot
/// occupy an entry permanently.
///
/// A query counts against the limits of the client that started it.  When the query is evicted, the
/// waiting clients of the same network fail.  If other clients also wait, resolving continues and
/// counts against the first of them.
///
/// Deduplication also prevents a forger from multiplying the outstanding queries for one name (RFC
/// 5452 §5).
@ServiceLoop
package final class SingleFlight {
    typealias Waiter = PendingQuery.Waiter

    /// Reason for which clients stop waiting.
    private enum Ending {
        case answered(Resolution)
        case late
        case evicted
    }

    private let begin: @ServiceLoop (PendingQuery) -> Void
    private let statistics: ResolverStatistics
    private let clocks: Clocks
    private let limit: Duration

    private var pending: [PendingQuery.Key: PendingQuery] = [:]
    private var places: FairTable<PendingQuery>
    private var seats: FairTable<Waiter>

    /// Number of evicted entries.
    private var evictions: UInt64 = 0

    /// Clients with a known answer that later turns of the service loop complete.
    ///
    /// A task is queued if and only if a list is in it.
    private var unfinished: [(waiters: ArraySlice<Waiter>, ending: Ending)] = []

    /// Timer for the next deadline of a client, or for the time limit of a query.
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.expire() }

    /// Number of queries answered by work that another query had started.
    package var merged: UInt64 { statistics.merged }

    /// Number of these queries by origin, as numbered in `AnswerSourceRegistry`.
    package var mergedByOrigin: [UInt16: UInt64] { statistics.mergedByOrigin }

    /// Number of queries answered by upstreams before the vendors (`fallback-after`).
    package var earlyFallbacks: UInt64 { statistics.earlyFallbacks }

    /// Client queries answered with an answer that another machine has shared.
    package var shared: UInt64 { statistics.shared }

    /// Number of queries answered with SERVFAIL because they were evicted or refused.
    package var evicted: UInt64 { statistics.evicted }

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - work: bounds of the pending queries.
    ///   - waiting: bounds of the waiting clients.
    ///   - limit: time after which a query is cancelled: longer than `ResolverLimits.work`, so that
    ///     resolving can report the reason of its failure.
    ///   - begin: resolves a query; see ``SharedResolution``.
    init(
        _ statistics: ResolverStatistics,
        _ clocks: Clocks,
        work: FairLimits = ResolverLimits.inFlight,
        waiting: FairLimits = ResolverLimits.waiting,
        limit: Duration = ResolverLimits.total,
        _ begin: @escaping @ServiceLoop (PendingQuery) -> Void
    ) {
        self.statistics = statistics
        self.clocks = clocks
        self.limit = limit
        self.begin = begin
        places = FairTable(work)
        seats = FairTable(waiting)
    }

    var count: Int { pending.count }

    /// Returns the start time of the pending `query`; nil if it is not pending.
    func began(_ query: Query) -> Instant? { pending[PendingQuery.Key(query)]?.began }

    func isAsking(_ query: Query) -> Bool { began(query) != nil }

    /// Joins the pending `query`, or starts to resolve it, even if the client's deadline has passed.
    ///
    /// The client gets SERVFAIL at `deadline` at the latest.
    ///
    /// - Parameters:
    ///   - client: the client that waits; nil for the daemon itself.
    ///   - payer: the client to which vendor calls are charged; nil for `client`.
    /// - Returns: true if the client joined a query of another one.
    @discardableResult
    func ask(
        _ query: Query,
        _ match: RouteTable.Match?,
        for client: ClientNetwork?,
        payer: ClientNetwork? = nil,
        now: Instant,
        deadline: Instant,
        _ completion: consuming Completion<Resolution>
    ) -> Bool {
        let waits = deadline > now
        let before = evictions
        let key = PendingQuery.Key(query)
        var joined = pending[key]
        guard joined != nil || makePlace(for: client, now), !waits || makeSeat(for: client, now)
        else {
            statistics.evicted += 1
            completion(.refused)
            return false
        }
        // The completion handler of an evicted client may have started the query.
        if evictions != before { joined = pending[key] }
        let current =
            joined
            ?? PendingQuery(
                key,
                match,
                of: client,
                payer: payer ?? client,
                now: now,
                deadline: now + ResolverLimits.work,
                Completion { [self] in end($0.0, $0.1) }
            )
        if joined == nil {
            pending[key] = current
            places.add(current)
            alarm.bring(forward: now + limit)
        }
        guard waits else {
            if joined == nil { begin(current) }
            completion(.late)
            return joined != nil
        }
        let waiter = Waiter(client, now, deadline, wasMerged: joined != nil, completion)
        current.add(waiter)
        seats.add(waiter)
        alarm.bring(forward: deadline)
        if joined == nil { begin(current) }
        return joined != nil
    }

    private func end(_ query: PendingQuery, _ answer: ResolvedAnswer) {
        guard !query.isOver else { return }
        let resolution = answer.resolution
        if resolution.hasLostAttempt {
            places.note(query, .lost, now: clocks.now())
        } else if resolution.provenance.source != .local || resolution.isFailure {
            places.note(query, .answered, now: clocks.now())
        }
        finish(query)
        let waiters = query.waiters
        query.waiters = []
        complete(waiters[...], .answered(resolution))
    }

    private func finish(_ query: PendingQuery) {
        places.remove(query)
        pending[query.key] = nil
    }

    // MARK: - Completing clients

    /// Maximum number of clients of one answer that are completed in one turn of the service loop.
    ///
    /// Each completion renders and sends a reply, and one client can have thousands of queries.
    static var completedTogether: Int { 64 }

    /// Completes the clients that are not complete yet, those beyond the first few in later turns.
    private func complete(_ waiters: ArraySlice<Waiter>, _ ending: Ending) {
        completeFirst(of: waiters, ending)
        let rest = waiters.dropFirst(Self.completedTogether)
        guard !rest.isEmpty else { return }
        unfinished.append((rest, ending))
        if unfinished.count == 1 { ServiceLoop.task { [self] in completeNext() } }
    }

    /// Completes the next clients of `unfinished`; its lists take turns.
    private func completeNext() {
        let (waiters, ending) = unfinished.removeFirst()
        let rest = waiters.dropFirst(Self.completedTogether)
        if !rest.isEmpty { unfinished.append((rest, ending)) }
        let continues = !unfinished.isEmpty
        completeFirst(of: waiters, ending)
        if continues { ServiceLoop.task { [self] in completeNext() } }
    }

    private func completeFirst(of waiters: ArraySlice<Waiter>, _ ending: Ending) {
        for waiter in waiters.prefix(Self.completedTogether) {
            seats.remove(waiter)
            switch ending {
            case .answered(let answer): complete(waiter, answer)
            case .late: waiter.complete(.late)
            case .evicted:
                statistics.evicted += 1
                waiter.complete(.evicted)
            }
        }
    }

    private func complete(_ waiter: Waiter, _ answer: Resolution) {
        let provenance = answer.provenance
        if provenance.fallback == .early { statistics.earlyFallbacks += 1 }
        if provenance.isShared, !provenance.isStale, waiter.client != nil {
            statistics.shared += 1
        }
        guard waiter.wasMerged else { return waiter.complete(answer) }
        statistics.merged += 1
        statistics.mergedByOrigin[provenance.origin, default: 0] += 1
        var merged = answer
        merged.provenance.wasMerged = true
        waiter.complete(merged)
    }

    // MARK: - Making room

    /// Evicts queries until `client` can start another; returns false if the client is refused.
    private func makePlace(for client: ClientNetwork?, _ now: Instant) -> Bool {
        while true {
            switch places.admission(of: client, now: now) {
            case .accepted: return true
            case .refused: return false
            case .replaces(let query):
                evictions += 1
                places.noteReplaced(query, by: client, now: now)
                evict(query)
            }
        }
    }

    /// Evicts waiting clients until `client` can wait, too; returns false if the client is refused.
    private func makeSeat(for client: ClientNetwork?, _ now: Instant) -> Bool {
        while true {
            switch seats.admission(of: client, now: now) {
            case .accepted: return true
            case .refused: return false
            case .replaces(let waiter):
                evictions += 1
                evict([waiter])
            }
        }
    }

    /// Fails the clients that the query counts against; without others, ends the query.
    private func evict(_ query: PendingQuery) {
        let former = query.client
        let losers = query.waiters.filter { $0.client == former && !$0.isOver }
        query.waiters.removeAll { $0.client == former || $0.isOver }
        if let next = query.waiters.first {
            query.client = next.client
            places.move(query)
        } else {
            finish(query)
            query.cancellation.cancel()
        }
        evict(losers)
    }

    private func evict(_ waiters: [Waiter]) {
        for waiter in waiters { seats.remove(waiter) }
        complete(waiters[...], .evicted)
    }

    // MARK: - Deadlines

    /// Completes the clients with an expired deadline, and cancels queries that last too long.
    private func expire() {
        let now = clocks.now()
        var late: [Waiter] = []
        var endless: [PendingQuery] = []
        var next: Instant?
        for query in pending.values {
            let end = query.began + limit
            if end <= now {
                endless.append(query)
                late += query.waiters.filter { !$0.isOver }
                query.waiters = []
                continue
            }
            next = min(next ?? end, end)
            if query.waiters.contains(where: { $0.deadline <= now }) {
                late += query.waiters.filter { $0.deadline <= now && !$0.isOver }
                query.waiters.removeAll { $0.deadline <= now || $0.isOver }
            }
            for waiter in query.waiters {
                next = min(next ?? waiter.deadline, waiter.deadline)
            }
        }
        for query in endless {
            places.note(query, .lost, now: now)
            finish(query)
        }
        for waiter in late { seats.remove(waiter) }
        // The next timer runs no sooner than `grain`, so that many deadlines share one timer.
        alarm.set(next.map { max($0, now + ResolverLimits.grain) })
        for query in endless { query.cancellation.cancel() }
        complete(late[...], .late)
    }
}

extension Resolution {
    /// SERVFAIL at a client's deadline; not cached.
    fileprivate static let late = Resolution(
        rcode: .servFail,
        explanation: Explanation(code: .noReachableAuthority, text: "no answer in time"),
        provenance: .local
    )
}
