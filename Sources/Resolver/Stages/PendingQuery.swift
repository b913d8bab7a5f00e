// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net
internal import Upstream

/// Query that the stages resolve once for all waiting clients.
///
/// ``SingleFlight`` owns the query. ``SharedResolution`` reports the answer with ``end(_:)``.
///
/// This object is also the signal by which ``SingleFlight`` cancels the resolution.
@ServiceLoop
final class PendingQuery: CancellationSignal, FairEntry {
    let query: Query

    /// Hash of the question in the cache; 0 if the query is not in a ``PendingTable``.
    let hash: UInt64

    /// The client ``payer``, if a limit of this client has prevented a vendor call; otherwise nil.
    ///
    /// If not nil, only queries of this client can join this query.
    var refused: ClientNetwork?

    /// Next query in the same list of ``PendingTable``.
    var next: PendingQuery?

    var match: RouteTable.Match?
    let began: Instant

    let deadline: Instant

    /// Recorder of the steps, if an operator requested a trace; otherwise nil.
    let trace: Trace?

    /// Load of the client at the time when the client started the query.
    var load: ClientLoad

    /// Client with the limits that apply to the query; nil for a query of the daemon itself.
    ///
    /// At first, this is the client that started the query. After an eviction of this client,
    /// another waiting client takes its place.
    var client: ClientNetwork?

    /// Expired answer from another machine of the fleet; the clients get it if no server answers.
    var sharedStale: Resolution?

    /// Stage that resolves the query; nil before the start of the resolution.
    var resolution: SharedResolution?

    /// Owner of the table that contains this query; nil if the query is in no table.
    var table: SingleFlight?

    /// Group of upstreams that was queried last; nil if no upstream was queried.
    var group: UpstreamGroup?

    /// Group of upstreams for the queried name; the targets of aliases can have other groups.
    var firstGroup: UpstreamGroup?

    /// Servers that do not get the query again, because they returned a loop of aliases or too many
    /// aliases.
    var avoided: [any Forwarding] = []

    /// True if the upstream answered a repetition of the query, and not the first copy.
    var wasRepeated = false

    /// True if a plain upstream answered instead of an encrypted upstream.
    var isSubstitute = false

    /// Value of `CacheWriter.networksLeft` at the start of the resolution.
    var networksLeft: UInt64 = 0

    /// Value of `CacheWriter.generation` at the start of the resolution.
    var generation = 0

    var place: Int?

    /// Waiting clients; some of them may already have an answer.
    private(set) var waiters = ShortArray<Waiter>()
    private var tidiedAt = 64

    private var completion: Completion<(PendingQuery, ResolvedAnswer)>?

    /// Handler that gets the upstreams' answer; nil if no upstream is being queried.
    private var upstreams: Completion<Resolution>?

    private(set) var upstreamsAsked = Instant(nanoseconds: 0)

    /// Client to which vendor calls are charged.
    var payer: ClientNetwork? { account as? ClientNetwork }

    final class Waiter: FairEntry {
        let client: ClientNetwork?

        /// Client to which the vendor calls for this waiter are charged.
        let payer: ClientNetwork?

        /// True if the client waits for the answer; false for a refresh of a cached answer.
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
    ///   - isAwaited: true if a client will wait for the answer; nil stands for `client != nil`.
    init(
        _ query: Query,
        hash: UInt64 = 0,
        _ match: RouteTable.Match?,
        of client: ClientNetwork? = nil,
        payer: ClientNetwork? = nil,
        isAwaited: Bool? = nil,
        now: Instant,
        deadline: Instant,
        load: ClientLoad = .normal,
        trace: Trace? = nil,
        _ completion: consuming Completion<(PendingQuery, ResolvedAnswer)>
    ) {
        self.query = query
        self.hash = hash
        self.match = match
        self.client = client
        began = now
        self.deadline = deadline
        self.load = load
        self.trace = trace
        self.completion = consume completion
        super.init(client: payer, isAwaited: isAwaited ?? (client != nil))
    }

    /// True if the upstreams that were queried last drop queries.
    func isDropped(at now: Instant) -> Bool { group?.dropsQueries(now: now) ?? false }

    /// True if this query is repeated less often because of the high load of its client.
    ///
    /// A failure of such a query is not cached. Therefore false for a query that vendors resolve:
    /// each further query for the name would otherwise cause a vendor call.
    var lacksRepetitions: Bool { load != .normal && match?.asksVendors(query) != true }

    /// Adds a waiting client.
    ///
    /// Each time the number of waiting clients has doubled, also removes the clients that already
    /// have an answer.
    func add(_ waiter: Waiter) {
        var waiters = takeWaiters()
        if waiters.count >= tidiedAt {
            waiters.removeAll { $0.isOver }
            tidiedAt = max(64, 2 * waiters.count)
        }
        waiters.append(waiter)
        swap(&self.waiters, &waiters)
    }

    func removeWaiters(where isRemoved: (Waiter) -> Bool) {
        var waiters = takeWaiters()
        waiters.removeAll(where: isRemoved)
        swap(&self.waiters, &waiters)
    }

    /// Removes and returns all waiting clients.
    ///
    /// Unlike an assignment, `swap` needs no run-time exclusivity check of `waiters`.
    func takeWaiters() -> ShortArray<Waiter> {
        var waiters = ShortArray<Waiter>()
        swap(&self.waiters, &waiters)
        return waiters
    }

    func wait(forUpstreams completion: consuming Completion<Resolution>, since now: Instant) {
        // Unlike an assignment, `swap` needs no run-time exclusivity check.
        var next: Completion<Resolution>? = consume completion
        swap(&upstreams, &next)
        upstreamsAsked = now
    }

    /// Filters the upstreams' answer, and calls the handler with the result.
    ///
    /// The filter removes addresses and hints that the settings do not allow.
    func upstreamsAnswered(_ answer: Resolution) {
        guard let completion = upstreams.take() else { return }
        if let shaped = resolution?.addressGuard.shaped(answer, query, match) {
            completion(shaped)
        } else {
            completion(answer)
        }
    }

    /// Reports the answer; later calls have no effect.
    func end(_ answer: ResolvedAnswer) {
        finish()
        if let completion = completion.take() { completion((self, answer)) }
    }
}
