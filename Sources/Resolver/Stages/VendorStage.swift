// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Fleet
internal import HTTPDNS
package import Net

/// Stage that queries the vendors of a route in order.
///
/// The call for an A or AAAA query requests both families if one call can return both, because
/// clients query both, and vendors bill each call.
@ServiceLoop
package final class VendorStage {
    let policy: TTLPolicy
    let statistics: ResolverStatistics
    let clocks: Clocks
    private let prefixes: NAT64Prefixes

    package var fleet: FleetExchange?

    private var emptyReplies = EmptyReplies()

    /// For each name, the vendor that recently returned an address, and the TTL in seconds; a later
    /// empty reply of this vendor for one family means NODATA.
    private var knownNames = RecentNames<(vendor: String, ttl: UInt32)>(limit: 4_096)

    private var numbersByServer: [Server: UInt16] = [:]
    private var latestServer: (server: Server, number: UInt16)?

    private var numbersByMachine: [String: [String: UInt16]] = [:]

    private struct Server: Hashable {
        let vendor: String
        let address: SocketAddress
    }

    private var origins: AnswerSourceRegistry { statistics.origins }

    init(
        policy: TTLPolicy,
        statistics: ResolverStatistics,
        clocks: Clocks,
        prefixes: @escaping NAT64Prefixes
    ) {
        self.policy = policy
        self.statistics = statistics
        self.clocks = clocks
        self.prefixes = prefixes
    }

    /// Result of the calls to the vendors of a route.
    enum Result {
        case answered(ResolvedAnswer)

        case empty(Provenance, siblings: [(question: Question, resolution: Resolution)] = [])

        case failed
    }

    /// Limit of this daemon that prevented a call.
    enum Limit {
        /// A limit of the client that started the query.
        case ofClient

        /// A limit on the call rate, the queue or the calls in flight of the vendor.
        case ofVendor
    }

    /// Queries one vendor after the other; each vendor gets an equal part of the time.
    ///
    /// A cancellation does not stop a call that was sent.
    ///
    /// - Parameter isCovered: true if the cache has an answer; the query then does not wait for
    ///   another machine.
    func ask(
        _ query: PendingQuery,
        _ match: RouteTable.Match,
        _ vendors: RemainingVendors,
        isCovered: Bool = false,
        _ completion: consuming Completion<Result>
    ) {
        let start = clocks.now()
        if let provenance = emptyReplies.source(query.query.question, now: start) {
            return completion(knownResult(provenance, query))
        }
        let end = min(query.deadline, query.began + ResolverLimits.vendors)
        let isAwaited = query.isAwaited && !isCovered
        let wait = fleet.flatMap { isAwaited ? $0.fleet.wait : nil }
        let waitEnd = wait.map { start + $0 }
        let work = Work(query: query, match: match, vendors: vendors, end: end, waitEnd: waitEnd)
        ask(work, completion)
    }

    /// If the name of `query` is in a vendor's queue for another client, also queues the name for
    /// `client`.
    func join(_ query: Query, _ match: RouteTable.Match, of client: ClientNetwork) {
        let families = query.question.families
        for vendor in match.route.vendors {
            vendor.join(
                query.question.name,
                families,
                parameters: match.route.options.parameters,
                of: client
            )
        }
    }

    private func ask(_ work: Work, _ completion: consuming Completion<Result>) {
        let (query, vendors) = (work.query, work.vendors.clients)
        guard let vendor = vendors.first, clocks.now() < work.end, !query.isCancelled
        else { return completion(.failed) }
        work.vendors.clients = vendors.dropFirst()
        if work.vendors.isCrowded, !vendor.facts.isProtected {
            query.trace?.note("\(vendor.name): skipped: only protected sources may get this name")
            return ask(work, completion)
        }
        if passesOver(vendors, work.match) {
            query.trace?.note("\(vendor.name): unresponsive, trying the next source")
            vendor.beginTrial()
            return ask(work, completion)
        }
        let question = query.query.question
        if let source = emptyReplies.source(question, of: vendor.name, now: clocks.now()) {
            return completion(knownResult(source, query))
        }
        if fleet != nil { return askFleet(vendors, work, completion) }
        call(vendors, work, completion)
    }

    /// - Parameter ended: function that is called before `completion`; its argument is the reply,
    ///   or nil after a failure.
    func call(
        _ vendors: ArraySlice<VendorClient>,
        _ work: Work,
        ended: (@ServiceLoop (VendorReply?) -> Void)? = nil,
        _ completion: consuming Completion<Result>
    ) {
        let (query, match, now) = (work.query, work.match, clocks.now())
        guard let vendor = vendors.first, now < work.end, !query.isCancelled else {
            ended?(nil)
            return completion(.failed)
        }
        let question = query.query.question
        let found = completion.after { [self] (found: VendorClient.Outcome, completion) in
            switch found {
            case .success(let reply):
                statistics.vendorLatency.note(reply.duration)
                ended?(reply)
                completion(result(reply, of: vendor, work))
            case .failure(let failure):
                query.trace?.note("\(vendor.name): no answer (\(failure.reason))")
                work.vendors.failed(failure, of: vendor)
                ended?(nil)
                ask(work, completion)
            }
        }
        vendor.lookUp(
            question.name,
            question.families,
            route: match.route.place,
            choice: match.route.options.families,
            parameters: match.route.options.parameters,
            mayFallBack: match.route.fallsBack && match.route.options.fallbackAfter != nil,
            next: vendors.dropFirst().first,
            deadline: vendors.count == 1 ? work.end : now + (work.end - now) / vendors.count,
            trace: query.trace,
            cancellation: query,
            found
        )
        // The shares of the clients that have joined the query may permit this call.
        for waiter in query.waiters where waiter.payer != query.payer && !waiter.isOver {
            if let client = waiter.payer { join(query.query, match, of: client) }
        }
    }

    private func passesOver(
        _ vendors: ArraySlice<VendorClient>,
        _ match: RouteTable.Match
    ) -> Bool {
        guard let vendor = vendors.first else { return false }
        return vendor.isSilent && (vendors.count > 1 || match.route.fallsBack)
    }

    func preview(_ match: RouteTable.Match) -> [Decision.Candidate] {
        let vendors = match.route.vendors
        return vendors.indices.map { index in
            let (vendor, state) = (vendors[index], vendors[index].statistics.state)
            let isPassedOver = passesOver(vendors[index...], match)
            return Decision.Candidate(
                client: vendor,
                state: state,
                isPassedOver: isPassedOver,
                isTried: isPassedOver && state == .open && vendor.isTrialDue
            )
        }
    }

    func emptyVendor(_ query: Query) -> String? {
        emptyReplies.source(query.question, now: clocks.now()).map { origins.name($0.origin) }
    }

    private func knownResult(_ empty: Provenance, _ query: PendingQuery) -> Result {
        if let vendor = origins.vendor(empty.origin) {
            statistics.vendors.pairedByVendor[vendor, default: 0] += 1
        }
        let source = origins.name(empty.origin)
        query.trace?.note("no call: \(source) recently had no address for this name")
        return .empty(empty)
    }

    /// Forgets all recent replies of vendors: replies with an address, and empty replies.
    package func forget() {
        emptyReplies.removeAll()
        knownNames.removeAll()
    }

    /// Marks an upstream's answer as the fallback of a vendor, so that cache hits on it count as
    /// avoided calls to this vendor.
    func note(_ resolution: inout Resolution, after empty: Provenance) {
        guard let vendor = origins.vendor(empty.origin) else { return }
        resolution.provenance.origin = origins.number(
            resolution.provenance.origin,
            after: vendor
        )
    }

    // MARK: - Meaning of replies

    func result(
        _ reply: VendorReply,
        of vendor: VendorClient,
        _ work: Work,
        shared: (machine: String, age: UInt32)? = nil
    ) -> Result {
        work.vendors.replied(vendor)
        return result(
            reply,
            of: vendor,
            to: work.query.query.question,
            work.match,
            limit: work.vendors.callLimit,
            shared: shared
        )
    }

    /// Converts a vendor's reply to the result of the stage.
    ///
    /// - Parameter shared: machine that shared the reply, and the age of the reply in seconds.
    func result(
        _ reply: VendorReply,
        of vendor: VendorClient,
        to question: Question,
        _ match: RouteTable.Match,
        limit: Limit? = nil,
        shared: (machine: String, age: UInt32)? = nil
    ) -> Result {
        let number = shared.map { origin(ofMachine: $0.machine, vendor) }
        let answerer = Provenance(
            source: .vendor,
            origin: number ?? origin(reply.server, of: vendor)
        )
        var provenance = answerer
        provenance.isShared = shared != nil
        provenance.wasMerged = reply.wasMerged
        var judgement = VendorReplyPolicy(
            reply.answer,
            to: question,
            match,
            policy.of(match),
            prefixes(),
            provenance,
            age: shared?.age ?? 0
        )
        // Only the query that started a shared call counts dropped addresses and returns siblings.
        if reply.wasMerged {
            judgement.siblings = []
        } else {
            if judgement.dropped > 0 {
                statistics.vendors.droppedByVendor[vendor.name, default: 0] += judgement.dropped
            }
        }
        if judgement.isNothing {
            emptyReplies.note(
                question.name,
                reply.families,
                from: answerer,
                of: vendor.name,
                isAfterLimit: limit != nil,
                now: clocks.now(),
                until: clocks.now() + .seconds(policy.negative.lowerBound)
            )
        }
        note(reply.answer, of: vendor, question.name)
        guard
            let resolution = judgement.resolution
                ?? noData(question, reply, vendor, match, provenance)
        else {
            return .empty(provenance, siblings: judgement.siblings)
        }
        return .answered(ResolvedAnswer(resolution, siblings: judgement.siblings))
    }

    private func note(_ answer: VendorAnswer, of vendor: VendorClient, _ name: Name) {
        guard vendor.facts.pairsFamilies,
            let set = answer.v4?.addresses.isEmpty == false ? answer.v4 : answer.v6,
            !set.addresses.isEmpty
        else { return }
        let until = clocks.now() + .seconds(Int64(max(set.ttl, policy.negative.upperBound)))
        knownNames.insert((vendor.name, set.ttl), of: name, until: until)
    }

    /// NODATA if only one family was requested, and the vendor recently had an address of the name.
    private func noData(
        _ question: Question,
        _ reply: VendorReply,
        _ vendor: VendorClient,
        _ match: RouteTable.Match,
        _ provenance: Provenance
    ) -> Resolution? {
        guard reply.families != .both, vendor.facts.pairsFamilies, reply.answer.isEmpty,
            reply.answer.dropped == 0,
            let known = knownNames.value(of: question.name, now: clocks.now()),
            known.vendor == vendor.name
        else { return nil }
        return .noData(
            question,
            zone: match.domain,
            seconds: policy.clamp(known.ttl, to: policy.negative),
            provenance: provenance
        )
    }

    /// All machines after the first ``FleetLimits/machines`` share one source number.
    private func origin(ofMachine machine: String, _ vendor: VendorClient) -> UInt16 {
        if let known = numbersByMachine[vendor.name]?[machine] { return known }
        let isFull = numbersByMachine[vendor.name]?.count ?? 0 >= FleetLimits.machines
        let label = isFull || machine.isEmpty ? "" : "/\(machine)"
        let number = origins.number("\(vendor.name)/fleet\(label)", vendor: vendor.name)
        if !isFull { numbersByMachine[vendor.name, default: [:]][machine] = number }
        return number
    }

    private func origin(_ address: SocketAddress, of vendor: VendorClient) -> UInt16 {
        let server = Server(vendor: vendor.name, address: address)
        if let latestServer, latestServer.server == server { return latestServer.number }
        let number =
            numbersByServer[server]
            ?? origins.number("\(vendor.name)/\(address)", vendor: vendor.name)
        numbersByServer[server] = number
        latestServer = (server, number)
        return number
    }
}

extension Question {
    var families: Families { type == .a ? .v4 : .v6 }
}
