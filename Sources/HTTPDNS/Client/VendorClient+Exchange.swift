// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// MARK: - Requests

protocol VendorRequest: Sendable {
    associatedtype Value: Sendable

    var server: SocketAddress { get }

    /// Empty for a free request.
    var charges: ShortArray<CostTable.Charge> { get }

    /// Nil for a free request.
    var query: VendorQuery? { get }

    /// Nil for the daemon itself.
    var client: ClientNetwork? { get }

    /// False if the rate limit never refuses the request: a probe, or a request for the addresses
    /// of servers.
    var isPaced: Bool { get }

    func request(
        to vendor: any Vendor,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest

    func answers(in value: Value) -> [VendorAnswer]

    func text(_ value: Value) -> String

    func value(in reply: HTTPReply, of vendor: any Vendor) throws(VendorError) -> Value
}

struct AddressInquiry: VendorRequest {
    let lookup: VendorQuery
    let server: SocketAddress
    let charges: ShortArray<CostTable.Charge>
    let client: ClientNetwork?
    let isPaced: Bool

    var query: VendorQuery? { lookup }

    func answers(in value: [VendorAnswer]) -> [VendorAnswer] { value }

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

// MARK: - Sending

/// One request to a vendor, with up to three retries.
///
/// A retry corrects the certificate name, the form of the request, or the time of the signature.
@ServiceLoop
final class Exchange<Question: VendorRequest>: RequestHandle {
    typealias Completion = @ServiceLoop (Result<Question.Value, VendorError>) -> Void

    private let client: VendorClient
    private let question: Question
    private let why: Trace.Why
    private let trace: Trace?
    private let deadline: Instant
    private let completion: Completion

    private var vendor: any Vendor

    private var offset: Int64
    private var isRepaired = false

    private var isRetest: Bool

    private var first: VendorError?

    private var request: (any RequestHandle)?
    private var receipt: Budget.Receipt?
    private var place: Trace.Place?

    init(
        _ question: Question,
        with client: VendorClient,
        _ why: Trace.Why,
        until deadline: Instant,
        trace: Trace? = nil,
        _ completion: @escaping Completion
    ) {
        self.client = client
        self.question = question
        self.why = why
        self.trace = trace
        self.deadline = deadline
        self.completion = completion
        vendor = client.vendor
        (offset, isRetest) = client.skew.next(at: client.clocks.now())
    }

    var wasSent: Bool { request?.wasSent ?? false }

    var sentAt: Instant? { request?.sentAt }

    func begin() { send() }

    func cancel() { request?.cancel() }

    private func send() {
        let fresh = if case .fresh = why { !isRepaired } else { false }
        do throws(VendorError) {
            var (request, receipt) = try client.prepare(
                question,
                of: vendor,
                offset: offset,
                fresh: fresh
            )
            self.receipt = receipt
            if let trace { note(&request, in: trace) }
            self.request = client.transport.send(consume request, deadline: deadline) { [self] in
                came($0)
            }
        } catch {
            trace?.note("\(client.name) \(question.server): \(error)")
            end(.failure(error))
        }
    }

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

    private func note(
        _ sent: Result<HTTPReply, HTTPError>,
        _ result: Result<Question.Value, VendorError>,
        at place: Trace.Place
    ) {
        if case .success(let reply) = sent { place.note(reply) }
        let text =
            switch result {
            case .success(let value): question.text(value)
            case .failure(let error): "\(error)"
            }
        place.end(text, at: client.clocks.now())
    }

    private func came(_ sent: Result<HTTPReply, HTTPError>) {
        let wasSent = request?.wasSent ?? true
        let (result, _) = client.read(sent, to: question, of: vendor, wasSent: wasSent, receipt)
        if case .failure(let error) = result {
            if error.mayBeOfOneHost { request?.distrustConnection() }
            if error.mayBeOfHostOrName { request?.doubtConnection() }
        }
        request = nil
        if let place { note(sent, result, at: place) }
        switch result {
        case .success:
            if isRepaired {
                client.skew.repaired(with: offset, at: client.clocks.now())
            } else {
                client.skew.accepted(with: offset)
            }
        case .failure(let error):
            if !isRepaired, client.clocks.now() < deadline, let better = betterOffset(error, sent) {
                offset = better
                isRepaired = true
                return send()
            }
        }
        end(result)
    }

    private func betterOffset(
        _ error: VendorError,
        _ sent: Result<HTTPReply, HTTPError>
    ) -> Int64? {
        if let better = client.betterOffset(than: offset, error, sent) { return better }
        // The vendor refused a request that tested the local time without the stored offset. The
        // retry uses the stored offset.
        guard isRetest, error.mayBeClockSkew else { return nil }
        return client.skew.offset
    }

    private func end(_ result: Result<Question.Value, VendorError>) {
        switch result {
        case .success:
            if first != nil { client.vendor = vendor }
            completion(result)
        case .failure(let error):
            if let first {
                let isCancelled = error == .transport(.cancelled)
                return completion(.failure(isCancelled ? error : first))
            }
            guard let other = vendor.alternative(after: error), client.clocks.now() < deadline
            else {
                return completion(result)
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
    fileprivate func betterOffset(
        than used: Int64,
        _ error: VendorError,
        _ sent: Result<HTTPReply, HTTPError>
    ) -> Int64? {
        guard error.mayBeClockSkew, case .success(let reply) = sent,
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

    /// Creates a request, signed for the local time plus `offset`, and charges it to the budget.
    func prepare<Question: VendorRequest>(
        _ question: Question,
        of vendor: any Vendor,
        offset: Int64,
        fresh: Bool,
        by other: PriceModel? = nil
    ) throws(VendorError) -> (HTTPRequest, Budget.Receipt?) {
        var request = try question.request(
            to: vendor,
            now: clocks.wallSeconds() &+ offset,
            entropy: entropy
        )
        request.provider = provider
        request.certificateFile = settings.certificateFile
        request.version = settings.version
        request.proxy = settings.proxy
        request.wantsFreshConnection = fresh
        // The transport must not repeat a billable request, because each repetition is charged.
        request.isSentOnce = question.query != nil
        return (request, try pay(question, by: other))
    }

    func read<Question: VendorRequest>(
        _ sent: Result<HTTPReply, HTTPError>,
        to question: Question,
        of vendor: any Vendor,
        wasSent: Bool,
        _ receipt: Budget.Receipt?,
        by other: PriceModel? = nil
    ) -> (Result<Question.Value, VendorError>, UnitRange) {
        let result: Result<Question.Value, VendorError>
        // Unlike `Result.init(catching:)`, `do` needs no check of the executor.
        do throws(VendorError) {
            switch sent {
            case .success(let reply):
                noteReply(reply, question)
                result = .success(try question.value(in: reply, of: vendor))
            case .failure(let error): throw .transport(error)
            }
        } catch {
            result = .failure(error)
        }
        if let client = question.client { noteSize(of: sent, to: question.query, client) }
        guard let receipt else { return (result, .zero) }
        let (fate, mayBeBilled, isAuthentic): (PriceModel.Fate, Bool, Bool)
        switch result {
        case .success(let value):
            (fate, mayBeBilled) = (.answered(question.answers(in: value)), true)
            isAuthentic = facts.isProtected
        case .failure(let error):
            mayBeBilled = wasSent && error.mayBeBilled
            fate = error.fate(mayBeBilled)
            isAuthentic = facts.usesTLS || !wasSent
        }
        let units = settle(
            question,
            receipt,
            fate,
            mayBeBilled: mayBeBilled,
            refunds: isAuthentic,
            by: other
        )
        return (result, units)
    }

    private func noteSize(
        of sent: Result<HTTPReply, HTTPError>,
        to query: VendorQuery?,
        _ client: ClientNetwork
    ) {
        let octets =
            switch sent {
            case .success(let reply): reply.body.count
            case .failure(.bodyTooLarge(let limit)): limit
            case .failure: 0
            }
        let more = octets - ClientLimits.usualReplyOctets * max(1, query?.names.count ?? 0)
        let now = clocks.now()
        // The limit protects other clients. Without other clients, it would only delay this client,
        // for example after large replies of one faulty server.
        guard more > 0, hasOthers(than: client, now) else { return }
        shares.noteLargeReply(more, of: client, now: now)
    }

    func send(
        _ request: HTTPRequest,
        until deadline: Instant
    ) async -> (Result<HTTPReply, HTTPError>, wasSent: Bool) {
        var handle: (any RequestHandle)?
        let result = await withCheckedContinuation { continuation in
            handle = transport.send(request, deadline: deadline) {
                continuation.resume(returning: $0)
            }
        }
        return (result, handle?.wasSent ?? true)
    }
}
