// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import Upstream

@ServiceLoop
private final class ScriptedTransport: HTTPTransport {
    private(set) var sent: [HTTPRequest] = []
    private let script: (Int, HTTPRequest) throws(HTTPError) -> HTTPReply

    init(_ script: @escaping (Int, HTTPRequest) throws(HTTPError) -> HTTPReply) {
        self.script = script
    }

    func send(
        _ request: HTTPRequest,
        deadline: Instant,
        _ completion: @escaping Handler
    ) -> any RequestHandle {
        sent.append(request)
        let result = Result { () throws(HTTPError) in try script(sent.count - 1, request) }
        let timer = Clocks.system.timer(Clock.now) { completion(result) }
        return Handle(timer) { self.distrusted += 1 }
    }

    private final class Handle: RequestHandle {
        private let timer: any Cancellable
        private let distrust: @ServiceLoop () -> Void
        let wasSent = true

        init(_ timer: any Cancellable, distrust: @escaping @ServiceLoop () -> Void) {
            self.timer = timer
            self.distrust = distrust
        }

        func cancel() { timer.cancel() }

        func distrustConnection() { distrust() }
    }

    private(set) var replacements = 0
    private(set) var distrusted = 0

    func reset(only provider: String?) {}

    func replaceConnections(of provider: String) { replacements += 1 }
}

/// HTTP client with requests that wait for a connection until the test ends them.
@ServiceLoop
private final class WaitingTransport: HTTPTransport {
    private(set) var waiting: [(request: HTTPRequest, completion: Handler)] = []

    func send(
        _ request: HTTPRequest,
        deadline: Instant,
        _ completion: @escaping Handler
    ) -> any RequestHandle {
        waiting.append((request, completion))
        return Handle()
    }

    func take() -> [(request: HTTPRequest, completion: Handler)] {
        defer { waiting = [] }
        return waiting
    }

    private final class Handle: RequestHandle {
        let wasSent = true

        func cancel() {}
    }

    private(set) var resets: [String?] = []

    func reset(only provider: String?) { resets.append(provider) }

    func replaceConnections(of provider: String) {}
}

@Suite("An upstream over HTTPS (RFC 8484, RFC 9111 §5.1)")
struct HTTPSTransportTests {
    private static func answer(
        _ request: HTTPRequest,
        age: String? = nil,
        type: String? = "application/dns-message",
        status: Int = 200,
        _ change: (inout Message) -> Void = { _ in }
    ) -> HTTPReply {
        var answer = HTTPReply(status: status, body: reply(to: request.body ?? [], change))
        answer.contentType = type
        answer.age = age
        return answer
    }

    private static func queries(_ sent: [HTTPRequest]) -> [String] {
        sent.compactMap { (try? Message(parsing: $0.body ?? []))?.question?.name.text }
    }

    @ServiceLoop
    private func ask(
        _ transport: ScriptedTransport,
        dnssecOK: Bool = false
    ) async throws(UpstreamError) -> Message {
        try await upstream(transport).exchange(
            Query(
                question: Question(name: "www.example.com", type: .a),
                dnssecOK: dnssecOK,
                checkingDisabled: true
            ),
            deadline: Clock.now + .seconds(300)
        )
    }

    @ServiceLoop
    private func upstream(
        _ transport: ScriptedTransport,
        isLearned: Bool = false
    ) throws(UpstreamError) -> Forwarder {
        guard let server = SocketAddress("192.0.2.53:443") else { throw .timedOut }
        return Forwarder(
            name: "doh",
            url: "https://dns.example/dns-query (192.0.2.53)",
            timeout: .seconds(2),
            isLearned: isLearned,
            over: HTTPSTransport(
                to: "https://dns.example/dns-query",
                at: server,
                certificateFile: "/ca.pem",
                over: transport
            )
        )
    }

    @Test
    @ServiceLoop
    func `an encrypted server counts as unprotected if the network announced it`() throws {
        let transport = ScriptedTransport { _, request in Self.answer(request) }
        #expect(try upstream(transport).isProtected)
        #expect(try !upstream(transport, isLearned: true).isProtected)
    }

    @Test
    @ServiceLoop
    func `each server of an upstream has its own connections and its own limit of CPU time`()
        async throws
    {
        let http = ScriptedTransport { _, request in Self.answer(request) }
        var providers: Set<String> = []
        for text in ["192.0.2.53:443", "192.0.2.54:443", "192.0.2.53:443"] {
            let transport = HTTPSTransport(
                to: "https://dns.example/dns-query",
                at: try #require(SocketAddress(text)),
                certificateFile: nil,
                over: http
            )
            transport.carry(Attempt(.probe, deadline: Clock.now + .seconds(1), Completion { _ in }))
            providers.insert(try #require(http.sent.last).provider)
        }
        #expect(providers.count == 2)
    }

    @Test
    @ServiceLoop
    func `a query is a padded POST with ID 0 and the daemon's OPT record`()
        async throws
    {
        let transport = ScriptedTransport { _, request in Self.answer(request) }
        let message = try await ask(transport, dnssecOK: true)
        #expect(message.answers.count == 1)
        let request = try #require(transport.sent.first)
        #expect(request.url == "https://dns.example/dns-query")
        #expect(request.server.description == "192.0.2.53:443")
        #expect(request.certificateFile == "/ca.pem")
        #expect(request.version == .automatic)
        #expect(request.headers.contains("Content-Type: application/dns-message"))
        let body = try #require(request.body)
        #expect(body.count == 128)
        let query = try Message(parsing: body)
        #expect(query.header.id == 0)
        #expect(query.header.recursionDesired && query.header.checkingDisabled)
        #expect(query.edns?.dnssecOK == true)
        #expect(query.edns?.options.map(\.code) == [EDNSOption.Code.padding])
        #expect(query.question?.name.text == "www.example.com")
    }

    @Test(arguments: [
        ("application/dns-message", true), ("Application/DNS-Message; charset=utf-8", true),
        (" application/dns-message ", true), ("application/dns-json", false),
        ("text/html", false), (nil, false), ("application/dns-message2", false),
    ])
    @ServiceLoop
    func `only replies of type dns-message are accepted`(_ type: String?, _ isGood: Bool)
        async throws
    {
        let transport = ScriptedTransport { _, request in Self.answer(request, type: type) }
        if isGood {
            _ = try await ask(transport)
        } else {
            await #expect(throws: UpstreamError.broken("sent a body that is not a DNS message")) {
                try await ask(transport)
            }
        }
    }

    @Test(arguments: [204, 301, 400, 415, 502])
    @ServiceLoop
    func `a reply with an HTTP status other than 200 is an error`(_ status: Int) async throws {
        let transport = ScriptedTransport { _, request in Self.answer(request, status: status) }
        await #expect(throws: UpstreamError.httpStatus(status)) {
            try await ask(transport)
        }
        // The query is not repeated; the other requests check the connection and its replacement.
        let names = Self.queries(transport.sent)
        #expect(names.count > UpstreamLimits.lossCheckQueries)
        #expect(names.count { $0 == "www.example.com" } == 1)
    }

    @Test(
        "after an error reply, the connections are dropped if the daemon's queries also get errors",
        arguments: [true, false]
    )
    @ServiceLoop
    func faultyHost(isFaulty: Bool) async throws {
        let transport = ScriptedTransport { number, request in
            Self.answer(request, status: number == 0 || isFaulty ? 502 : 200)
        }
        let upstream = try upstream(transport)
        let query = Query(question: Question(name: "www.example.com", type: .a))
        for _ in 0..<3 {
            _ = try? await upstream.exchange(query, deadline: Clock.now + .seconds(300))
        }
        while transport.sent.count < 3 + UpstreamLimits.lossCheckQueries { await Task.yield() }
        _ = try? await upstream.exchange(query, deadline: Clock.now + .seconds(300))
        #expect(transport.replacements == (isFaulty ? 1 : 0))
        #expect(transport.distrusted == 0)
    }

    @Test("after an unusable reply to a probe, the next probe uses a new connection")
    @ServiceLoop
    func faultyHostOfProbes() async throws {
        let transport = ScriptedTransport { number, request in
            var reply = Self.answer(request)
            if number == 0 { reply.body = [] }
            return reply
        }
        let upstream = try upstream(transport)
        for distrusted in [1, 1] {
            _ = try? await upstream.exchange(.probe, deadline: Clock.now + .seconds(300))
            #expect(transport.distrusted == distrusted)
        }
    }

    @Test("over HTTP/1.1, a connection with an error status or an invalid body is closed")
    @ServiceLoop
    func faultyHostOverHTTP1() async throws {
        let transport = ScriptedTransport { number, request in
            var reply = Self.answer(request, status: number == 1 ? 502 : 200)
            if number == 2 { reply.body = [] }
            reply.version = "1.1"
            return reply
        }
        let upstream = try upstream(transport)
        let query = Query(question: Question(name: "www.example.com", type: .a))
        for distrusted in [0, 1, 2, 2] {
            _ = try? await upstream.exchange(query, deadline: Clock.now + .seconds(300))
            #expect(transport.distrusted == distrusted)
        }
        #expect(transport.sent.count == 4 && transport.replacements == 0)
    }

    @Test(arguments: [true, false])
    @ServiceLoop
    func `a connection that ends in the TLS handshake counts as closed, not as unreachable`(
        _ isOpen: Bool
    )
        async throws
    {
        let transport = ScriptedTransport { _, _ throws(HTTPError) in
            throw .connect("ended", isOpen: isOpen)
        }
        await #expect(throws: isOpen ? UpstreamError.broken("ended") : .unreachable("ended")) {
            try await ask(transport)
        }
    }

    @Test
    @ServiceLoop
    func `HTTP status 429 counts as a rate limit of the server`() async throws {
        let transport = ScriptedTransport { _, request in Self.answer(request, status: 429) }
        await #expect(throws: UpstreamError.rateLimited) { try await ask(transport) }
        #expect(transport.sent.count == 1)
    }

    @Test
    @ServiceLoop
    func `a wrong question, a wrong ID, a truncated reply and garbage are rejected`() async throws {
        let changes: [(inout Message) -> Void] = [
            { $0.questions = [Question(name: "www.example.org", type: .a)] },
            { $0.header.id = 1 },
            { $0.header.isTruncated = true },
            { $0.header.isResponse = false },
        ]
        for change in changes {
            let transport = ScriptedTransport { _, request in Self.answer(request, change) }
            await #expect(throws: UpstreamError.broken("the reply does not match the query")) {
                try await ask(transport)
            }
        }
        let transport = ScriptedTransport { _, _ in
            var reply = HTTPReply(status: 200, body: [1, 2, 3])
            reply.contentType = "application/dns-message"
            return reply
        }
        await #expect(throws: UpstreamError.broken("the reply does not match the query")) {
            try await ask(transport)
        }
    }

    @Test(arguments: [
        (nil, [60, 60]), ("0", [60, 60]), ("20", [40, 40]), ("60", [0, 0]),
        ("999999999999", [0, 0]),
        ("-5", [60, 60]), ("abc", [60, 60]), ("", [60, 60]),
    ])
    @ServiceLoop
    func `the Age header is subtracted from the TTLs`(_ age: String?, _ ttls: [UInt32]) async throws
    {
        let transport = ScriptedTransport { _, request in
            Self.answer(request, age: age) { message in
                message.answers += message.answers
            }
        }
        #expect(try await ask(transport).answers.map(\.ttl) == ttls)
    }

    @Test
    @ServiceLoop
    func `the Age header is subtracted from the SOA minimum of a negative answer`() async throws {
        let transport = ScriptedTransport { _, request in
            Self.answer(request, age: "50") { message in
                message.answers = []
                message.rcode = .nxDomain
                let soa = SOA(
                    primary: "ns.example.com",
                    mailbox: "root.example.com",
                    serial: 1,
                    refresh: 1,
                    retry: 1,
                    expire: 1,
                    minimum: 60
                )
                message.authorities = [Record(name: "example.com", ttl: 3_600, data: .soa(soa))]
            }
        }
        let message = try await ask(transport)
        #expect(message.rcode == .nxDomain)
        #expect(message.authorities.map(\.ttl) == [10])
    }

    @Test
    @ServiceLoop
    func `only a request that is lost with its connection is sent again, and only once`()
        async throws
    {
        let lost = ScriptedTransport { (number, request) throws(HTTPError) in
            if number == 0 { throw .broken("the connections were dropped") }
            return Self.answer(request)
        }
        _ = try await ask(lost)
        #expect(lost.sent.count == 2)
        for error in [
            HTTPError.connect("refused"), .tls("expired"), .timedOut(reused: true),
            .bodyTooLarge(limit: 65_536),
        ] {
            let transport = ScriptedTransport { (_, _) throws(HTTPError) in throw error }
            await #expect(throws: UpstreamError(error)) { try await ask(transport) }
            // A timeout of one query does not show that the connection is silent. Too large a body
            // causes a check of the connection.
            #expect(transport.sent.allSatisfy { !$0.wantsFreshConnection })
            #expect(Self.queries(transport.sent).count { $0 == "www.example.com" } == 1)
        }
    }

    @Test
    @ServiceLoop
    func `a query is repeated after an invalid certificate, if the server has answered before`()
        async throws
    {
        let transport = ScriptedTransport { (number, request) throws(HTTPError) in
            guard number == 1 || number == 3 else { throw .tls("expired") }
            return Self.answer(request)
        }
        let upstream = try upstream(transport)
        let query = Query(question: Question(name: "www.example.com", type: .a))
        for (isAnswered, sent) in [(false, 1), (true, 2), (true, 4), (false, 8)] {
            let reply = try? await upstream.exchange(query, deadline: Clock.now + .seconds(300))
            #expect((reply != nil) == isAnswered)
            #expect(transport.sent.count == sent)
        }
    }

    @Test(
        "while a query has no connection, further connections are opened",
        arguments: [true, false]
    )
    @ServiceLoop
    private func furtherConnections(_ hasReplied: Bool) throws {
        let (clock, http) = (SharedConnectionTests.ManualClock(), WaitingTransport())
        let transport = HTTPSTransport(
            to: "https://dns.example/dns-query",
            at: try #require(SocketAddress("192.0.2.53:443")),
            certificateFile: nil,
            over: http,
            clocks: clock.clocks
        )
        let upstream = Forwarder(
            name: "doh",
            url: "",
            timeout: .seconds(2),
            over: transport,
            clocks: clock.clocks
        )
        let query = Query(question: Question(name: "www.example.com", type: .a))
        func carry() {
            upstream.ask(Attempt(query, deadline: clock.now + .seconds(5), Completion { _ in }))
        }
        if hasReplied {
            carry()
            for (request, completion) in http.take() { completion(.success(Self.answer(request))) }
        }
        carry()
        let start = clock.now
        var times: [Duration] = []
        while clock.now - start < .milliseconds(900) {
            clock.advance(by: .milliseconds(10))
            let count = http.waiting.count { $0.request.wantsFreshConnection }
            if count > times.count { times.append(clock.now - start) }
        }
        let expected: [Duration] =
            hasReplied
            ? [.milliseconds(100), .milliseconds(300), .milliseconds(700)] : [.milliseconds(500)]
        #expect(times == expected)
    }

    @Test
    @ServiceLoop
    func `the repetition of an unanswered query uses a new connection`() async throws {
        let transport = ScriptedTransport { _, request in Self.answer(request) }
        let query = Query(
            question: Question(name: "www.example.com", type: .a),
            dnssecOK: false,
            checkingDisabled: false
        )
        let upstream = try upstream(transport)
        _ = try await upstream.exchange(
            query,
            repeating: Clock.now,
            deadline: Clock.now + .seconds(300)
        )
        #expect(transport.sent.map(\.wantsFreshConnection) == [true])
        #expect(upstream.numbers.successes == 1)
    }

    @Test
    @ServiceLoop
    func `the error of a SERVFAIL reply contains the extended error (EDE)`() async throws {
        let transport = ScriptedTransport { _, request in
            Self.answer(request) { message in
                message.rcode = .servFail
                message.edns?.options = [.extendedError(code: .dnssecBogus, text: "")]
            }
        }
        await #expect(throws: UpstreamError.declined(.servFail, because: .dnssecBogus)) {
            try await ask(transport)
        }
    }
}
