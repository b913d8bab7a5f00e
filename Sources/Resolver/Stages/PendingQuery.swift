// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// A query that is being resolved, once for all clients that wait for it.
///
/// ``SingleFlight`` owns it, its deadline and its waiting clients.  ``SharedResolution`` resolves it,
/// and reports the answer with ``end(_:)``.
@ServiceLoop
final class PendingQuery: FairEntry {
    let key: Key
    var match: RouteTable.Match?
    let began: Instant

    /// Time by which resolving ends.
    let deadline: Instant

    /// Records the steps; nil except for an operator's request.
    let trace: Trace?

    /// Ends the work early; a failure of cancelled work is not cached.
    let cancellation: CancellationSignal

    /// Client that the work counts against: the one that started it, or after an eviction the next
    /// one that waits; nil for the daemon itself.
    var client: ClientNetwork?

    /// Answer of another machine whose TTL is over, for use if no server answers.
    var sharedStale: Resolution?

    /// Stage that resolves the query; nil before the start.
    var resolution: SharedResolution?

    /// Value of `CacheWriter.networksLeft` at the start.
    var networksLeft: UInt64 = 0

    var place: Int?

    /// The waiting clients; some of them may have been completed.
    var waiters: [Waiter] = []
    private var tidiedAt = 64

    private var completion: Completion<(PendingQuery, ResolvedAnswer)>?

    /// A query with its hash, which is computed once.
    struct Key: Hashable {
        let query: Query
        private let hash: Int

        init(_ query: Query) {
            self.query = query
            hash = query.hashValue
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    var query: Query { key.query }

    /// A waiting client.
    final class Waiter: FairEntry {
        let client: ClientNetwork?
        let began: Instant
        let deadline: Instant

        /// True if the client has joined a query of another one.
        let wasMerged: Bool

        var place: Int?

        private var completion: Completion<Resolution>?

        init(
            _ client: ClientNetwork?,
            _ began: Instant,
            _ deadline: Instant,
            wasMerged: Bool,
            _ completion: consuming Completion<Resolution>
        ) {
            self.client = client
            self.began = began
            self.deadline = deadline
            self.wasMerged = wasMerged
            self.completion = consume completion
        }

        func complete(_ answer: Resolution) {
            if let completion = completion.take() { completion(answer) }
        }
    }

    /// Creates a query without waiting clients.
    ///
    /// - Parameters:
    ///   - payer: the client to which vendor calls are charged.
    ///   - completion: receives this query and its answer.
    init(
        _ key: Key,
        _ match: RouteTable.Match?,
        of client: ClientNetwork? = nil,
        payer: ClientNetwork? = nil,
        now: Instant,
        deadline: Instant,
        trace: Trace? = nil,
        _ completion: consuming Completion<(PendingQuery, ResolvedAnswer)>
    ) {
        self.key = key
        self.match = match
        self.client = client
        began = now
        self.deadline = deadline
        self.trace = trace
        cancellation = CancellationSignal(client: payer, isAwaited: client != nil)
        self.completion = consume completion
    }

    /// Adds a waiting client; removes completed ones whenever the list has doubled.
    ///
    /// A search of the list for each evicted client would be slow in a flood.
    func add(_ waiter: Waiter) {
        if waiters.count >= tidiedAt {
            waiters.removeAll { $0.isOver }
            tidiedAt = max(64, 2 * waiters.count)
        }
        waiters.append(waiter)
    }

    /// Reports the answer, and releases the work; has no effect after the first time.
    func end(_ answer: ResolvedAnswer) {
        cancellation.finish()
        if let completion = completion.take() { completion((self, answer)) }
    }
}
