// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Work under way by key, which all callers that want the same meanwhile wait for.
///
/// The first caller starts the work.  All callers that come before it ends get its value, if it comes
/// by their deadlines; the next caller after that starts it again.  The work continues when nobody
/// waits for it, unless it is evicted.
///
/// Both the work under way and the callers that wait are bounded by a ``FairTable``, in which work
/// counts against the client that started it.  Work that is evicted ends for the callers of that
/// client.  If callers of other clients wait for it, it continues for them and counts against the
/// first of them; otherwise it is cancelled.
@ServiceLoop
final class InFlight<Key: Hashable & Sendable, Value: Sendable> {
    /// What a caller is told.
    enum Outcome {
        /// The value, and whether the work was under way before.
        case value(Value, wasMerged: Bool)

        /// The deadline has passed.
        case late

        /// The place was needed for another query.
        case evicted

        /// The client has more than its share under way.
        case refused
    }

    /// Called once with what came of the work.
    typealias Tell = @ServiceLoop (Outcome) -> Void

    /// A caller that waits.
    private final class Waiter: FairEntry {
        let key: Key
        let client: ClientNetwork?
        let began: ContinuousClock.Instant
        let deadline: ContinuousClock.Instant
        let wasMerged: Bool
        let tell: Tell
        var isOver = false

        init(
            _ key: Key,
            _ client: ClientNetwork?,
            _ began: ContinuousClock.Instant,
            _ deadline: ContinuousClock.Instant,
            _ wasMerged: Bool,
            _ tell: @escaping Tell
        ) {
            self.key = key
            self.client = client
            self.began = began
            self.deadline = deadline
            self.wasMerged = wasMerged
            self.tell = tell
        }
    }

    /// Work that has not ended.
    private final class Work: FairEntry {
        let key: Key
        let began: ContinuousClock.Instant
        let signal: CancellationSignal
        var client: ClientNetwork?
        var waiters: [Waiter] = []
        var isOver = false

        init(_ key: Key, _ began: ContinuousClock.Instant, _ client: ClientNetwork?) {
            signal = CancellationSignal(client: client)
            self.key = key
            self.began = began
            self.client = client
        }

        /// Adds a waiter, and removes those that were evicted when they are as many as the others.
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
    private var running: [Key: Work] = [:]
    private var places: FairTable<Work>
    private var seats: FairTable<Waiter>

    /// Ends the waiting of callers whose deadlines have passed.
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.expire() }

    /// Makes an empty table.
    ///
    /// - Parameters:
    ///   - work: bounds of the work under way.
    ///   - waiting: bounds of the callers that wait.
    init(_ clocks: Clocks, work: FairLimits, waiting: FairLimits) {
        self.clocks = clocks
        places = FairTable(work)
        seats = FairTable(waiting)
    }

    /// The number of keys with work under way.
    var count: Int { running.count }

    /// When the work for `key` began; nil if there is none.
    func began(_ key: Key) -> ContinuousClock.Instant? { running[key]?.began }

    /// Calls `tell` with the value of `work` for `key`, once and perhaps before this returns.
    ///
    /// A deadline that has passed starts the work all the same.
    ///
    /// - Parameters:
    ///   - client: the client that waits; nil for the daemon itself.
    ///   - work: gets the signal of its cancellation, and calls what it is given with the value, once.
    func join(
        _ key: Key,
        for client: ClientNetwork?,
        now: ContinuousClock.Instant,
        until deadline: ContinuousClock.Instant,
        _ tell: @escaping Tell,
        _ work: (CancellationSignal, _ end: @escaping @ServiceLoop (Value) -> Void) -> Void
    ) {
        let waits = deadline > now
        guard running[key] != nil || makePlace(for: client, now),
            !waits || makeSeat(for: client, now)
        else { return tell(.refused) }
        // An evicted caller may have asked again: so only now.
        let joined = running[key]
        let current = joined ?? Work(key, now, client)
        if joined == nil {
            running[key] = current
            places.add(current)
        }
        if waits {
            let waiter = Waiter(key, client, now, deadline, joined != nil, tell)
            current.add(waiter)
            seats.add(waiter)
            alarm.bring(forward: deadline)
        }
        if joined == nil {
            work(current.signal) { [self] value in end(current, value) }
        }
        if !waits { tell(.late) }
    }

    /// The work has ended.
    private func end(_ work: Work, _ value: Value) {
        guard !work.isOver else { return }
        finish(work)
        let waiters = work.waiters
        work.waiters = []
        for waiter in waiters where !waiter.isOver {
            seats.remove(waiter)
            waiter.tell(.value(value, wasMerged: waiter.wasMerged))
        }
    }

    private func finish(_ work: Work) {
        places.remove(work)
        if running[work.key] === work { running[work.key] = nil }
    }

    // MARK: - Making room

    /// Evicts work until there is a place for another one of `client`; returns whether there is one.
    private func makePlace(for client: ClientNetwork?, _ now: ContinuousClock.Instant) -> Bool {
        while true {
            switch places.admission(of: client, now: now) {
            case .accepted: return true
            case .refused: return false
            case .replaces(let work): evict(work)
            }
        }
    }

    /// The same for a caller that waits.
    private func makeSeat(for client: ClientNetwork?, _ now: ContinuousClock.Instant) -> Bool {
        while true {
            switch seats.admission(of: client, now: now) {
            case .accepted: return true
            case .refused: return false
            case .replaces(let waiter):
                // It stays in the list of its work until that is tidied: a search for it would take
                // as long as the list is, for each query of a flood.
                evict([waiter])
            }
        }
    }

    /// Ends the work for the client that it counts against.
    private func evict(_ work: Work) {
        let former = work.client
        let losers = work.waiters.filter { $0.client == former && !$0.isOver }
        work.waiters.removeAll { $0.client == former || $0.isOver }
        if let heir = work.waiters.first {
            work.client = heir.client
            places.move(work, from: former)
        } else {
            finish(work)
            work.signal.cancel()
        }
        evict(losers)
    }

    private func evict(_ waiters: [Waiter]) {
        for waiter in waiters { seats.remove(waiter) }
        for waiter in waiters { waiter.tell(.evicted) }
    }

    // MARK: - Deadlines

    /// Ends the waiting of callers whose deadlines have passed.
    private func expire() {
        let now = clocks.now()
        var late: [Waiter] = []
        var next: ContinuousClock.Instant?
        for work in running.values {
            if work.waiters.contains(where: { $0.deadline <= now }) {
                late += work.waiters.filter { $0.deadline <= now && !$0.isOver }
                work.waiters.removeAll { $0.deadline <= now || $0.isOver }
            }
            for waiter in work.waiters {
                next = min(next ?? waiter.deadline, waiter.deadline)
            }
        }
        for waiter in late { seats.remove(waiter) }
        // Not for each of many that came in a row.
        alarm.set(next.map { max($0, now + ResolverLimits.grain) })
        for waiter in late { waiter.tell(.late) }
    }
}
