// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
package import Net

/// Clients that asked while the cache was being loaded from its snapshot.
///
/// The snapshot may hold an answer that the cache does not have yet.  So such a client gets what a
/// loaded cache would have given it, as soon as that is loaded, and a failure only if the snapshot has
/// no answer or the client's time is over.
@ServiceLoop
package final class Restoring {
    /// A client whose question the cache could not answer when it came.
    private struct Client {
        let query: Query
        let match: RouteTable.Match?

        /// When this was first asked: what the wait for a better answer is counted from.
        let began: ContinuousClock.Instant
        let deadline: ContinuousClock.Instant
        let tell: Resolver.Tell

        /// The answer of the snapshot, and when it is given.
        var restored: (answer: Patience.LastResort, due: ContinuousClock.Instant)?

        /// The failure that resolving ended with.
        var failure: Resolution?
    }

    private let patience: Patience
    private let clocks: Clocks
    private var clients: [Int: Client] = [:]
    private var last = 0

    /// Since when the snapshot is being loaded; nil if none is.
    private var began: ContinuousClock.Instant?

    private lazy var alarm = Alarm(clocks) { [weak self] in self?.look() }

    /// The time between two looks for what has been loaded so far.
    static let interval: Duration = .milliseconds(250)

    init(_ patience: Patience, clocks: Clocks) {
        self.patience = patience
        self.clocks = clocks
    }

    /// Whether a snapshot is being loaded.
    var isLoading: Bool { began != nil }

    /// Whether failures are cached: not as long as a client may wait for the snapshot instead.
    var cachesFailures: Bool {
        began.map { clocks.now() >= $0 + ResolverLimits.total } ?? true
    }

    /// Notes that the cache begins to be loaded.
    package func begin() { began = clocks.now() }

    /// Notes that the cache is loaded, or that it cannot be, and answers the clients that waited.
    package func end() {
        began = nil
        look()
    }

    /// Adds a client, and returns its number.
    func add(
        _ query: Query,
        _ match: RouteTable.Match?,
        began: ContinuousClock.Instant,
        deadline: ContinuousClock.Instant,
        _ tell: @escaping Resolver.Tell
    ) -> Int {
        last += 1
        clients[last] = Client(
            query: query,
            match: match,
            began: began,
            deadline: deadline,
            tell: tell
        )
        alarm.bring(forward: clocks.now() + Self.interval)
        return last
    }

    /// Takes the result of resolving for a client; ignored if the client has its answer.
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

    // MARK: - Looking

    /// Looks for the answers of all clients.
    private func look() {
        let now = clocks.now()
        for number in clients.keys.sorted() { look(number, now: now) }
        setAlarm()
    }

    /// Answers a client if the snapshot has its answer by now, or if there is nothing to wait for.
    private func look(_ number: Int, now: ContinuousClock.Instant) {
        guard var client = clients[number] else { return }
        if client.restored == nil,
            let found = patience.lastResort(client.query, client.match, now: now)
        {
            client.restored = (found, found.patience.map { client.began + $0 } ?? now)
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
        clients.removeValue(forKey: number)?.tell(resolution)
    }

    /// Wants the next look when something can be due.
    private func setAlarm() {
        guard !clients.isEmpty else { return alarm.set(nil) }
        var next: ContinuousClock.Instant? = isLoading ? clocks.now() + Self.interval : nil
        for client in clients.values {
            let due = client.restored?.due ?? (client.failure == nil ? nil : client.deadline)
            if let due { next = min(next ?? due, due) }
        }
        alarm.set(next)
    }
}
