// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
package import Net

/// Clients that wait while the daemon loads the snapshot into the cache.
///
/// A client gets a fresh answer of the snapshot immediately, and a stale answer after the
/// serve-stale delay, or earlier if the resolution fails. If the resolution fails and the snapshot
/// has no answer, the client gets the failure at the end of the load or at the client's deadline.
@ServiceLoop
package final class SnapshotWaiters {
    final class Waiting: FairEntry {
        fileprivate let query: Query
        fileprivate let match: RouteTable.Match?
        let client: ClientNetwork?

        let began: Instant

        /// Time of the first query for the name, at which the serve-stale delay starts.
        fileprivate let firstBegan: Instant
        fileprivate let deadline: Instant

        var place: Int?

        fileprivate var restored: (answer: ServeStale.LastResort, due: Instant)?

        fileprivate var failure: Resolution?

        private var completion: Completion<Resolution>?

        fileprivate init(
            _ query: Query,
            _ match: RouteTable.Match?,
            of client: ClientNetwork?,
            now: Instant,
            firstBegan: Instant,
            deadline: Instant,
            _ completion: consuming Completion<Resolution>
        ) {
            self.query = query
            self.match = match
            self.client = client
            began = now
            self.firstBegan = firstBegan
            self.deadline = deadline
            self.completion = consume completion
        }

        fileprivate var due: Instant? { restored?.due ?? (failure == nil ? nil : deadline) }

        fileprivate func complete(_ resolution: Resolution) {
            if let completion = completion.take() { completion(resolution) }
        }
    }

    private let serveStale: ServeStale
    private let clocks: Clocks
    private var table: FairTable<Waiting>

    private var clients: [Waiting] = []

    /// Clients that the current check has not reached yet; empty if no check runs.
    private var unchecked: ArraySlice<Waiting> = []

    private var checksAgain = false

    private var began: Instant?

    private lazy var alarm = Alarm(clocks) { [weak self] in self?.check() }

    static let interval: Duration = .milliseconds(250)

    /// Minimum time between checks.
    static let grain: Duration = .milliseconds(20)

    static let checkedTogether = 64

    init(
        _ serveStale: ServeStale,
        clocks: Clocks,
        limits: FairLimits = ResolverLimits.waiting
    ) {
        self.serveStale = serveStale
        self.clocks = clocks
        table = FairTable(limits)
    }

    var count: Int { table.count }

    var isLoading: Bool { began != nil }

    /// False during the time ``ResolverLimits/total`` after the start of a load, because a cached
    /// failure would hide the snapshot's answer.
    var cachesFailures: Bool {
        began.map { clocks.now() >= $0 + ResolverLimits.total } ?? true
    }

    package func begin() { began = clocks.now() }

    package func end() {
        began = nil
        check()
    }

    /// Adds a client; if a limit prevents this, completes with SERVFAIL and returns nil.
    func add(
        _ query: Query,
        _ match: RouteTable.Match?,
        of client: ClientNetwork?,
        now: Instant,
        firstBegan: Instant,
        deadline: Instant,
        _ completion: consuming Completion<Resolution>
    ) -> Waiting? {
        admission: while true {
            switch table.admission(of: client, now: now) {
            case .accepted: break admission
            case .refused:
                completion(.refused)
                return nil
            case .replaces(let other): answer(other, .evicted)
            }
        }
        let waiting = Waiting(
            query,
            match,
            of: client,
            now: now,
            firstBegan: firstBegan,
            deadline: deadline,
            completion
        )
        table.add(waiting)
        if clients.count >= 2 * table.count + 64 { clients.removeAll(where: \.isOver) }
        clients.append(waiting)
        alarm.bring(forward: now + Self.interval)
        return waiting
    }

    func resolved(_ waiting: Waiting, _ resolution: Resolution) {
        guard !waiting.isOver else { return }
        if let restored = waiting.restored {
            return answer(waiting, restored.answer.unless(resolution))
        }
        guard resolution.isFailure else { return answer(waiting, resolution) }
        waiting.failure = resolution
        check(waiting, now: clocks.now())
        if !waiting.isOver, let due = waiting.due { alarm.bring(forward: due) }
    }

    // MARK: - Checking the cache

    private func check() {
        guard unchecked.isEmpty else {
            checksAgain = true
            return
        }
        clients.removeAll(where: \.isOver)
        unchecked = clients[...]
        checkNext()
    }

    private func checkNext() {
        let now = clocks.now()
        let next = unchecked.prefix(Self.checkedTogether)
        unchecked = unchecked.dropFirst(Self.checkedTogether)
        for waiting in next { check(waiting, now: now) }
        guard unchecked.isEmpty else {
            ServiceLoop.task { [self] in checkNext() }
            return
        }
        unchecked = []
        if checksAgain {
            checksAgain = false
            ServiceLoop.task { [self] in check() }
        }
        setAlarm()
    }

    private func check(_ waiting: Waiting, now: Instant) {
        guard !waiting.isOver else { return }
        if waiting.restored == nil,
            let found = serveStale.lastResort(waiting.query, waiting.match, now: now)
        {
            waiting.restored = (found, found.delay.map { waiting.firstBegan + $0 } ?? now)
        }
        if let restored = waiting.restored {
            let isDue = restored.due <= now || waiting.failure != nil
            if isDue { answer(waiting, restored.answer.resolution) }
        } else if let failure = waiting.failure, !isLoading || waiting.deadline <= now {
            answer(waiting, failure)
        }
    }

    private func answer(_ waiting: Waiting, _ resolution: Resolution) {
        table.remove(waiting)
        waiting.complete(resolution)
    }

    private func setAlarm() {
        let now = clocks.now()
        var next: Instant?
        for waiting in clients where !waiting.isOver {
            if isLoading { next = min(next ?? now + Self.interval, now + Self.interval) }
            if let due = waiting.due { next = min(next ?? due, due) }
        }
        alarm.set(next.map { max($0, now + Self.grain) })
    }
}
