// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
package import Net

/// Asks the vendors of a route, one after the other, and answers both families with one call.
///
/// Clients ask A and AAAA of a name nearly at once, and a vendor bills each call: so whoever asks
/// first has both asked where one call can, and both answers are kept.  Whoever asks meanwhile gets
/// the same answer from the vendor's client, which is where calls are shared.
@ServiceLoop
package final class VendorStage {
    private let policy: TTLPolicy
    private let books: Bookkeeping
    private let clocks: Clocks

    /// Who had nothing for names; asking for the other family is spared.
    private var knownEmpty = RecentNames<Provenance>(limit: 4_096)

    /// What happened besides answers.
    package var numbers: VendorStageNumbers { books.vendors }

    /// The numbers of servers that answered, as `origins` has them by name.
    private var numbersByServer: [Server: UInt16] = [:]

    /// A server of one vendor.
    private struct Server: Hashable {
        let vendor: String
        let address: SocketAddress
    }

    /// How long vendors' answers took.
    package nonisolated var latency: LatencyHistogram { books.vendorLatency }

    private var origins: Origins { books.origins }

    /// Makes the stage, which counts in `books`.
    package init(policy: TTLPolicy, books: Bookkeeping, clocks: Clocks) {
        self.policy = policy
        self.books = books
        self.clocks = clocks
    }

    /// What is known after the vendors of a route were asked.
    enum Result {
        case answered(Finding)

        /// There is such a vendor, but it has no address: no record, or a name not registered with
        /// it; the two cannot be told apart.  Of the other family it may have some.
        case empty(Provenance, siblings: [(question: Question, resolution: Resolution)] = [])

        /// No vendor gave an answer in time.
        case failed
    }

    /// What `ask` is to tell.
    typealias Tell = @ServiceLoop (Result) -> Void

    /// Asks one vendor after the other, each with its share of the time that is left.
    ///
    /// - Parameters:
    ///   - trace: told of the calls, and of those that are not made.
    ///   - cancellation: ends the wait early; a call that has begun goes on.
    ///   - tell: called once, perhaps before this returns.
    func ask(
        _ query: Query,
        _ match: RouteTable.Match,
        deadline: ContinuousClock.Instant,
        trace: Trace?,
        cancellation: CancellationSignal? = nil,
        _ tell: @escaping Tell
    ) {
        let start = clocks.now()
        if let provenance = knownEmpty.value(of: query.question.name, now: start) {
            if let vendor = origins.vendor(provenance.origin) {
                books.vendors.pairedByVendor[vendor, default: 0] += 1
            }
            trace?.note("no call: \(origins.name(provenance.origin)) has just had nothing")
            return tell(.empty(provenance))
        }
        let end = min(deadline, start + ResolverLimits.vendors)
        ask(match.route.vendors[...], query.question, match, until: end, trace, cancellation, tell)
    }

    /// Asks the first of some vendors, and the others if that has nothing to say.
    private func ask(
        _ vendors: ArraySlice<VendorClient>,
        _ question: Question,
        _ match: RouteTable.Match,
        until end: ContinuousClock.Instant,
        _ trace: Trace?,
        _ cancellation: CancellationSignal?,
        _ tell: @escaping Tell
    ) {
        let now = clocks.now()
        guard let vendor = vendors.first, now < end, !(cancellation?.isCancelled ?? false) else {
            return tell(.failed)
        }
        let (name, families) = (question.name, question.type == .a ? Families.v4 : .v6)
        let (route, deadline) = (match.route.place, now + (end - now) / vendors.count)
        if passesOver(vendors, match) {
            trace?.note("\(vendor.name): nothing is heard of it, so nobody waits for it")
            vendor.beginTrial()
            let others = vendors.dropFirst()
            return ask(others, question, match, until: end, trace, cancellation, tell)
        }
        vendor.ask(
            name,
            families,
            route: route,
            deadline: deadline,
            trace: trace,
            cancellation: cancellation
        ) { [self] found in
            switch found {
            case .success(let reply):
                latency.note(reply.duration)
                tell(result(reply, of: vendor, to: question, match))
            case .failure(let failure):
                trace?.note("\(vendor.name): no answer (\(failure.reason))")
                let others = vendors.dropFirst()
                ask(others, question, match, until: end, trace, cancellation, tell)
            }
        }
    }

    /// Whether the first of some vendors is left out: nothing is heard of it, and there is another
    /// source.
    private func passesOver(
        _ vendors: ArraySlice<VendorClient>,
        _ match: RouteTable.Match
    ) -> Bool {
        guard let vendor = vendors.first else { return false }
        return vendor.isSilent && (vendors.count > 1 || match.route.fallsBack)
    }

    /// The vendors of a route in the order in which `ask` would come to them.
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

    /// Who has just had nothing for the name, so that no vendor is asked; nil if nobody.
    func emptyVendor(_ query: Query) -> String? {
        knownEmpty.value(of: query.question.name, now: clocks.now())
            .map { origins.name($0.origin) }
    }

    /// Forgets which names had nothing, so that they are asked for again.
    package func forget() {
        knownEmpty.removeAll()
    }

    /// Notes that a fallback's answer spares the vendor, which had none, the next call.
    func note(_ resolution: inout Resolution, after empty: Provenance) {
        guard let vendor = origins.vendor(empty.origin) else { return }
        resolution.provenance.origin = origins.number(
            resolution.provenance.origin,
            after: vendor
        )
    }

    // MARK: - What replies are

    /// What a vendor's reply is to the question, with the other family if it came along.
    private func result(
        _ reply: VendorReply,
        of vendor: VendorClient,
        to question: Question,
        _ match: RouteTable.Match
    ) -> Result {
        let answerer = Provenance(source: .vendor, origin: origin(reply.server, of: vendor))
        var provenance = answerer
        provenance.wasMerged = reply.wasMerged
        var judgement = VendorJudgement(reply.answer, to: question, match, policy, provenance)
        // Who joined another's call need not count and hand on what that one does.
        if reply.wasMerged {
            judgement.siblings = []
        } else {
            if judgement.dropped > 0 {
                books.vendors.droppedByVendor[vendor.name, default: 0] += judgement.dropped
            }
        }
        if judgement.isNothing, vendor.facts.pairsFamilies {
            // The other family of the name is answered without a call for a while.
            knownEmpty.insert(
                answerer,
                of: question.name,
                until: clocks.now() + .seconds(policy.negative.lowerBound)
            )
        }
        guard let resolution = judgement.resolution else {
            return .empty(provenance, siblings: judgement.siblings)
        }
        return .answered(Finding(resolution, siblings: judgement.siblings))
    }

    /// The number of a server that answered.
    private func origin(_ address: SocketAddress, of vendor: VendorClient) -> UInt16 {
        let server = Server(vendor: vendor.name, address: address)
        if let known = numbersByServer[server] { return known }
        let number = origins.number("\(vendor.name)/\(address)", vendor: vendor.name)
        numbersByServer[server] = number
        return number
    }
}

/// Counts of what the vendor stage did besides answering.
package struct VendorStageNumbers: Sendable, Equatable {
    /// Questions that needed no call because the name's other family had just been found empty, by
    /// the vendor.
    package var pairedByVendor: [String: UInt64] = [:]

    /// The same of all vendors.
    package var paired: UInt64 { pairedByVendor.values.reduce(0, +) }

    /// Private addresses in answers that were dropped, by the vendor.
    package var droppedByVendor: [String: UInt64] = [:]

    /// The same of all vendors.
    package var droppedAddresses: UInt64 { droppedByVendor.values.reduce(0, +) }
}
