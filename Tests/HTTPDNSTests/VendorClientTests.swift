// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Calls to a vendor")
struct VendorClientTests {
    let world = Simulation()

    @Test("a reply contains the address of the server that sent it")
    @ServiceLoop
    func provenance() async throws {
        world.script = { .reply(good($0)) }
        let reply = try await world.lookUp(world.client())
        #expect(reply.answer.v4?.addresses == [try address("192.0.2.10")])
        #expect(reply.answer.v4?.ttl == 60)
        #expect(reply.answer.v6?.addresses == [try address("2001:db8::10")])
        #expect(reply.answer.v6?.ttl == 120)
        #expect(reply.server == (try server("192.0.2.1:443")))
        #expect(reply.duration == .milliseconds(20))
    }

    @Test("the client passes its settings to the request")
    @ServiceLoop
    func settings() async throws {
        world.servers([:])
        let subnet = try address("203.0.113.7")
        let proxy = try server("192.0.2.80:3128")
        let client = try world.client {
            $0.clientSubnet = subnet
            $0.certificateFile = "/etc/ssl/own.pem"
            $0.version = .http1
            $0.proxy = proxy
        }
        _ = try await world.lookUp(client)
        let request = try #require(world.sent.first?.request)
        #expect(request.certificateFile == "/etc/ssl/own.pem")
        #expect(request.version == .http1)
        #expect(request.proxy == proxy)
        #expect(!request.wantsFreshConnection)
        #expect(request.url.hasSuffix("&ip=203.0.113.7"))
    }

    @Test("a lookup sends no request after its deadline")
    @ServiceLoop
    func tooLate() async throws {
        let client = try world.client()
        let failure = try await world.failure(client, within: .zero)
        #expect(failure == VendorFailure(reason: .outOfTime))
        #expect(world.sent.isEmpty)
        #expect(client.statistics.failures == 1)
        #expect(client.statistics.billable == 0)
    }

    @Test("a name that is not a host name is not sent to the vendor")
    @ServiceLoop
    func unusableName() async throws {
        let client = try world.client()
        let failure = try await world.failure(client, #"a\032b.example.com"#)
        #expect(failure.reason == .unusableName)
        #expect(world.sent.isEmpty)
        #expect(client.statistics.servers[0].failures == 0)
    }

    @Test(
        "after a failure that shows a faulty host, the connection is closed",
        arguments: [
            .reply(HTTPReply(status: 502, body: [])), .reply(HTTPReply(status: 403, body: [])),
            .reply(ok("not a reply")), .fail(.broken("HTTP/2 stream 1 was reset")),
        ] as [Simulation.Step]
    )
    @ServiceLoop
    func faultyHost(step: Simulation.Step) async throws {
        world.script = { _ in step }
        let client = try world.client(servers: 1)
        _ = try await world.failure(client)
        #expect(world.distrusted > 0 && world.doubted == 0)
    }

    @Test(
        "after a failure that the name can cause, only a probe's connection replaces the old one",
        arguments: [
            .reply(HTTPReply(status: 429, body: [])), .fail(.bodyTooLarge(limit: 65_536)),
            .reply(ok("www.example.org.:192.0.2.66,60-0")), .reply(ok(#"{"Status":2}"#)),
        ] as [Simulation.Step]
    )
    @ServiceLoop
    func faultyHostOrName(step: Simulation.Step) async throws {
        var isJSON = false
        if case .reply(let reply, _) = step { isJSON = reply.body.first == UInt8(ascii: "{") }
        world.script = { _ in step }
        let client = try world.client(
            servers: 1,
            vendor: isJSON ? DNSJSON(url: "https://dns.example/resolve") : nil
        )
        let lookup = try world.begin(client, families: .v4)
        guard case .failure = try await world.value(of: lookup) else {
            throw Unexpected(what: "an answer")
        }
        #expect(world.doubted == 1 && world.distrusted == 0)
        #expect(world.sent.contains { $0.request.wantsFreshConnection }, "a probe")
    }

    @Test("an answered call leaves its connection open")
    @ServiceLoop
    func goodHost() async throws {
        world.servers([:])
        _ = try await world.lookUp(world.client(servers: 1))
        #expect(world.distrusted == 0 && world.doubted == 0)
    }

    @Test("if a server rejects a request by a code, one further server gets the request")
    @ServiceLoop
    func rejected() async throws {
        var rejecting = 1...1
        world.script = { request in
            rejecting.contains(digit(request))
                ? .reply(HTTPReply(status: 400, body: Array(#"{"code":"InvalidHost"}"#.utf8)))
                : .reply(ok(#"{"ips":["192.0.2.66"],"host":"www.example.com","ttl":60}"#))
        }
        let vendor = try Alibaba(account: "1", api: .v1)
        let client = try world.client(servers: 4, vendor: vendor)
        let lookup = try world.begin(client, families: .v4)
        _ = try await world.value(of: lookup).get()
        rejecting = 1...4
        let before = world.sent.count { !$0.request.wantsFreshConnection }
        let other = try world.begin(client, families: .v4)
        guard case .failure(let failure) = try await world.value(of: other) else {
            throw Unexpected(what: "an answer")
        }
        #expect(failure.reason.kind == .refused)
        #expect(world.sent.count { !$0.request.wantsFreshConnection } == before + 2)
    }

    @Test("names reach the other servers if the first three fail all calls, but answer probes")
    @ServiceLoop
    func threeBadServers() async throws {
        world.script = { request in
            digit(request) <= 3 && !request.wantsFreshConnection
                ? .reply(HTTPReply(status: 500, body: [])) : .reply(good(request))
        }
        let client = try world.client(servers: 5)
        for number in 0..<6 {
            let name = "n\(number).example.com"
            if number < 4 {
                _ = try await world.value(of: world.begin(client, name, of: network(1)))
            } else {
                _ = try await world.lookUp(client, name, of: network(1))
            }
            await world.advance(by: .seconds(1))
        }
    }

    @Test("after a probe with useless replies of all servers, a call costs one request")
    @ServiceLoop
    func uselessReplies() async throws {
        var isUseless = true
        world.script = { .reply(isUseless ? ok("not a reply") : good($0)) }
        let client = try world.client(servers: 3)
        _ = try await world.failure(client)
        await world.advance(by: .seconds(1))
        let before = world.sent.count { $0.request.wantsFreshConnection == false }
        _ = try await world.failure(client, "b.example.com")
        #expect(world.sent.count { $0.request.wantsFreshConnection == false } == before + 1)
        isUseless = false
        _ = try await world.lookUp(client, "c.example.com")
        #expect(!client.areAllUseless)
    }

    @Test("each call and each result is counted once")
    @ServiceLoop
    func statistics() async throws {
        var steps: [Simulation.Step] = [
            .fail(.connect("refused")), .reply(good(HTTPRequest.example)),
            .reply(ok("www.example.com.:0.0.0.0,60-0")),
            .silence(), .reply(HTTPReply(status: 503, body: []), after: .seconds(2)),
        ]
        world.script = {
            namesAsked($0) == ["www.dnspod.cn"] ? .reply(good($0)) : steps.removeFirst()
        }
        let client = try world.client()
        _ = try await world.lookUp(client)
        _ = try await world.lookUp(client)
        _ = try await world.failure(client)

        let statistics = client.statistics
        #expect(statistics.calls == 3)
        #expect(statistics.successes == 1)
        #expect(statistics.empty == 1)
        #expect(statistics.failures == 1)
        #expect(statistics.tries == 6)
        #expect(statistics.billable == 5)
        #expect(statistics.failuresByKind == [.connect: 1, .timeout: 1, .serverStatus: 1])
        #expect(statistics.droppedAddresses == 1)
        #expect(statistics.hedges == 1)
        #expect(statistics.connectionsOpened == 4)
        #expect(statistics.connectionsReused == 0)
        #expect(statistics.servers.map(\.tries) == [4, 2])
        #expect(statistics.servers.map(\.failures) == [2, 1])
        #expect(
            statistics.servers.map(\.lastError)
                == [.transport(.timedOut(reused: false)), .serverStatus(503)]
        )
        #expect(
            statistics.servers.map { $0.lastErrorAt.map { ($0 - world.start).milliseconds } }
                == [2_040, 2_340]
        )
        #expect(statistics.servers[0].medianLatency == .milliseconds(20))
        #expect(statistics.inFlight == 0)
    }

    @Test("the text of a failure contains no token, name or URL")
    @ServiceLoop
    func noSecrets() async throws {
        world.script = { _ in .reply(HTTPReply(status: 403, body: [])) }
        let failure = try await world.failure(world.client())
        let text = "\(failure)" + String(reflecting: failure)
        #expect(!text.contains("987654321"))
        #expect(!text.contains("http://") && !text.contains("https://"))
    }
}

extension HTTPRequest {
    fileprivate static let example: HTTPRequest = {
        guard let server = SocketAddress("192.0.2.1:443") else { fatalError("an address") }
        return HTTPRequest(url: "https://192.0.2.1/d?dn=www.example.com", server: server)
    }()
}
