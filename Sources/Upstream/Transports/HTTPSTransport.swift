// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Transport for DNS over HTTPS (RFC 8484): POST, with HTTP/2 if the server supports it.
package final class HTTPSTransport: UpstreamTransport {
    package let isProtected = true
    package let validates: Bool

    package let repeatsAfter: Duration? = .seconds(1)

    /// Request without a body.
    private let template: HTTPRequest
    private let http: any HTTPTransport

    /// HTTP client for probes, which must not wait behind slow client queries.
    private let probes: any HTTPTransport
    private let transfers: UpstreamTransfers
    private let clocks: Clocks
    private var opened: UInt64 = 0
    private var reused: UInt64 = 0

    /// Time of the last reply, or of the last request for a new connection.
    private var lastRenewed: Instant?

    /// Time of the first query after the last reply or error; nil if there was none.
    private var silentSince: Instant?

    private lazy var alarm = Alarm(clocks) { [weak self] in self?.checkSilence() }

    private var opening = OpeningPatience()

    private var lossCheck = LossCheck()

    /// Request that possibly waits for a connection.
    private var unsent: (request: any RequestHandle, attempt: Attempt, since: Instant)?
    private lazy var openingAlarm = Alarm(clocks) { [weak self] in self?.checkOpening() }
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
        let exchange = UpstreamExchange(
            attempt.query,
            over: .encrypted,
            usesEDNS: attempt.usesEDNS,
            validates: validates,
            random: &random
        )
        // A repetition needs a new connection, unless data has arrived since the earlier attempt:
        // then only the name is slow.
        let isFresh = attempt.earlier.map { isProbe || (lastRenewed ?? $0) <= $0 } ?? false
        if !isProbe {
            if attempt.earlier != nil, !isFresh { checkLoss(attempt.sent) }
            if isFresh { lastRenewed = attempt.sent }
            if silentSince == nil { silentSince = attempt.sent }
            alarm.bring(forward: attempt.sent + UpstreamLimits.silence / 2)
        }
        if let transfer, !transfers.run(transfer) {
            wait(exchange, for: attempt, transfer, isFresh: isFresh)
        } else {
            send(exchange, for: attempt, transfer, isFresh: isFresh, isRepeated: false)
        }
    }

    private func wait(
        _ exchange: UpstreamExchange,
        for attempt: Attempt,
        _ transfer: UpstreamTransfers.Transfer,
        isFresh: Bool
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
        transfers.enqueue(transfer) { [self] in
            waiting.end()
            send(exchange, for: attempt, transfer, isFresh: isFresh, isRepeated: false)
        }
    }

    private func request(
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

    /// Sends queries of the daemon itself if client queries get no reply.
    private func checkSilence() {
        guard let since = silentSince else { return }
        let now = clocks.now()
        let check = since + UpstreamLimits.silence / 2
        guard now >= check else { return alarm.set(check) }
        let isFresh = now - since >= UpstreamLimits.silence
        if isFresh {
            (silentSince, lastRenewed) = (nil, now)
        } else {
            alarm.set(since + UpstreamLimits.silence)
        }
        sendProbe(isFresh: isFresh, now)
    }

    /// Watches one of the requests that wait for a connection.
    private func watchOpening(_ request: any RequestHandle, _ attempt: Attempt, _ now: Instant) {
        if let unsent, unsent.request.sentAt == nil, !unsent.attempt.isOver { return }
        unsent = (request, attempt, now)
        openingAlarm.bring(forward: now + opening.time)
    }

    /// Opens another connection if a request has no connection; waiting requests then use it.
    private func checkOpening() {
        guard let unsent, unsent.request.sentAt == nil, !unsent.attempt.isOver else {
            return self.unsent = nil
        }
        let now = clocks.now()
        let end = unsent.since + opening.time
        guard now >= end else { return openingAlarm.set(end) }
        opening.openedAnother()
        self.unsent = (unsent.request, unsent.attempt, now)
        openingAlarm.set(now + opening.time)
        sendProbe(isFresh: true, now)
    }

    private func sendProbe(isFresh: Bool, _ now: Instant) {
        send(.probe, isFresh: isFresh, until: now + UpstreamLimits.connect) { [self] sent in
            note(sent, since: now)
        }
    }

    /// Sends a query of the daemon over the connection that carries the clients' queries.
    @discardableResult
    private func send(
        _ query: Query,
        isFresh: Bool = false,
        until deadline: Instant,
        _ completion: @escaping HTTPTransport.Handler
    ) -> any RequestHandle {
        let exchange = UpstreamExchange(
            query,
            over: .encrypted,
            usesEDNS: true,
            validates: validates,
            random: &random
        )
        return http.send(
            request(exchange, isFresh: isFresh),
            deadline: deadline,
            completion
        )
    }

    /// Drops all connections to the server if a check shows that a connection loses queries.
    ///
    /// See ``PipelinedConnection/checkLoss(_:)``. HTTP/1.1 has no queries that share a connection.
    private func checkLoss(_ now: Instant) {
        guard !transfers.isHTTP1, let number = lossCheck.begin(at: now) else { return }
        for (index, query) in Query.samples.prefix(UpstreamLimits.lossCheckQueries).enumerated() {
            let request = send(query, until: now + UpstreamLimits.silence) { [self] sent in
                guard lossCheck.ended(index, sent, of: number) else { return }
                http.reset(only: template.provider)
            }
            lossCheck.requests.append(request)
        }
    }

    /// Clears `silentSince` after a reply or an error; a timeout or a cancellation changes nothing.
    private func note(_ sent: Result<HTTPReply, HTTPError>, since start: Instant) {
        switch sent {
        case .failure(.timedOut), .failure(.cancelled): return
        case .failure: break
        case .success(let reply):
            let now = clocks.now()
            lastRenewed = now
            // Includes the wait for the first reply.
            if !reply.connectionReused { opening.replied(now - start) }
        }
        silentSince = nil
    }

    package func count(in numbers: inout UpstreamNumbers) {
        numbers.connectionsOpened = opened
        numbers.connectionsReused = reused
    }

    package func networkChanged() {
        (opening, unsent, lossCheck) = (OpeningPatience(), nil, LossCheck())
        http.reset()
        probes.reset()
    }

    private func send(
        _ exchange: UpstreamExchange,
        for attempt: Attempt,
        _ transfer: UpstreamTransfers.Transfer?,
        isFresh: Bool,
        isRepeated: Bool
    ) {
        let place = attempt.place
        let request = request(exchange, isFresh: isFresh, wantsTimes: place != nil)
        if let place {
            let text = request.redacted
            place.update { $0.request = text }
        }
        let transport = transfer == nil ? probes : http
        let start = clocks.now()
        let sending = transport.send(request, deadline: attempt.deadline) { [self] sent in
            if unsent?.attempt === attempt { unsent = nil }
            if !isRepeated, isLost(sent), clocks.now() < attempt.deadline {
                return send(exchange, for: attempt, transfer, isFresh: isFresh, isRepeated: true)
            }
            if let transfer {
                // Probes use other connections.
                note(sent, since: start)
                transfers.end(transfer)
                transfer.request = nil
                // If a newer transfer replaced this one, the call of `begin` for the newer transfer
                // still runs. The end of the attempt can call `begin` again, so it comes later.
                if let error = transfer.error {
                    ServiceLoop.task { attempt.end(.failure(error)) }
                    return
                }
            }
            if case .success(let reply) = sent { attempt.place?.note(reply) }
            // The isolation check of a closure for `Result.init` would take 330 instructions.
            let message: UpstreamReply
            do throws(UpstreamError) {
                message = try self.message(in: sent, to: exchange)
            } catch {
                return attempt.end(.failure(error))
            }
            attempt.end(.success(message))
        }
        if let transfer {
            transfer.request = sending
            watchOpening(sending, attempt, start)
        }
        attempt.cancellation?.whenCancelled { sending.cancel() }
    }

    /// True if a request failed with its connection, and must be repeated.
    ///
    /// After an invalid certificate, true if the server has sent replies before: possibly only one
    /// host of a pool has an invalid certificate.
    private func isLost(_ sent: Result<HTTPReply, HTTPError>) -> Bool {
        switch sent {
        case .failure(.broken): true
        case .failure(.tls): opening.usual != nil
        default: false
        }
    }

    private func message(
        in sent: Result<HTTPReply, HTTPError>,
        to exchange: UpstreamExchange
    ) throws(UpstreamError) -> UpstreamReply {
        switch sent {
        case .failure(let error):
            throw UpstreamError(error)
        case .success(let reply):
            transfers.note(isHTTP1: reply.isHTTP1)
            if reply.connectionReused { reused += 1 } else { opened += 1 }
            return try Self.message(in: reply, to: exchange)
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
