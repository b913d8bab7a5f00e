// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Transport for DNS over HTTPS (RFC 8484): POST, with HTTP/2 if the server supports it.
package final class HTTPSTransport: UpstreamTransport {
    package let isProtected = true
    package let validates: Bool

    package let repeatsAfter: Duration? = .seconds(1)

    /// Request without a body.
    let template: HTTPRequest
    let http: any HTTPTransport

    /// HTTP client for probes, which must not wait behind slow client queries.
    private let probes: any HTTPTransport
    let transfers: UpstreamTransfers
    let clocks: Clocks
    private var opened: UInt64 = 0
    private var reused: UInt64 = 0

    /// Time of the last reply, or of the last request for a new connection.
    var lastRenewed: Instant?

    /// New connections for client queries, while only the daemon's own queries get replies.
    var renewals = Renewals()

    /// Time of the first query after the last reply or error; nil if there was none.
    var silentSince: Instant?

    /// Value of `silentSince` at the last check; prevents a second check of the same silent period.
    var silenceProbed: Instant?

    /// Unanswered requests of clients on connections that other clients also use.
    var shared: [ObjectIdentifier: SharedRequest] = [:]
    var separate = SeparateRequests()

    lazy var alarm = Alarm(clocks) { [weak self] in self?.checkSilence() }

    var opening = OpeningPatience()

    var connectionCheck = ConnectionCheck()
    private var probeReplacements = ReplacementSpacing()

    /// Request that waits for a connection, or is the first request of a new connection.
    var watched: (request: any RequestHandle, attempt: Attempt, since: Instant)?
    lazy var openingAlarm = Alarm(clocks) { [weak self] in self?.checkOpening() }
    private var random = SystemRandomNumberGenerator()

    /// Creates a transport for POST requests to `url` at `server`.
    ///
    /// - Parameter probes: the HTTP client for probes, with its own connections; nil to use `http`.
    package init(
        to url: String,
        at server: SocketAddress,
        certificateFile: String?,
        validates: Bool = false,
        over http: any HTTPTransport,
        probes: (any HTTPTransport)? = nil,
        shares: TransferShares = TransferShares(),
        clocks: Clocks = .system
    ) {
        var template = HTTPRequest(url: url, server: server)
        // The limit of CPU time is per server: endless frames of one server must not prevent
        // queries to the other servers.
        template.provider = "\(url) \(server)"
        template.headers = Self.headers
        template.certificateFile = certificateFile
        template.keepsSilentConnection = true
        template.keepsURL = true
        self.template = template
        self.validates = validates
        self.http = http
        self.probes = probes ?? http
        transfers = shares.transfers(at: url, clocks: clocks)
        self.clocks = clocks
    }

    package func carry(_ attempt: Attempt) {
        let isProbe = attempt.query.isProbe
        let transfer =
            isProbe
            ? nil
            : transfers.begin(
                attempt.client,
                isRepetition: attempt.earlier != nil,
                now: attempt.sent
            )
        guard isProbe || transfer != nil else {
            return attempt.end(.failure(transfers.error(for: attempt.client)))
        }
        let exchange = exchange(attempt.query, usesEDNS: attempt.usesEDNS)
        // A repetition needs a new connection, unless data has arrived since the earlier attempt:
        // then only the name is slow.
        let isSilent = attempt.earlier.map { (lastRenewed ?? $0) <= $0 } ?? false
        // Begins with the daemon's own query: after a client's query, the server could stop replying.
        let isRenewal = isSilent && !isProbe && !transfers.isHTTP1 && opening.usual != nil
        let isFresh =
            attempt.earlier.map { earlier in
                isProbe || isSilent && !isRenewal
                    || !transfers.isHTTP1 && renewals.begin(repeating: earlier, at: attempt.sent)
            } ?? false
        if !isProbe {
            if isRenewal {
                renew(at: attempt.sent)
            } else if attempt.earlier != nil, !isFresh {
                checkConnection(attempt.usesEDNS, attempt.sent)
            }
            if isFresh { lastRenewed = attempt.sent }
            if silentSince == nil { silentSince = attempt.sent }
            alarm.bring(forward: attempt.sent + silentTime * 2 / 3)
        }
        if let transfer, !transfers.run(transfer) {
            wait(exchange, for: attempt, transfer, isFresh: isFresh) {
                transfers.enqueue(transfer, $0)
            }
        } else {
            send(exchange, for: attempt, transfer, isFresh: isFresh)
        }
    }

    func exchange(_ query: Query, usesEDNS: Bool = true) -> UpstreamExchange {
        UpstreamExchange(
            query,
            over: .encrypted,
            usesEDNS: usesEDNS,
            validates: validates,
            random: &random
        )
    }

    private func wait(
        _ exchange: UpstreamExchange,
        for attempt: Attempt,
        _ transfer: UpstreamTransfers.Transfer,
        isFresh: Bool,
        _ enqueue: (@escaping @ServiceLoop () -> Void) -> Void
    ) {
        let waiting = WaitingRequest(until: attempt.deadline, clocks) { [self] error in
            let error =
                transfer.error ?? (error.isCrowded ? transfers.error(for: attempt.client) : error)
            transfers.end(transfer)
            transfer.request = nil
            ServiceLoop.task { attempt.end(.failure(error)) }
        }
        transfer.request = waiting
        attempt.cancellation?.whenCancelled { waiting.cancel() }
        enqueue { [self] in
            guard !waiting.isOver else { return }
            waiting.end()
            send(exchange, for: attempt, transfer, isFresh: isFresh)
        }
    }

    func request(
        _ exchange: UpstreamExchange,
        isFresh: Bool,
        wantsTimes: Bool = false
    ) -> HTTPRequest {
        var request = template
        request.body = exchange.message
        request.wantsFreshConnection = isFresh
        request.wantsTimes = wantsTimes
        return request
    }

    package func count(in numbers: inout UpstreamNumbers) {
        numbers.connectionsOpened = opened
        numbers.connectionsReused = reused
    }

    package func networkChanged() {
        (opening, watched) = (OpeningPatience(), nil)
        (connectionCheck, renewals) = (ConnectionCheck(), Renewals())
        separate.questions = RecentKeys()
        http.reset()
        probes.reset()
    }

    private func send(
        _ exchange: UpstreamExchange,
        for attempt: Attempt,
        _ transfer: UpstreamTransfers.Transfer?,
        isFresh: Bool
    ) {
        let start = clocks.now()
        let isSeparate =
            transfer != nil && separate.questions.contains(attempt.query.question, at: start)
        if let transfer, isSeparate, !separate.begin(attempt.client) {
            return wait(exchange, for: attempt, transfer, isFresh: isFresh) {
                separate.waiting.append((attempt.client, $0))
            }
        }
        let place = attempt.place
        var request = request(exchange, isFresh: isFresh, wantsTimes: place != nil)
        if isSeparate {
            request.provider = separateProvider
            (request.wantsFreshConnection, request.keepsSilentConnection) = (false, false)
        }
        if let place {
            let text = request.redacted
            place.update { $0.request = text }
        }
        let transport = transfer == nil ? probes : http
        var handle: (any RequestHandle)?
        let sending = transport.send(request, deadline: attempt.deadline) { [self] sent in
            if watched?.attempt === attempt { watched = nil }
            let isMoved = shared.removeValue(forKey: ObjectIdentifier(attempt))?.isMoved ?? false
            if isSeparate { endSeparate(attempt.client) }
            if isMoved, transfer?.error == nil, clocks.now() < attempt.deadline,
                !attempt.isOver, !attempt.isCancelled
            {
                return send(exchange, for: attempt, transfer, isFresh: false)
            }
            if isLost(sent, attempt) {
                attempt.repetitions += 1
                return send(exchange, for: attempt, transfer, isFresh: isFresh)
            }
            count(sent)
            let outcome = outcome(of: sent, to: exchange)
            if let transfer {
                // Probes use other connections.
                if !isSeparate {
                    note(sent, since: start)
                    if wasReceived(sent) { noteOutcome(outcome, of: attempt, handle) }
                }
                transfers.end(transfer)
                transfer.request = nil
                // If a newer transfer replaced this one, the call of `begin` for the newer transfer
                // still runs. The end of the attempt can call `begin` again, so it comes later.
                if let error = transfer.error {
                    ServiceLoop.task { attempt.end(.failure(error)) }
                    return
                }
            } else if wasReceived(sent), !outcome.isUsable,
                probeReplacements.begin(at: clocks.now()) == nil
            {
                // The next probe uses a new connection, and possibly another host.
                handle?.distrustConnection()
            }
            handle = nil
            if case .success(let reply) = sent { attempt.place?.note(reply) }
            attempt.end(outcome)
        }
        handle = sending
        if let transfer {
            transfer.request = sending
            if isSeparate {
                // The next request opens another connection; this one ends with its request.
                http.replaceConnections(of: separateProvider)
            } else {
                shared[ObjectIdentifier(attempt)] =
                    SharedRequest(attempt: attempt, handle: sending, start: start)
                watchOpening(sending, attempt, start)
            }
        }
        attempt.cancellation?.whenCancelled { sending.cancel() }
    }

    /// True if a request failed with its connection, and must be repeated.
    ///
    /// True after the first loss of a connection that had a reply. After other losses, true only if
    /// the server has replied before, because then perhaps only one host of a pool is faulty. A
    /// busy client gets fewer repetitions, because the server may be overloaded.
    private func isLost(_ sent: Result<HTTPReply, HTTPError>, _ attempt: Attempt) -> Bool {
        guard case .failure(let error) = sent, clocks.now() < attempt.deadline, !attempt.isOver,
            !attempt.isCancelled, attempt.repetitions < UpstreamLimits.repetitions
        else { return false }
        let (hasReplied, isBusy) = (opening.usual != nil, attempt.isOfBusyClient)
        switch error {
        case .broken: return attempt.repetitions == 0 || hasReplied && !isBusy
        case .tls: return hasReplied
        case .cutOff, .connect(_, isOpen: true): return hasReplied && !isBusy
        default: return false
        }
    }

    /// True if the server sent a reply, even an invalid one.
    private func wasReceived(_ sent: Result<HTTPReply, HTTPError>) -> Bool {
        switch sent {
        case .success, .failure(.bodyTooLarge), .failure(.broken): true
        case .failure: false
        }
    }

    private func noteOutcome(
        _ outcome: Attempt.Outcome,
        of attempt: Attempt,
        _ handle: (any RequestHandle)?
    ) {
        guard !outcome.isUsable else {
            if attempt.client != nil { renewals.answered(at: clocks.now()) }
            return
        }
        if transfers.isHTTP1 {
            // Not after an error RCODE: a client can query names with this result.
            if case .failure = outcome { handle?.distrustConnection() }
        } else if !attempt.isOfBusyClient, !(attempt.usesEDNS && outcome.rejectsEDNS) {
            checkConnection(attempt.usesEDNS, clocks.now())
        }
    }

    private func count(_ sent: Result<HTTPReply, HTTPError>) {
        guard case .success(let reply) = sent else { return }
        transfers.note(isHTTP1: reply.isHTTP1)
        if reply.connectionReused { reused += 1 } else { opened += 1 }
    }

    func outcome(
        of sent: Result<HTTPReply, HTTPError>,
        to exchange: UpstreamExchange
    ) -> Attempt.Outcome {
        switch sent {
        case .failure(let error):
            return .failure(UpstreamError(error))
        case .success(let reply):
            // The isolation check of a closure for `Result.init` would take 330 instructions.
            do throws(UpstreamError) {
                return .success(try Self.message(in: reply, to: exchange))
            } catch {
                return .failure(error)
            }
        }
    }

    private static let headers = ["Content-Type: \(mediaType)", "Accept: \(mediaType)"]

    /// Media type of a DNS message (RFC 8484 §6).
    private static let mediaType = "application/dns-message"
}

// MARK: - Replies

extension HTTPSTransport {
    /// Returns the DNS message in an HTTP reply; reduces TTLs by the HTTP `Age` (RFC 8484 §5.1).
    static func message(
        in reply: HTTPReply,
        to exchange: UpstreamExchange
    ) throws(UpstreamError) -> UpstreamReply {
        guard reply.status != 429 else { throw .rateLimited }
        guard reply.status == 200 else {
            throw .httpStatus(reply.status)
        }
        guard isMessage(reply.contentType) else {
            throw .broken("sent a body that is not a DNS message")
        }
        guard var answer = exchange.judgeStream(reply.body) else {
            throw .broken("the reply does not match the query")
        }
        if let age = reply.age.flatMap(seconds), age > 0 { answer.grow(olderBy: age) }
        return answer
    }

    private static func isMessage(_ type: String?) -> Bool {
        guard let type else { return false }
        if type == mediaType { return true }
        return type.prefix { $0 != ";" }.lowercased().split(separator: " ") == [mediaType[...]]
    }

    /// Parses seconds (RFC 9111 §1.2.2); returns ``UpstreamLimits/age`` for a larger number.
    private static func seconds(_ text: String) -> UInt32? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return min(UInt32(text) ?? .max, UpstreamLimits.age)
    }
}

extension UpstreamReply {
    fileprivate mutating func grow(olderBy age: UInt32) {
        switch self {
        case .plain(var reply):
            reply.mapTTLs { $0 - min($0, age) }
            self = .plain(reply)
        case .message(var message):
            message.grow(olderBy: age)
            self = .message(message)
        }
    }
}

extension Message {
    fileprivate mutating func grow(olderBy age: UInt32) {
        func older(_ record: Record) -> Record {
            var record = record
            // The TTL of a negative answer is the lower of the SOA's TTL and MINIMUM (RFC 2308 §5).
            if case .soa(let soa) = record.data { record.ttl = min(record.ttl, soa.minimum) }
            record.ttl -= min(record.ttl, age)
            return record
        }
        answers = answers.map { record in
            var record = record
            record.ttl -= min(record.ttl, age)
            return record
        }
        authorities = authorities.map(older)
        additionals = additionals.map(older)
    }
}
