// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
package import Net

/// Clients that wait while the cache is loaded from its snapshot.
///
/// A client gets the answer of the snapshot as soon as the entry is loaded.  It gets a failure only
/// at its deadline, or if the snapshot has no answer.
@ServiceLoop
package final class SnapshotWaiters {
    /// A waiting client and its query.
    private struct Client {
        let query: Query
        let match: RouteTable.Match?

        /// Start of the first query for this name; the wait before a stale answer counts from here.
        let began: Instant
        let deadline: Instant
        let completion: Resolver.Completion

        /// The snapshot's answer, and the time at which the client gets it.
        var restored: (answer: ServeStale.LastResort, due: Instant)?

        var failure: Resolution?
    }

    private let serveStale: ServeStale
    private let clocks: Clocks
    private var clients: [Int: Client] = [:]
    private var last = 0

    /// Start of the loading; nil if no snapshot is being loaded.
    private var began: Instant?

    private lazy var alarm = Alarm(clocks) { [weak self] in self?.look() }

    /// Interval between two checks of the cache.
    static let interval: Duration = .milliseconds(250)

    init(_ serveStale: ServeStale, clocks: Clocks) {
        self.serveStale = serveStale
        self.clocks = clocks
    }

    var isLoading: Bool { began != nil }

    /// True if failures are cached: not while the first clients may still wait for the snapshot.
    var cachesFailures: Bool {
        began.map { clocks.now() >= $0 + ResolverLimits.total } ?? true
    }

    /// Marks the start of the loading.
    package func begin() { began = clocks.now() }

    /// Marks the end of the loading, successful or not, and answers the waiting clients.
    package func end() {
        began = nil
        look()
    }

    func add(
        _ query: Query,
        _ match: RouteTable.Match?,
        began: Instant,
        deadline: Instant,
        _ completion: @escaping Resolver.Completion
    ) -> Int {
        last += 1
        clients[last] = Client(
            query: query,
            match: match,
            began: began,
            deadline: deadline,
            completion: completion
        )
        alarm.bring(forward: clocks.now() + Self.interval)
        return last
    }

    /// Takes the result of resolving for a client; ignored if the client has been answered.
    func resolved(_ number: Int, _ resolution: Resolution) {
        guard let client = clients[number] else { return }
        if let restored = client.restored {
            return answer(number, restored.answer.unless(resolution))
        }
        guard resolution.isFailure else { return answer(number, resolution) }
        clients[number]?.failure = resolution
        look(number, now: clocks.now())
        setAlarm()
    }

    // MARK: - Checking the cache

    private func look() {
        let now = clocks.now()
        for number in clients.keys.sorted() { look(number, now: now) }
        setAlarm()
    }

    /// Answers a client if the cache now has its answer, or if nothing is left to wait for.
    private func look(_ number: Int, now: Instant) {
        guard var client = clients[number] else { return }
        if client.restored == nil,
            let found = serveStale.lastResort(client.query, client.match, now: now)
        {
            client.restored = (found, found.delay.map { client.began + $0 } ?? now)
            clients[number] = client
        }
        if let restored = client.restored {
            let isDue = restored.due <= now || client.failure != nil
            if isDue { answer(number, restored.answer.resolution) }
        } else if let failure = client.failure, !isLoading || client.deadline <= now {
            answer(number, failure)
        }
    }

    private func answer(_ number: Int, _ resolution: Resolution) {
        clients.removeValue(forKey: number)?.completion(resolution)
    }

    private func setAlarm() {
        guard !clients.isEmpty else { return alarm.set(nil) }
        var next: Instant? = isLoading ? clocks.now() + Self.interval : nil
        for client in clients.values {
            let due = client.restored?.due ?? (client.failure == nil ? nil : client.deadline)
            if let due { next = min(next ?? due, due) }
        }
        alarm.set(next)
    }
}
