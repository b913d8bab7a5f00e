// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// MARK: - What is asked

/// A request to a vendor, and how its reply is read.
protocol Inquiry: Sendable {
    associatedtype Value: Sendable

    var server: SocketAddress { get }

    /// Whom it is charged to, by name; nobody for a request that costs nothing.
    var charges: [CostTable.Charge] { get }

    /// Writes the request, signed with the time.
    func request(
        to vendor: any Vendor,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest

    /// What a reply says, for people.
    func text(_ value: Value) -> String

    /// Reads the reply.
    func value(in reply: HTTPReply, of vendor: any Vendor) throws(VendorError) -> Value
}

/// A look-up at one server.
struct AddressInquiry: Inquiry {
    let lookup: Lookup
    let server: SocketAddress
    let charges: [CostTable.Charge]

    func request(
        to vendor: any Vendor,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest {
        try vendor.request(for: lookup, at: server, now: wallSeconds, entropy: entropy)
    }

    func text(_ answers: [VendorAnswer]) -> String {
        answers.map(\.description).joined(separator: "; ")
    }

    func value(
        in reply: HTTPReply,
        of vendor: any Vendor
    ) throws(VendorError) -> [VendorAnswer] {
        try vendor.answers(to: lookup, in: reply)
    }
}

// MARK: - Asking

/// What became of an inquiry.
typealias InquiryResult<Value> = Result<(Value, HTTPReply), VendorError>

/// An inquiry under way: a request, and up to three more if they may help.
///
/// What is wrong on our side is so repaired: the name that certificates are for, the form of the
/// request, and, in either, the time that it is signed with.
@ServiceLoop
final class Exchange<Question: Inquiry>: Cancellable {
    /// What is told, once.
    typealias Tell = @ServiceLoop (InquiryResult<Question.Value>) -> Void

    private let client: VendorClient
    private let question: Question
    private let why: Trace.Why
    private let trace: Trace?
    private let deadline: ContinuousClock.Instant
    private let tell: Tell

    /// The way that the vendor is asked in.
    private var vendor: any Vendor

    /// What the requests in that way are signed with besides our time, and whether that was repaired.
    private var offset: Int64
    private var isRepaired = false

    /// Whether the known offset is left out, to see if it is still needed.
    private var isRetest: Bool

    /// Why the vendor's first way failed, once the other one is tried.
    private var first: VendorError?

    /// The request under way, and where its trace is.
    private var request: (any RequestHandle)?
    private var place: Trace.Place?

    /// Makes an exchange that has not begun.
    init(
        _ question: Question,
        with client: VendorClient,
        _ why: Trace.Why,
        until deadline: ContinuousClock.Instant,
        trace: Trace? = nil,
        _ tell: @escaping Tell
    ) {
        self.client = client
        self.question = question
        self.why = why
        self.trace = trace
        self.deadline = deadline
        self.tell = tell
        vendor = client.vendor
        (offset, isRetest) = client.skew.next(at: client.clocks.now())
    }

    /// Sends a request; to be called once.
    func begin() { send() }

    /// Calls the request off; that is told at once.
    func cancel() { request?.cancel() }

    /// Sends a request, signed with the offset.
    private func send() {
        let fresh = why == .fresh && !isRepaired
        switch client.prepare(question, of: vendor, offset: offset, fresh: fresh) {
        case .failure(let error):
            trace?.note("\(client.name) \(question.server): \(error)")
            end(.failure(error))
        case .success(var request):
            if let trace { note(&request, in: trace) }
            self.request = client.transport.send(request, deadline: deadline) { [self] in
                came($0.mapError(VendorError.transport))
            }
        }
    }

    /// Tells of a request that is about to be sent.
    private func note(_ request: inout HTTPRequest, in trace: Trace) {
        let isRepair = isRepaired || first != nil
        request.wantsTimes = true
        place = trace.begin(
            client.name,
            "\(question.server)",
            isRepair ? .repair : why,
            now: client.clocks.now()
        )
        place?.update { $0.request = request.redacted }
    }

    /// Tells what came of it.
    private func note(
        _ sent: Result<HTTPReply, VendorError>,
        _ result: InquiryResult<Question.Value>
    ) {
        guard let place else { return }
        if case .success(let reply) = sent { place.note(reply) }
        let text =
            switch result {
            case .success((let value, _)): question.text(value)
            case .failure(let error): "\(error)"
            }
        place.end(text, at: client.clocks.now())
    }

    /// A request has ended: sends another with the vendor's time if the vendor refuses ours.
    private func came(_ sent: Result<HTTPReply, VendorError>) {
        let wasSent = request?.wasSent ?? true
        request = nil
        let result = client.read(sent, to: question, of: vendor, wasSent: wasSent)
        note(sent, result)
        let now = client.clocks.now()
        if !isRepaired, now < deadline, let better = betterOffset(result, sent) {
            offset = better
            isRepaired = true
            return send()
        }
        if case .success = result {
            if isRepaired {
                client.skew.repaired(with: offset, at: now)
            } else {
                client.skew.accepted(with: offset)
            }
        }
        end(result)
    }

    /// The offset to sign with once more; nil if another one does not help.
    private func betterOffset(
        _ result: InquiryResult<Question.Value>,
        _ sent: Result<HTTPReply, VendorError>
    ) -> Int64? {
        if let better = client.betterOffset(than: offset, result, sent) { return better }
        // Without our correction the request was refused: that was what it needed.
        guard isRetest, case .failure(let error) = result, error.mayBeClockSkew else { return nil }
        return client.skew.offset
    }

    /// One way has brought a result: tells it, or tries the vendor's other way if that may help.
    private func end(_ result: InquiryResult<Question.Value>) {
        switch result {
        case .success:
            if first != nil { client.vendor = vendor }
            tell(result)
        case .failure(let error):
            if let first { return tell(.failure(first)) }
            guard let other = vendor.alternative(after: error), client.clocks.now() < deadline
            else {
                return tell(result)
            }
            first = error
            vendor = other
            offset = client.skew.offset ?? 0
            isRepaired = false
            isRetest = false
            send()
        }
    }
}

extension VendorClient {
    /// The offset of the vendor's clock, if a request that was signed with `used` was refused for it.
    fileprivate func betterOffset<Value>(
        than used: Int64,
        _ result: InquiryResult<Value>,
        _ sent: Result<HTTPReply, VendorError>
    ) -> Int64? {
        guard case .failure(let error) = result, error.mayBeClockSkew,
            case .success(let reply) = sent,
            let time = error.vendorSeconds ?? reply.date.flatMap(HTTPDate.init)?.seconds
        else { return nil }
        let limit = ClockSkew.limit(usesTLS: facts.usesTLS)
        let repair = skew.repair(
            used: used,
            vendorSeconds: time,
            wallSeconds: clocks.wallSeconds(),
            limit: limit
        )
        switch repair {
        case .sign(let offset): return offset
        case .refused(let offset):
            if skew.refused(offset) { observer?(.clockRefused(offset, limit: limit)) }
            return nil
        case .none: return nil
        }
    }

    /// The request for `question`, signed with our time and `offset`, and paid for.
    fileprivate func prepare<Question: Inquiry>(
        _ question: Question,
        of vendor: any Vendor,
        offset: Int64,
        fresh: Bool
    ) -> Result<HTTPRequest, VendorError> {
        Result { () throws(VendorError) in
            var request = try question.request(
                to: vendor,
                now: clocks.wallSeconds() &+ offset,
                entropy: entropy
            )
            request.certificateFile = settings.certificateFile
            request.version = settings.version
            request.proxy = settings.proxy
            request.wantsFreshConnection = fresh
            try pay(question)
            return request
        }
    }

    /// Reads what was sent back, and counts what it cost.
    fileprivate func read<Question: Inquiry>(
        _ sent: Result<HTTPReply, VendorError>,
        to question: Question,
        of vendor: any Vendor,
        wasSent: Bool
    ) -> InquiryResult<Question.Value> {
        let result = InquiryResult<Question.Value> { () throws(VendorError) in
            let reply = try sent.get()
            noteReply(reply, question)
            return (try question.value(in: reply, of: vendor), reply)
        }
        if case .failure(let error) = result {
            settle(question, isBilled: wasSent && error.mayBeBilled)
        } else {
            settle(question, isBilled: true)
        }
        return result
    }
}

// MARK: - Counting

extension VendorClient {
    /// Counts a request that is about to be sent.
    ///
    /// - Throws: `pace` or `budget` if it must not be.
    private func pay(_ question: some Inquiry) throws(VendorError) {
        guard !question.charges.isEmpty else { return }
        let now = clocks.now()
        guard !pace.forbids(now: now) else { throw .pace }
        let wallSeconds = clocks.wallSeconds()
        let isPaid = budget.spend(wallSeconds: wallSeconds)
        tellOfBudget(wallSeconds)
        guard isPaid else { throw .budget }
        pace.spend(now: now)
        counters.tries += 1
        update(question.server) { $0.tries += 1 }
    }

    /// Tells the observer, once a day, that the budget is spent.
    private func tellOfBudget(_ wallSeconds: Int64) {
        guard let rule = budget.rule, budget.tells(wallSeconds: wallSeconds) else { return }
        observer?(.budgetSpent(rule))
    }

    /// Counts a reply, whatever it says.
    private func noteReply(_ reply: HTTPReply, _ question: some Inquiry) {
        guard !question.charges.isEmpty else { return }
        records[question.server]?.latency.note(reply.duration)
        if reply.connectionReused {
            counters.connectionsReused += 1
        } else {
            counters.connectionsOpened += 1
        }
    }

    /// Counts the cost of a request that has ended, or returns it to the budget.
    private func settle(_ question: some Inquiry, isBilled: Bool) {
        guard !question.charges.isEmpty else { return }
        guard isBilled else {
            budget.refund()
            return
        }
        guard facts.isBillable else { return }
        counters.billable += 1
        counters.billableNames += UInt64(question.charges.count)
        for charge in question.charges {
            costs.note(charge)
            counters.billableByRoute[charge.route, default: 0] += 1
        }
    }

    /// Counts a try that brought nothing.
    func noteFailure(of server: SocketAddress, _ error: VendorError, _ now: ContinuousClock.Instant)
    {
        counters.failuresByKind[error.kind, default: 0] += 1
        // A call that was given up says nothing about the server.
        guard error.verdict != .notTheServer else { return }
        update(server) {
            $0.failures += 1
            $0.failuresInRow += 1
            $0.lastError = error
            $0.lastErrorAt = now
        }
    }

    /// Counts what the pool made of a report.
    func note(_ change: EndpointPool.Change?, for trace: Trace? = nil) {
        switch change {
        case .switched: counters.switches += 1
        case .returned: counters.returns += 1
        case nil: return
        }
        trace?.note("\(name): \(pool.current) is asked first from now on")
    }

    /// Changes the counters of `server`, which has some from its first try on.
    private func update(_ server: SocketAddress, _ change: (inout ServerStatistics) -> Void) {
        let record = records[server] ?? ServerRecord(server)
        change(&record.statistics)
        records[server] = record
    }
}

extension VendorError {
    /// The vendor's clock, if the error tells it.
    fileprivate var vendorSeconds: Int64? {
        if case .wrongTime(_, _, let seconds) = self { seconds } else { nil }
    }
}
