// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// In-flight work by key, shared by all callers that need the same result.
///
/// The work continues after all callers have left, unless it is evicted (``FairTable``). Work that
/// has not ended after `limit` is cancelled, so that a fault of a lower layer cannot occupy an entry
/// permanently.
///
/// Work counts against the limits of the client that started it. When the work is evicted, the
/// waiting callers of this client fail. If callers of other clients also wait, the work continues
/// and counts against the client of the first of these callers.
@ServiceLoop
final class InFlight<Key: Hashable & Sendable, Value: Sendable> {
    /// Result for one caller.
    enum Outcome {
        /// The value; `wasMerged` is true if the caller joined work that another caller had
        /// started.
        case value(Value, wasMerged: Bool)

        case late

        case evicted

        /// The client has reached its limit.
        case refused
    }

    /// Completion handler, called exactly once.
    typealias Completion = @ServiceLoop (Outcome) -> Void

    /// A waiting caller.
    private final class Waiter: FairEntry {
        let key: Key
        let client: ClientNetwork?
        let began: Instant
        let deadline: Instant
        let wasMerged: Bool
        var isOver = false
        var order: UInt64 = 0
        var line: FairLine<Waiter>?

        /// Released when called: the table keeps a waiter for a while, and the completion handler
        /// retains the resolver.
        private var completion: Completion?

        init(
            _ key: Key,
            _ client: ClientNetwork?,
            _ began: Instant,
            _ deadline: Instant,
            _ wasMerged: Bool,
            _ completion: @escaping Completion
        ) {
            self.key = key
            self.client = client
            self.began = began
            self.deadline = deadline
            self.wasMerged = wasMerged
            self.completion = completion
        }

        func complete(_ outcome: Outcome) {
            let completion = completion
            self.completion = nil
            completion?(outcome)
        }
    }

    /// Work that has not ended.
    private final class Work: FairEntry {
        let key: Key
        let began: Instant
        let signal: CancellationSignal
        var client: ClientNetwork?
        var waiters: [Waiter] = []
        var isOver = false
        var order: UInt64 = 0
        var line: FairLine<Work>?

        init(_ key: Key, _ began: Instant, _ client: ClientNetwork?, payer: ClientNetwork?) {
            signal = CancellationSignal(client: payer, isAwaited: client != nil)
            self.key = key
            self.began = began
            self.client = client
        }

        /// Adds a waiter; removes evicted waiters whenever the list has doubled.
        func add(_ waiter: Waiter) {
            if waiters.count >= tidiedAt {
                waiters.removeAll { $0.isOver }
                tidiedAt = max(64, 2 * waiters.count)
            }
            waiters.append(waiter)
        }
        private var tidiedAt = 64
    }

    private let clocks: Clocks
    private let limit: Duration
    private let judge: (Value) -> LossWindow.Result?
    private var running: [Key: Work] = [:]

    /// Number of evicted entries.
    private var evictions: UInt64 = 0

    /// Callers with a known outcome that later turns of the service loop complete.
    ///
    /// A task is queued if and only if a list is in it.
    private var unfinished: [(waiters: ArraySlice<Waiter>, outcome: (Waiter) -> Outcome)] = []

    private var places: FairTable<Work>
    private var seats: FairTable<Waiter>

    /// Timer for the next deadline of a caller, or for the time limit of work.
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.expire() }

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - work: bounds of the work in flight.
    ///   - waiting: bounds of the waiting callers.
    ///   - limit: time after which work is cancelled.
    ///   - judge: returns the result of a server for the client's limit; nil if no server was asked.
    init(
        _ clocks: Clocks,
        work: FairLimits,
        waiting: FairLimits,
        limit: Duration,
        judge: @escaping (Value) -> LossWindow.Result?
    ) {
        self.clocks = clocks
        self.limit = limit
        self.judge = judge
        places = FairTable(work)
        seats = FairTable(waiting)
    }

    var count: Int { running.count }

    /// Returns the start time of the work for `key`; nil if there is none.
    func began(_ key: Key) -> Instant? { running[key]?.began }

    /// Joins the work for `key`, or starts it, even if the caller's deadline has passed.
    ///
    /// - Parameters:
    ///   - client: the client that waits; nil for the daemon itself.
    ///   - payer: the client to which vendor calls are charged; nil for `client`.
    /// - Returns: true if the caller joined work of another caller.
    @discardableResult
    func join(
        _ key: Key,
        for client: ClientNetwork?,
        payer: ClientNetwork? = nil,
        now: Instant,
        until deadline: Instant,
        _ completion: @escaping Completion,
        _ work: (CancellationSignal, _ end: @escaping @ServiceLoop (Value) -> Void) -> Void
    ) -> Bool {
        let waits = deadline > now
        let evictions = evictions
        var joined = running[key]
        guard joined != nil || makePlace(for: client, now), !waits || makeSeat(for: client, now)
        else {
            completion(.refused)
            return false
        }
        // The completion handler of an evicted caller may have started work.
        if evictions != self.evictions { joined = running[key] }
        let current = joined ?? Work(key, now, client, payer: payer ?? client)
        if joined == nil {
            running[key] = current
            places.add(current)
            alarm.bring(forward: now + limit)
        }
        if waits {
            let waiter = Waiter(key, client, now, deadline, joined != nil, completion)
            current.add(waiter)
            seats.add(waiter)
            alarm.bring(forward: deadline)
        }
        if joined == nil {
            work(current.signal) { [self] value in end(current, value) }
        }
        if !waits { completion(.late) }
        return joined != nil
    }

    private func end(_ work: Work, _ value: Value) {
        guard !work.isOver else { return }
        if let result = judge(value) { places.note(work, result, now: clocks.now()) }
        finish(work)
        work.signal.finish()
        let waiters = work.waiters
        work.waiters = []
        complete(waiters[...]) { .value(value, wasMerged: $0.wasMerged) }
    }

    private func finish(_ work: Work) {
        places.remove(work)
        running[work.key] = nil
    }

    // MARK: - Completing callers

    /// Maximum number of callers of one outcome that are completed in one turn of the service loop.
    ///
    /// Each completion renders and sends a reply, and one client can have thousands of callers.
    static var completedTogether: Int { 64 }

    /// Completes the callers that are not complete yet, those beyond the first few in later turns.
    private func complete(
        _ waiters: ArraySlice<Waiter>,
        with outcome: @escaping (Waiter) -> Outcome
    ) {
        completeFirst(of: waiters, with: outcome)
        let rest = waiters.dropFirst(Self.completedTogether)
        guard !rest.isEmpty else { return }
        unfinished.append((rest, outcome))
        if unfinished.count == 1 { ServiceLoop.task { [self] in completeNext() } }
    }

    /// Completes the next callers of `unfinished`; its lists take turns.
    private func completeNext() {
        let (waiters, outcome) = unfinished.removeFirst()
        let rest = waiters.dropFirst(Self.completedTogether)
        if !rest.isEmpty { unfinished.append((rest, outcome)) }
        let continues = !unfinished.isEmpty
        completeFirst(of: waiters, with: outcome)
        if continues { ServiceLoop.task { [self] in completeNext() } }
    }

    private func completeFirst(
        of waiters: ArraySlice<Waiter>,
        with outcome: (Waiter) -> Outcome
    ) {
        for waiter in waiters.prefix(Self.completedTogether) {
            seats.remove(waiter)
            waiter.complete(outcome(waiter))
        }
    }

    // MARK: - Making room

    /// Evicts work until `client` can start another; returns false if the client is refused.
    private func makePlace(for client: ClientNetwork?, _ now: Instant) -> Bool {
        while true {
            switch places.admission(of: client, now: now) {
            case .accepted: return true
            case .refused: return false
            case .replaces(let work):
                evictions += 1
                places.noteReplaced(work, by: client, now: now)
                evict(work)
            }
        }
    }

    /// Evicts waiters until `client` can add another; returns false if the client is refused.
    private func makeSeat(for client: ClientNetwork?, _ now: Instant) -> Bool {
        while true {
            switch seats.admission(of: client, now: now) {
            case .accepted: return true
            case .refused: return false
            case .replaces(let waiter):
                // The evicted waiter stays in the list of its work until `Work.add` removes it: a
                // search of the list for each evicted waiter would be slow in a flood.
                evictions += 1
                evict([waiter])
            }
        }
    }

    /// Fails the callers of the client that the work counts against; without others, ends the work.
    private func evict(_ work: Work) {
        let former = work.client
        let losers = work.waiters.filter { $0.client == former && !$0.isOver }
        work.waiters.removeAll { $0.client == former || $0.isOver }
        if let next = work.waiters.first {
            work.client = next.client
            places.move(work, from: former)
        } else {
            finish(work)
            work.signal.cancel()
        }
        evict(losers)
    }

    private func evict(_ waiters: [Waiter]) {
        for waiter in waiters { seats.remove(waiter) }
        complete(waiters[...]) { _ in .evicted }
    }

    // MARK: - Deadlines

    /// Completes the waiters with an expired deadline, and cancels work that lasts too long.
    private func expire() {
        let now = clocks.now()
        var late: [Waiter] = []
        var endless: [Work] = []
        var next: Instant?
        for work in running.values {
            if work.began + limit <= now {
                endless.append(work)
                late += work.waiters.filter { !$0.isOver }
                work.waiters = []
                continue
            }
            next = min(next ?? work.began + limit, work.began + limit)
            if work.waiters.contains(where: { $0.deadline <= now }) {
                late += work.waiters.filter { $0.deadline <= now && !$0.isOver }
                work.waiters.removeAll { $0.deadline <= now || $0.isOver }
            }
            for waiter in work.waiters {
                next = min(next ?? waiter.deadline, waiter.deadline)
            }
        }
        for work in endless {
            places.note(work, .lost, now: now)
            finish(work)
        }
        for waiter in late { seats.remove(waiter) }
        // The next timer runs no sooner than `grain`, so that many deadlines share one timer.
        alarm.set(next.map { max($0, now + ResolverLimits.grain) })
        for work in endless { work.signal.cancel() }
        complete(late[...]) { _ in .late }
    }
}
