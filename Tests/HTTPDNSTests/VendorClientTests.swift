// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Synchronization
import Testing

@testable import HTTPDNS

@Suite("Asking a vendor")
struct VendorClientTests {
    private let clock = TestClock()

    init() { ServiceLoop.start() }

    /// A good answer about `www.example.com`.
    private static let good = ok(
        "www.example.com.:192.0.2.10,60-2001:db8::10,120|192.0.2.99"
    )

    /// A client of two servers, .1 and .2, or as many as said.
    private func client(
        _ transport: ScriptedTransport,
        servers count: Int = 2,
        configure: (inout VendorClient.Settings) -> Void = { _ in }
    ) throws -> VendorClient {
        var settings = VendorClient.Settings()
        configure(&settings)
        return VendorClient(
            name: "tencent",
            vendor: try plainTencent(),
            servers: try (1...count).map { try server("192.0.2.\($0):443") },
            settings: settings,
            transport: transport,
            clocks: clock.clocks
        )
    }

    /// Looks up `www.example.com` with three seconds to go.
    private func lookUp(
        _ client: VendorClient,
        families: Families = .both,
        within time: Duration = .seconds(3)
    ) async throws(VendorFailure) -> VendorReply {
        guard let name = try? Name("www.example.com") else { fatalError("a name") }
        return try await client.lookUp(name, families: families, deadline: clock.now + time)
    }

    /// The failure of a look-up that must fail.
    private func failure(
        _ client: VendorClient,
        within time: Duration = .seconds(3)
    ) async throws -> VendorFailure {
        do throws(VendorFailure) {
            let reply = try await lookUp(client, within: time)
            Issue.record("answered \(reply)")
        } catch {
            return error
        }
        throw VendorError.outOfTime
    }

    /// Whether the request went to the first server.
    private static func isFirst(_ request: HTTPRequest) -> Bool {
        request.server.host == "192.0.2.1"
    }
}

// MARK: - Answers

extension VendorClientTests {
    @Test("an answer says where it came from")
    func provenance() async throws {
        var good = Self.good
        good.connectionReused = true
        let transport = ScriptedTransport(clock) { [good] _ in .reply(good) }
        let reply = try await lookUp(client(transport))
        #expect(reply.answer.v4?.addresses == [try address("192.0.2.10")])
        #expect(reply.answer.v4?.ttl == 60)
        #expect(reply.answer.v6?.addresses == [try address("2001:db8::10")])
        #expect(reply.answer.v6?.ttl == 120)
        #expect(reply.server == (try server("192.0.2.1:443")))
        #expect(reply.duration == .milliseconds(20))
        #expect(reply.connectionReused)
        #expect(reply.failedTries.isEmpty)
    }

    @Test("both families are asked in one call, whatever is wanted")
    func pairs() async throws {
        let transport = ScriptedTransport(clock) { _ in .reply(Self.good) }
        let client = try client(transport)
        _ = try await lookUp(client, families: .v4)
        _ = try await lookUp(client, families: .v6)
        #expect(transport.sent.count == 2)
        #expect(transport.sent.allSatisfy { $0.request.url.hasSuffix("&type=addrs") })
    }

    @Test("the settings reach the request")
    func settings() async throws {
        let transport = ScriptedTransport(clock) { _ in .reply(Self.good) }
        let subnet = try address("203.0.113.7")
        let client = try client(transport) {
            $0.clientSubnet = subnet
            $0.certificateFile = "/etc/ssl/own.pem"
            $0.version = .http1
        }
        _ = try await lookUp(client)
        let request = try #require(transport.sent.first?.request)
        #expect(request.certificateFile == "/etc/ssl/own.pem")
        #expect(request.version == .http1)
        #expect(request.url.hasSuffix("&ip=203.0.113.7"))
    }

    @Test("no address is an answer, and no reason to ask another server")
    func empty() async throws {
        let transport = ScriptedTransport(clock) { _ in .reply(ok("www.example.com.:0-0")) }
        let client = try client(transport)
        for _ in 0..<5 {
            let reply = try await lookUp(client)
            #expect(reply.answer.isEmpty)
        }
        #expect(transport.sent.allSatisfy { Self.isFirst($0.request) })
        #expect(await client.statistics.empty == 5)
        #expect(await client.statistics.successes == 0)
        #expect(await client.statistics.failuresByKind.isEmpty)
    }
}

// MARK: - Failover

extension VendorClientTests {
    @Test(
        "what one server spoils the next one is asked, at once",
        arguments: [
            .fail(.connect("refused")), .fail(.tls("expired")), .fail(.broken("reset")),
            .fail(.bodyTooLarge(limit: 8192)),
            .reply(HTTPReply(status: 500, body: []), after: .zero),
            .reply(HTTPReply(status: 429, body: []), after: .zero),
            .reply(ok("<html>"), after: .zero),
            .reply(ok("www.example.org.:192.0.2.66,60-0"), after: .zero),
        ] as [ScriptedTransport.Step]
    )
    func next(step: ScriptedTransport.Step) async throws {
        let transport = ScriptedTransport(clock) { Self.isFirst($0) ? step : .reply(Self.good) }
        let reply = try await lookUp(client(transport))
        #expect(reply.server == (try server("192.0.2.2:443")))
        #expect(reply.failedTries.map(\.server) == [try server("192.0.2.1:443")])
        #expect(transport.sent.map(\.at) == [.zero, .zero])
    }

    @Test("a silent server has its timeout, then the next one is asked")
    func timeout() async throws {
        let transport = ScriptedTransport(clock) { Self.isFirst($0) ? .silence : .reply(Self.good) }
        let client = try client(transport) { $0.timeout = .milliseconds(800) }
        let reply = try await lookUp(client)
        #expect(transport.sent.map(\.at) == [.zero, .milliseconds(800)])
        #expect(reply.failedTries.map(\.error) == [.transport(.timedOut(reused: false))])
        #expect(reply.failedTries.map(\.duration) == [.milliseconds(800)])
        #expect(reply.duration == .milliseconds(820))
    }

    @Test("no try goes beyond the deadline of the call")
    func deadline() async throws {
        let transport = ScriptedTransport(clock) { _ in .silence }
        let failure = try await failure(client(transport, servers: 5))
        #expect(transport.sent.map(\.wait) == [.seconds(2), .seconds(1)])
        #expect(clock.now == clock.start + .seconds(3))
        #expect(failure.reason == .transport(.timedOut(reused: false)))
        #expect(failure.tries.count == 2)
    }

    @Test("a call whose deadline has passed sends nothing")
    func tooLate() async throws {
        let transport = ScriptedTransport(clock) { _ in .reply(Self.good) }
        let client = try client(transport)
        let failure = try await failure(client, within: .zero)
        #expect(failure == VendorFailure(reason: .outOfTime, tries: []))
        #expect(transport.sent.isEmpty)
        #expect(await client.statistics.failures == 1)
        #expect(await client.statistics.billable == 0)
    }

    @Test("each server is tried once, and the last error is the reason")
    func allFail() async throws {
        let transport = ScriptedTransport(clock) {
            .fail(Self.isFirst($0) ? .connect("refused") : .tls("expired"))
        }
        let failure = try await failure(client(transport, servers: 3))
        #expect(
            transport.sent.map(\.request.server.host) == ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
        )
        #expect(failure.reason == .transport(.tls("expired")))
        #expect(failure.tries.map(\.error.kind) == [.connect, .tls, .tls])
        #expect(
            "\(failure)" == "192.0.2.1:443: cannot connect: refused; "
                + "192.0.2.2:443: TLS failed: expired; 192.0.2.3:443: TLS failed: expired"
        )
    }

    @Test(
        "a refused account ends the call, as every server would refuse it",
        arguments: [401, 403]
    )
    func refused(status: Int) async throws {
        let transport = ScriptedTransport(clock) { _ in .reply(HTTPReply(status: status, body: []))
        }
        let client = try client(transport)
        for _ in 0..<5 {
            let failure = try await failure(client)
            #expect(failure.reason == .unauthorized(status: status))
            #expect(failure.tries.count == 1)
        }
        #expect(transport.sent.count == 5)
        #expect(await client.statistics.servers[0].isCurrent)
        #expect(await client.statistics.billable == 0)
    }

    @Test("a cancelled call ends, and no server is blamed")
    func cancelled() async throws {
        let transport = ScriptedTransport(clock) { _ in .fail(.cancelled) }
        let client = try client(transport)
        let failure = try await failure(client)
        #expect(failure.reason == .transport(.cancelled))
        #expect(transport.sent.count == 1)
        #expect(await client.statistics.cancelled == 1)
        #expect(await client.statistics.failures == 0)
        #expect(await client.statistics.servers[0].failures == 0)
        #expect(await client.statistics.servers[0].lastError == nil)
    }

    @Test("a name that is no host name is not sent")
    func unusableName() async throws {
        let transport = ScriptedTransport(clock) { _ in .reply(Self.good) }
        let client = try client(transport)
        await #expect(
            throws: VendorFailure(
                reason: .unusableName,
                tries: [
                    FailedTry(
                        server: try server("192.0.2.1:443"),
                        error: .unusableName,
                        duration: .zero
                    )
                ]
            )
        ) {
            try await client.lookUp(
                Name(#"a\032b.example.com"#),
                families: .both,
                deadline: clock.now + .seconds(3)
            )
        }
        #expect(transport.sent.isEmpty)
    }
}

// MARK: - Switching

extension VendorClientTests {
    @Test("after three failures in a row the next server is asked first, and stays")
    func switching() async throws {
        let transport = ScriptedTransport(clock) {
            Self.isFirst($0) ? .fail(.connect("refused")) : .reply(Self.good)
        }
        let client = try client(transport)
        for _ in 0..<5 { _ = try await lookUp(client) }
        #expect(
            transport.sent.map(\.request.server.host).map { $0.suffix(1) }
                == ["1", "2", "1", "2", "1", "2", "2", "2"]
        )
        #expect(await client.statistics.switches == 1)
        #expect(await client.statistics.servers.map(\.isCurrent) == [false, true])
    }

    @Test("a server that was asked when the time was nearly over is not to blame")
    func unfair() async throws {
        let transport = ScriptedTransport(clock) { _ in .silence }
        let client = try client(transport)
        for _ in 0..<10 { _ = try await failure(client, within: .milliseconds(499)) }
        #expect(await client.statistics.switches == 0)
        for _ in 0..<3 { _ = try await failure(client, within: .milliseconds(500)) }
        #expect(await client.statistics.switches == 1)
    }

    @Test("a short timeout is fair if the operator chose it")
    func shortTimeout() async throws {
        let transport = ScriptedTransport(clock) { _ in .silence }
        let client = try client(transport, servers: 2) { $0.timeout = .milliseconds(100) }
        for _ in 0..<3 { _ = try await failure(client, within: .milliseconds(100)) }
        #expect(await client.statistics.switches == 1)
    }
}

// MARK: - Counting

extension VendorClientTests {
    @Test("the counters partition calls, and keep what became of each server")
    func statistics() async throws {
        let step = Mutex(0)
        let steps: [ScriptedTransport.Step] = [
            .fail(.connect("refused")), .reply(Self.good),  // the first call
            .reply(ok("www.example.com.:0.0.0.0,60-0")),  // the second
            .fail(.timedOut(reused: true)), .reply(HTTPReply(status: 503, body: [])),  // the third
            .fail(.cancelled),  // the fourth
        ]
        let transport = ScriptedTransport(clock) { _ in
            step.withLock { index in
                defer { index += 1 }
                return steps[index]
            }
        }
        let client = try client(transport)
        _ = try await lookUp(client)
        _ = try await lookUp(client)
        _ = try await failure(client)
        _ = try await failure(client)

        let statistics = await client.statistics
        #expect(statistics.calls == 4)
        #expect(statistics.successes == 1)
        #expect(statistics.empty == 1)
        #expect(statistics.failures == 1)
        #expect(statistics.cancelled == 1)
        #expect(statistics.tries == 6)
        // All but the refused connection; a cancelled call may have arrived.
        #expect(statistics.billable == 5)
        #expect(
            statistics.failuresByKind
                == [.connect: 1, .timeout: 1, .serverStatus: 1, .cancelled: 1]
        )
        #expect(statistics.droppedAddresses == 1)
        #expect(statistics.connectionsOpened == 3)
        #expect(statistics.connectionsReused == 0)
        #expect(statistics.servers.map(\.tries) == [4, 2])
        #expect(statistics.servers.map(\.failures) == [2, 1])
        #expect(
            statistics.servers.map(\.lastError)
                == [.transport(.timedOut(reused: true)), .serverStatus(503)]
        )
        #expect(statistics.servers.map(\.medianLatency) == [.milliseconds(20), .milliseconds(20)])
    }

    @Test("failures show no token, name or URL")
    func noSecrets() async throws {
        let transport = ScriptedTransport(clock) { _ in .reply(HTTPReply(status: 403, body: [])) }
        let failure = try await failure(client(transport))
        let text = "\(failure)" + String(reflecting: failure)
        #expect(!text.contains("987654321"))
        #expect(!text.contains("http://") && !text.contains("https://"))
    }
}
