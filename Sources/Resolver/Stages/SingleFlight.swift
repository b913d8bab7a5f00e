// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
package import Net
internal import Upstream

/// Query deduplication: a table of pending queries with their waiting clients and deadlines.
///
/// Each query ends at the latest after the time `limit`.
///
/// The limits of the client that started a query apply to the query. If this client is evicted, the
/// limits of another waiting client apply.
///
/// Without deduplication, an attacker could cause many upstream queries for one name, and a forged
/// reply would more probably match one of them (RFC 5452 §5).
@ServiceLoop
package final class SingleFlight {
    typealias Waiter = PendingQuery.Waiter

    /// Reason that ends the wait of clients.
    enum Ending {
        case answered(Resolution)
        case late
        case evicted
    }

    let begin: @ServiceLoop (PendingQuery) -> Void
    private let statistics: ResolverStatistics
    let clocks: Clocks
    private let limit: Duration

    var pending: PendingTable

    /// Number of queries in `pending` with a non-nil `refused`.
    var separations = 0

    /// Waiting clients of all queries.
    var seats: FairTable<Waiter>

    private var evictions: UInt64 = 0

    /// Clients to complete in later iterations; while this array is not empty, one task that
    /// calls `completeNext` is queued.
    private var unfinished: [(waiters: ArraySlice<Waiter>, ending: Ending)] = []

    private let alarm: Alarm

    /// - Parameter limit: time after which a query is cancelled; longer than `ResolverLimits.work`.
    init(
        _ statistics: ResolverStatistics,
        _ clocks: Clocks,
        hash: NameHash = NameHash(seed: .random(in: .min ... .max)),
        work: FairLimits = ResolverLimits.inFlight,
        waiting: FairLimits = ResolverLimits.waiting,
        limit: Duration = ResolverLimits.total,
        _ begin: @escaping @ServiceLoop (PendingQuery) -> Void
    ) {
        self.statistics = statistics
        self.clocks = clocks
        self.limit = limit
        self.begin = begin
        pending = PendingTable(hash, work)
        seats = FairTable(waiting)
        alarm = Alarm(clocks)
        // Not `weak`, because an object with weak references has a slower reference count.
        alarm.action = { [unowned self] in expire() }
    }

    isolated deinit { alarm.set(nil) }

    var count: Int { pending.count }

    func began(_ query: Query) -> Instant? { pending.find(query, pending.hash(query))?.began }

    func isAsking(_ query: Query) -> Bool { began(query) != nil }

    /// Joins a pending query equal to `query`, or starts a query.
    ///
    /// If the query has no answer before `deadline`, the client gets SERVFAIL, and the query
    /// continues.
    ///
    /// - Parameter payer: the client to which vendor calls are charged; if nil, `client`.
    /// - Parameter isAwaited: false for a refresh of a cached answer.
    /// - Returns: true if the client joined a query of another client.
    @discardableResult
    func ask(
        _ query: Query,
        hash: UInt64? = nil,
        _ match: RouteTable.Match?,
        for client: ClientNetwork?,
        payer: ClientNetwork? = nil,
        isAwaited: Bool = true,
        now: Instant,
        deadline: Instant,
        _ completion: consuming Completion<Resolution>
    ) -> Bool {
        let waits = deadline > now
        let before = evictions
        let hash = hash ?? pending.hash(query)
        let payer = payer ?? client
        var joined = pendingQuery(query, hash, of: payer)
        guard joined != nil || makePlace(for: client, now), !waits || makeSeat(for: client, now)
        else {
            if isAwaited { statistics.evicted += 1 }
            completion(.refused)
            return false
        }
        // A completion handler of an evicted client may have started an equal query.
        if evictions != before { joined = pendingQuery(query, hash, of: payer) }
        let isAwaited = isAwaited && client != nil
        let current =
            joined
            ?? start(query, hash, match, of: client, payer: payer, isAwaited: isAwaited, now)
        guard waits else {
            if joined == nil { begin(current) }
            completion(.late)
            return joined != nil
        }
        let waiter = Waiter(
            client,
            payer: payer,
            isAwaited: isAwaited,
            now,
            deadline,
            wasMerged: joined != nil,
            completion
        )
        current.add(waiter)
        seats.add(waiter)
        alarm.bring(forward: deadline)
        if joined == nil { begin(current) }
        return joined != nil
    }

    func start(
        _ query: Query,
        _ hash: UInt64,
        _ match: RouteTable.Match?,
        of client: ClientNetwork?,
        payer: ClientNetwork?,
        isAwaited: Bool,
        _ now: Instant
    ) -> PendingQuery {
        let query = PendingQuery(
            query,
            hash: hash,
            match,
            of: client,
            payer: payer,
            isAwaited: isAwaited,
            now: now,
            deadline: now + ResolverLimits.work,
            Completion { [self] in end($0.0, $0.1) }
        )
        query.table = self
        pending.insert(query)
        alarm.bring(forward: now + limit)
        return query
    }

    private func end(_ query: PendingQuery, _ answer: ResolvedAnswer) {
        guard !query.isOver else { return }
        let resolution = answer.resolution
        var result: PendingTable.Result?
        if resolution.isUnanswered {
            let now = clocks.now()
            if query.isDropped(at: now) { result = (isLost: true, now: now) }
        } else if resolution.provenance.source != .local || resolution.isFailure {
            let now = clocks.now()
            result = (isLost: query.wasRepeated && query.isDropped(at: now), now: now)
        }
        finish(query, result)
        let isOfClient = resolution.isClientCrowded || resolution.lacksRepetition
        let others =
            resolution.isCrowded || isOfClient
            ? query.takeOtherWaiters(includesUnproven: isOfClient) : []
        complete(query.takeWaiters(), .answered(resolution))
        if !others.isEmpty { resolveAgain(query, for: others) }
    }

    private func finish(_ query: PendingQuery, _ result: PendingTable.Result? = nil) {
        if pending.remove(query, result), query.refused != nil { separations -= 1 }
    }

    private func pendingQuery(
        _ query: Query,
        _ hash: UInt64,
        of payer: ClientNetwork?
    ) -> PendingQuery? {
        if let query = pending.find(query, hash) { return query }
        guard separations > 0, let payer else { return nil }
        return pending.find(query, hash, refused: payer)
    }

    // MARK: - Completing clients

    /// Maximum number of waiters that get an answer in one iteration of the service loop; thousands
    /// would block it.
    static var completedTogether: Int { 64 }

    func complete(_ waiters: some RandomAccessCollection<Waiter>, _ ending: Ending) {
        completeFirst(of: waiters, ending)
        guard waiters.count > Self.completedTogether else { return }
        unfinished.append((Array(waiters)[Self.completedTogether...], ending))
        if unfinished.count == 1 { ServiceLoop.task { [self] in completeNext() } }
    }

    /// Completes up to ``completedTogether`` clients of the first list, and moves the rest of this
    /// list to the end, so that short lists do not wait for a long list.
    private func completeNext() {
        let (waiters, ending) = unfinished.removeFirst()
        let rest = waiters.dropFirst(Self.completedTogether)
        if !rest.isEmpty { unfinished.append((rest, ending)) }
        let continues = !unfinished.isEmpty
        completeFirst(of: waiters, ending)
        if continues { ServiceLoop.task { [self] in completeNext() } }
    }

    private func completeFirst(of waiters: some Collection<Waiter>, _ ending: Ending) {
        for waiter in waiters.prefix(Self.completedTogether) {
            let wasOver = waiter.isOver
            seats.remove(waiter)
            switch ending {
            case .answered(let answer): if !wasOver { complete(waiter, answer) }
            case .late: waiter.complete(.late)
            case .evicted:
                if waiter.isAwaited { statistics.evicted += 1 }
                waiter.complete(.evicted)
            }
        }
    }

    private func complete(_ waiter: Waiter, _ answer: Resolution) {
        let provenance = answer.provenance
        if provenance.fallback == .early { statistics.earlyFallbacks += 1 }
        if provenance.isShared, !provenance.isStale, waiter.isAwaited {
            statistics.shared += 1
        }
        guard waiter.wasMerged else { return waiter.complete(answer) }
        statistics.merged += 1
        statistics.mergedByOrigin[provenance.origin, default: 0] += 1
        var merged = answer
        merged.provenance.wasMerged = true
        waiter.complete(merged)
    }

    // MARK: - Eviction

    /// Evicts queries until `client` can start a query; false if a limit prevents this.
    func makePlace(for client: ClientNetwork?, _ now: Instant) -> Bool {
        while true {
            switch pending.places.admission(of: client, now: now) {
            case .accepted: return true
            case .refused: return false
            case .replaces(let query):
                evictions += 1
                if query.client == client, query.isDropped(at: now) {
                    pending.places.note(query, isLost: true, now: now)
                }
                evict(query)
            }
        }
    }

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

    /// Answers the waiters of `query.client` with SERVFAIL, and ends `query` if no other client
    /// waits.
    private func evict(_ query: PendingQuery) {
        let former = query.client
        let losers = query.waiters.filter { $0.client == former && !$0.isOver }
        query.removeWaiters { $0.client == former || $0.isOver }
        if let next = query.waiters.first {
            query.client = next.client
            pending.places.move(query)
        } else {
            finish(query)
            query.cancel()
        }
        evict(losers)
    }

    func evict(_ waiters: [Waiter]) {
        for waiter in waiters { seats.remove(waiter) }
        complete(waiters, .evicted)
    }

    // MARK: - Deadlines

    private func expire() {
        let now = clocks.now()
        var late: [Waiter] = []
        var endless: [PendingQuery] = []
        var next: Instant?
        for query in pending.all {
            let end = query.began + limit
            if end <= now {
                endless.append(query)
                late += query.takeWaiters().filter { !$0.isOver }
                continue
            }
            next = min(next ?? end, end)
            if query.waiters.contains(where: { $0.deadline <= now }) {
                late += query.waiters.filter { $0.deadline <= now && !$0.isOver }
                query.removeWaiters { $0.deadline <= now || $0.isOver }
            }
            for waiter in query.waiters {
                next = min(next ?? waiter.deadline, waiter.deadline)
            }
        }
        for query in endless {
            finish(query, query.isDropped(at: now) ? (isLost: true, now: now) : nil)
        }
        for waiter in late { seats.remove(waiter) }
        alarm.set(next.map { max($0, now + ResolverLimits.grain) })
        for query in endless { query.cancel() }
        complete(late, .late)
    }
}
