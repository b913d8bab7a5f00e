// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Query that is resolved once for all waiting clients.
///
/// ``SingleFlight`` owns the query.  ``SharedResolution`` reports the answer with ``end(_:)``.
@ServiceLoop
final class PendingQuery: FairEntry {
    var key: Key
    var match: RouteTable.Match?
    let began: Instant

    let deadline: Instant

    /// Recorder of the steps; nil except for an operator's request.
    let trace: Trace?

    let cancellation: CancellationSignal

    /// False if each upstream gets the query only once, because its client overloads the upstreams.
    let isRepeated: Bool

    /// Client to which the query is counted; nil for the daemon.
    ///
    /// After an eviction, this is the next waiting client.
    var client: ClientNetwork?

    /// Expired answer from another machine, for use if no server answers.
    var sharedStale: Resolution?

    /// Stage that resolves the query; nil before the start.
    var resolution: SharedResolution?

    /// Table of the query; nil if the query has no waiting clients.
    var table: SingleFlight?

    /// Value of `CacheWriter.networksLeft` at the start.
    var networksLeft: UInt64 = 0

    /// Value of `CacheWriter.generation` at the start.
    var generation = 0

    var place: Int?

    /// Waiting clients; some may already be completed.
    var waiters: [Waiter] = []
    private var tidiedAt = 64

    private var completion: Completion<(PendingQuery, ResolvedAnswer)>?

    /// Query with its hash, which is computed once.
    struct Key: Hashable {
        let query: Query
        private let hash: Int

        /// Client that has reached a limit of vendor calls; other clients cannot join the query.
        var refused: ClientNetwork?

        init(_ query: Query) {
            self.query = query
            hash = query.hashValue
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    var query: Query { key.query }

    /// Client to which vendor calls are charged.
    var payer: ClientNetwork? { cancellation.account as? ClientNetwork }

    final class Waiter: FairEntry {
        let client: ClientNetwork?

        /// Client to which the vendor calls for this waiter are charged.
        let payer: ClientNetwork?

        /// False for a refresh of a cached answer.
        let isAwaited: Bool

        let began: Instant
        let deadline: Instant

        /// True if the client joined a query of another client.
        let wasMerged: Bool

        var place: Int?

        private var completion: Completion<Resolution>?

        init(
            _ client: ClientNetwork?,
            payer: ClientNetwork?,
            isAwaited: Bool,
            _ began: Instant,
            _ deadline: Instant,
            wasMerged: Bool,
            _ completion: consuming Completion<Resolution>
        ) {
            self.client = client
            self.payer = payer
            self.isAwaited = isAwaited
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
    ///   - isAwaited: true if a client waits; nil for true unless `client` is nil.
    init(
        _ key: Key,
        _ match: RouteTable.Match?,
        of client: ClientNetwork? = nil,
        payer: ClientNetwork? = nil,
        isAwaited: Bool? = nil,
        now: Instant,
        deadline: Instant,
        isRepeated: Bool = true,
        trace: Trace? = nil,
        _ completion: consuming Completion<(PendingQuery, ResolvedAnswer)>
    ) {
        self.key = key
        self.match = match
        self.client = client
        began = now
        self.deadline = deadline
        self.isRepeated = isRepeated
        self.trace = trace
        cancellation = CancellationSignal(client: payer, isAwaited: isAwaited ?? (client != nil))
        self.completion = consume completion
    }

    /// Adds a waiting client; removes completed clients each time the list has doubled.
    func add(_ waiter: Waiter) {
        if waiters.count >= tidiedAt {
            waiters.removeAll { $0.isOver }
            tidiedAt = max(64, 2 * waiters.count)
        }
        waiters.append(waiter)
    }

    /// Reports the answer; later calls have no effect.
    func end(_ answer: ResolvedAnswer) {
        cancellation.finish()
        if let completion = completion.take() { completion((self, answer)) }
    }
}
