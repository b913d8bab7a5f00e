// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net
internal import Upstream

/// Query that the stages resolve once for all waiting clients.
///
/// This object is also the signal by which ``SingleFlight`` cancels the resolution.
@ServiceLoop
final class PendingQuery: CancellationSignal, FairEntry {
    let query: Query

    /// Hash of the question in the cache; 0 outside a ``PendingTable``.
    let hash: UInt64

    /// Nil, or the client ``payer`` after one of its limits has prevented a vendor call.
    ///
    /// If this variable is not nil, only queries of this client can join the pending query.
    var refused: ClientNetwork?

    var next: PendingQuery?

    var match: RouteTable.Match?
    let began: Instant

    let deadline: Instant

    let trace: Trace?

    var load: ClientLoad

    /// Client with the limits that apply to the query; nil for the daemon itself.
    ///
    /// After an eviction of this client, another waiting client takes its place.
    var client: ClientNetwork?

    /// Expired answer from another machine, for use if no server answers.
    var sharedStale: Resolution?

    var resolution: SharedResolution?

    var table: SingleFlight?

    var group: UpstreamGroup?

    /// Group of upstreams for the queried name.
    var firstGroup: UpstreamGroup?

    /// Servers that returned a loop of aliases or too many aliases.
    var avoided: [any Forwarding] = []

    /// True if the upstream answered a repetition of the query, and not the first copy.
    var wasRepeated = false

    var isSubstitute = false

    var networksLeft: UInt64 = 0

    var generation = 0

    var place: Int?

    /// Waiting clients; some of them may already have an answer.
    private(set) var waiters = ShortArray<Waiter>()
    private var tidiedAt = 64

    private var completion: Completion<(PendingQuery, ResolvedAnswer)>?

    private var upstreams: Completion<Resolution>?

    private(set) var upstreamsAsked = Instant(nanoseconds: 0)

    var payer: ClientNetwork? { account as? ClientNetwork }

    final class Waiter: FairEntry {
        let client: ClientNetwork?

        let payer: ClientNetwork?

        let isAwaited: Bool

        let began: Instant
        let deadline: Instant

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

    /// - Parameter isAwaited: true if a client will wait for the answer; if nil, a client waits if
    ///   `client` is not nil.
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

    func isDropped(at now: Instant) -> Bool { group?.dropsQueries(now: now) ?? false }

    /// True if this query is repeated less often because of the high load of its client.
    ///
    /// False for a query that vendors resolve. A failure after fewer repetitions is not cached, so
    /// each further query would cause a vendor call.
    var lacksRepetitions: Bool { load != .normal && match?.asksVendors(query) != true }

    /// Adds a waiting client; also removes answered clients each time the number of clients has
    /// doubled.
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
    /// The function uses `swap`, because an assignment needs a run-time exclusivity check.
    func takeWaiters() -> ShortArray<Waiter> {
        var waiters = ShortArray<Waiter>()
        swap(&self.waiters, &waiters)
        return waiters
    }

    func wait(forUpstreams completion: consuming Completion<Resolution>, since now: Instant) {
        var next: Completion<Resolution>? = consume completion
        swap(&upstreams, &next)
        upstreamsAsked = now
    }

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
