// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Changes of the network and of the vendor's servers")
struct VendorClientNetworkTests {
    let world = Simulation()

    /// Vendor with a scheduling service; the URLs of its second API variant contain `other`.
    private struct Serving: Vendor, AddressScheduling {
        let plain: Tencent
        var way = ""

        var facts: VendorFacts { plain.facts }
        var trialName: Name { plain.trialName }
        var scheduling: (any AddressScheduling)? { self }

        func alternative(after error: VendorError) -> (any Vendor)? {
            guard case .transport(.tls) = error, way == "" else { return nil }
            return Serving(plain: plain, way: "/other")
        }

        func request(
            for lookup: VendorQuery,
            at server: SocketAddress,
            now wallSeconds: Int64,
            entropy: Entropy
        ) throws(VendorError) -> HTTPRequest {
            var request = try plain.request(
                for: lookup,
                at: server,
                now: wallSeconds,
                entropy: entropy
            )
            request.url = request.url.replacing("/d?", with: "\(way)/d?")
            return request
        }

        func answers(to lookup: VendorQuery, in reply: HTTPReply) throws(VendorError)
            -> [VendorAnswer]
        {
            try plain.answers(to: lookup, in: reply)
        }

        func scheduleRequest(
            at server: SocketAddress,
            now wallSeconds: Int64,
            entropy: Entropy
        ) throws(VendorError) -> HTTPRequest {
            HTTPRequest(url: "http://service\(way)/ss", server: server)
        }

        func servers(
            in reply: HTTPReply,
            from server: SocketAddress
        ) throws(VendorError) -> ServiceAddresses {
            guard reply.status == 200 else { throw .serverStatus(reply.status) }
            let servers = String(decoding: reply.body, as: UTF8.self).split(separator: " ")
                .compactMap { SocketAddress(String($0), defaultPort: 443) }
            return ServiceAddresses(servers: servers, validFor: .seconds(3_600))
        }
    }

    @ServiceLoop
    private func scheduledClient() throws -> VendorClient {
        let service = try [8, 9].map { try server("192.0.2.\($0):80") }
        return try world.client(
            servers: 1,
            vendor: Serving(plain: try plainTencent()),
            source: VendorClient.AddressSource(servers: service)
        )
    }

    @ServiceLoop
    private func serve(_ text: String?) {
        world.script = { request in
            guard request.url.hasSuffix("/ss") else { return .reply(good(request)) }
            return text.map { .reply(ok($0)) } ?? .fail(.connect("refused"))
        }
    }

    @Test(
        "an attempt that a network change aborts does not count as a failure",
        arguments: [true, false]
    )
    @ServiceLoop
    func dropped(first: Bool) async throws {
        world.servers([1: .silence()])
        let client = try world.client()
        _ = try await world.lookUp(client, "one.example.com")
        world.servers([1: .silence(), 2: .silence()])
        let begun = try world.begin(client, "two.example.com")
        await world.advance(by: .milliseconds(500))
        world.servers([:])
        if first { world.reset() }
        #expect(client.networkChanged() == 1)
        #expect(client.statistics.reissued == 1)
        if !first { world.reset() }
        _ = try await world.value(of: begun).get()
        await world.advance(by: .seconds(5))
        #expect(client.statistics.failuresByKind == [:])
        #expect(client.statistics.servers.map(\.failures) == [0, 0])
    }

    @Test("a call is sent again after at most two network changes, and fails after further changes")
    @ServiceLoop
    func manyChanges() async throws {
        world.script = { _ in .silence() }
        let client = try world.client()
        let begun = try world.begin(client, "www.example.com")
        for _ in 0..<20 {
            await world.advance(by: .milliseconds(50))
            world.reset()
            client.networkChanged()
        }
        #expect(client.statistics.reissued == 2)
        guard case .failure = try await world.value(of: begun) else {
            Issue.record("answered without a server")
            return
        }
    }

    @Test("an aborted request for server addresses is repeated, and does not count as a failure")
    @ServiceLoop
    func droppedRefresh() async throws {
        world.script = { _ in .silence() }
        let client = try scheduledClient()
        client.start()
        await world.advance(by: .milliseconds(100))
        serve("192.0.2.5")
        world.reset()
        client.networkChanged()
        await world.advance(by: .seconds(5))
        #expect(client.statistics.refreshes == 1)
        #expect(client.statistics.refreshFailures == 0)
    }

    @Test("after `stop`, the client does not ask the next server for server addresses")
    @ServiceLoop
    func stoppedRefresh() async throws {
        world.script = { request in
            request.url.contains("/other") ? .silence() : .fail(.tls("wrong name"))
        }
        let client = try scheduledClient()
        client.start()
        await world.advance(by: .milliseconds(100))
        let urls = ["http://service/ss", "http://service/other/ss"]
        #expect(world.sent.map(\.request.url) == urls)
        client.stop()
        await world.advance(by: .seconds(5))
        #expect(world.sent.map(\.request.url) == urls)
        #expect(client.statistics.refreshFailures == 0)
    }

    @Test("a call that is sent again keeps its deadline")
    @ServiceLoop
    func reissuedDeadline() async throws {
        let client = try world.client(servers: 1)
        let begun = try world.begin(client)
        await world.advance(by: .milliseconds(1_500))
        client.networkChanged()
        guard case .failure = try await world.value(of: begun) else {
            throw Unexpected(what: "an answer")
        }
        #expect(world.elapsed == .seconds(3))
    }

    @Test("a network change clears pauses and failures, but no counters")
    @ServiceLoop
    func forget() async throws {
        world.script = { _ in .reply(HTTPReply(status: 429, body: []), after: .zero) }
        let client = try world.client()
        _ = try await world.failure(client)
        client.networkChanged()
        world.servers([:])
        _ = try await world.lookUp(client)
        #expect(client.statistics.failuresByKind == [.limited: 2])
        #expect(client.statistics.calls == 2)
    }

    @Test("a network change ends the pause after a refusal that came from a captive portal")
    @ServiceLoop
    func portal() async throws {
        world.script = { _ in .reply(HTTPReply(status: 403, body: [])) }
        let client = try world.client()
        _ = try await world.failure(client)
        client.networkChanged()
        world.servers([:])
        _ = try await world.lookUp(client)
        #expect(client.statistics.state == .open)
    }

    @Test("at the start, scheduled servers are fetched and probed; calls then use them first")
    @ServiceLoop
    func scheduled() async throws {
        serve("192.0.2.5 192.0.2.6")
        let client = try scheduledClient()
        client.start()
        await world.advance(by: .milliseconds(100))
        #expect(world.trials == [5])
        #expect(try await world.lookUp(client).server == (try server("192.0.2.5:443")))
        #expect(world.hosts.filter { $0 == "1" } == "")
        #expect(client.statistics.servers.map { $0.address.host.suffix(1) } == ["5", "6", "1"])
        #expect(client.statistics.refreshes == 1)
        #expect(client.statistics.refreshesAddresses)
        #expect(client.statistics.refreshedAt.map { $0 <= world.now } == true)
        #expect(client.statistics.tries == 2)
        #expect(client.statistics.billable == 2)
    }

    @ServiceLoop
    private func longList(_ steps: @escaping (HTTPRequest) -> Simulation.Step?) async throws
        -> VendorClient
    {
        let list = (100...115).map { "192.0.2.\($0)" }.joined(separator: " ")
        world.script = { request in
            request.url.hasSuffix("/ss")
                ? .reply(ok(list)) : steps(request) ?? .reply(good(request))
        }
        let client = try scheduledClient()
        client.start()
        await world.advance(by: .milliseconds(100))
        return client
    }

    private func isListed(_ request: HTTPRequest) -> Bool { request.server.host.count == 11 }

    @Test("if scheduled servers never answer, lookups are not delayed, and need one request each")
    @ServiceLoop
    func silentList() async throws {
        let client = try await longList { isListed($0) ? .silence() : nil }
        for number in 0..<1_500 {
            let reply = try await world.lookUp(client, "n\(number).example.com")
            #expect(reply.duration == .milliseconds(20))
            await world.advance(by: .milliseconds(980))
        }
        let listed = world.sent.count { isListed($0.request) }
        #expect(listed == 6, "three checks in 25 min, two servers each")
        #expect(client.statistics.tries < 1_512)
    }

    @Test(
        "if all scheduled servers become silent, lookups are up to 300 ms slower, for at most 3 s",
        arguments: [50, 1_000]
    )
    @ServiceLoop
    func listGoesSilent(interval: Int) async throws {
        let client = try await longList { _ in nil }
        _ = try await world.lookUp(client)
        let list = (100...115).map { "192.0.2.\($0)" }.joined(separator: " ")
        let start = world.now
        world.script = { request in
            if request.url.hasSuffix("/ss") { return .reply(ok(list)) }
            return isListed(request) ? .silence() : .reply(good(request))
        }
        var begun: [Begun] = []
        for number in 0..<(20_000 / interval) {
            begun.append(try world.begin(client, "n\(number).example.com"))
            await world.advance(by: .milliseconds(interval))
        }
        for begun in begun {
            let reply = try await world.value(of: begun).get()
            #expect(reply.duration <= .milliseconds(320))
        }
        let slow = world.asked.filter { isListed($0.request) }
        let late = (slow.map(\.at).max() ?? .zero) - (start - world.start)
        #expect(late <= .seconds(3), "\(late)")
        let names = Dictionary(grouping: world.asked.flatMap { namesAsked($0.request) }) { $0 }
        #expect(names.values.allSatisfy { $0.count <= 2 })
    }

    @Test("if only scheduled servers answer, the scheduled servers get the calls")
    @ServiceLoop
    func silentConfigured() async throws {
        let client = try await longList { isListed($0) ? nil : .silence() }
        for number in 0..<50 {
            let reply = try await world.lookUp(client, "n\(number).example.com")
            #expect(reply.duration == .milliseconds(20))
        }
    }

    @Test("if only one of all servers answers, a few probes find this server")
    @ServiceLoop
    func oneAnswers() async throws {
        let client = try await longList { $0.server.host == "192.0.2.109" ? nil : .silence() }
        for number in 0..<30 {
            _ = try world.begin(client, "n\(number).example.com")
            await world.advance(by: .seconds(1))
        }
        #expect(try await world.lookUp(client).duration == .milliseconds(20))
    }

    @Test("lookups do not wait for the scheduling service")
    @ServiceLoop
    func deadService() async throws {
        world.script = { $0.url.hasSuffix("/ss") ? .silence() : .reply(good($0)) }
        let client = try scheduledClient()
        client.start()
        #expect(try await world.lookUp(client).duration == .milliseconds(20))
        await world.advance(by: .seconds(10))
        #expect(world.hosts == "819" || world.hosts == "189")
        #expect(client.statistics.refreshFailures == 1)
        #expect(client.statistics.refreshError == .transport(.timedOut(reused: false)))
        #expect(client.statistics.refreshedAt == nil)
        _ = try await world.lookUp(client)
    }

    @Test("server addresses are refreshed when they expire, and after a network change")
    @ServiceLoop
    func refreshed() async throws {
        serve("192.0.2.5")
        let client = try scheduledClient()
        client.start()
        await world.advance(by: .seconds(3_599))
        #expect(world.hosts == "8" || world.hosts == "9")
        await world.advance(by: .seconds(2))
        #expect(world.hosts.count == 2)
        #expect(world.trials == [5], "an equal list needs no probe")
        serve("192.0.2.6")
        client.networkChanged()
        await world.advance(by: .seconds(1))
        #expect(client.statistics.servers.map { $0.address.host.suffix(1) } == ["6", "1"])
    }

    @Test("while all servers fail, the scheduling service is called once a minute")
    @ServiceLoop
    func allFail() async throws {
        serve("192.0.2.5")
        let client = try scheduledClient()
        client.start()
        await world.advance(by: .seconds(100))
        world.script = { $0.url.hasSuffix("/ss") ? .reply(ok("192.0.2.5")) : .fail(.connect("")) }
        for _ in 0..<5 { _ = try await world.failure(client) }
        await world.advance(by: .seconds(1))
        #expect(client.statistics.refreshes == 2)
        _ = try await world.failure(client)
        await world.advance(by: .seconds(58))
        #expect(client.statistics.refreshes == 2)
        await world.advance(by: .seconds(3))
        #expect(client.statistics.refreshes == 3)
    }

    @Test("after a TLS failure, all requests use the vendor that `alternative(after:)` returns")
    @ServiceLoop
    func otherWay() async throws {
        world.script = { request in
            guard request.url.contains("other") else { return .fail(.tls("no such name")) }
            return request.url.hasSuffix("/ss")
                ? .reply(ok("192.0.2.5")) : .reply(good(request))
        }
        let client = try scheduledClient()
        client.start()
        await world.advance(by: .milliseconds(100))
        #expect(client.statistics.refreshes == 1)
        #expect(try await world.lookUp(client).server == (try server("192.0.2.5:443")))
        #expect(world.sent.map { $0.request.url.contains("other") } == [false, true, true, true])
    }

    @Test("an observer is notified of new servers, and of failures of the scheduling service")
    @ServiceLoop
    func notices() async throws {
        serve("192.0.2.5")
        let client = try scheduledClient()
        var notices: [VendorClient.Notice] = []
        client.observer = { notices.append($0) }
        client.start()
        await world.advance(by: .seconds(1))
        serve(nil)
        await world.advance(by: .seconds(3_600))
        #expect(
            notices == [
                .servers([try server("192.0.2.5:443")]),
                .noServers(.transport(.connect("refused"))),
            ]
        )
    }

    @Test("a stopped client sends no request for server addresses")
    @ServiceLoop
    func stopped() async throws {
        world.script = { _ in .silence() }
        let client = try scheduledClient()
        client.start()
        await world.advance(by: .milliseconds(100))
        client.stop()
        await world.advance(by: .seconds(86_400))
        #expect(world.sent.count == 1)
        #expect(world.cancelled == 1)
        #expect(client.statistics.refreshFailures == 0)
    }

    @ServiceLoop
    private func alibabaClient() throws -> VendorClient {
        try world.client(
            servers: 1,
            vendor: Alibaba(account: "1", api: .v1),
            source: VendorClient.AddressSource(servers: [try server("192.0.2.1:443")])
        )
    }

    private func step(for request: HTTPRequest, code: String?) -> Simulation.Step {
        if request.url.contains("/ss?") {
            return .reply(ok(#"{"service_ip":["192.0.2.5"]}"#))
        }
        if let code, digit(request) == 5 {
            let refusal = #"{"code":"\#(code)"}"#
            return .reply(HTTPReply(status: 403, body: Array(refusal.utf8)))
        }
        let host = request.url.split(separator: "host=").last?.prefix { $0 != "&" } ?? ""
        return .reply(ok(#"{"host":"\#(host)","ips":["192.0.2.10"],"ttl":60}"#))
    }

    @Test("after `ServiceLevelDeny`, the client calls the next server and the scheduling service")
    @ServiceLoop
    func denied() async throws {
        var isDenied = false
        world.script = { request in
            step(for: request, code: isDenied ? "ServiceLevelDeny" : nil)
        }
        let client = try alibabaClient()
        client.start()
        await world.advance(by: .seconds(100))
        #expect(client.statistics.refreshes == 1)
        isDenied = true
        #expect(try await world.lookUp(client).server == (try server("192.0.2.1:443")))
        await world.advance(by: .milliseconds(100))
        #expect(client.statistics.refreshes == 2)
        #expect(client.statistics.state == .open)
    }

    @Test("a scheduled server that refuses the account does not stop the calls to other servers")
    @ServiceLoop
    func refusingList() async throws {
        world.script = { request in
            step(for: request, code: "InvalidSignature")
        }
        let client = try alibabaClient()
        client.start()
        for _ in 0..<10 {
            await world.advance(by: .seconds(10))
            #expect(try await world.lookUp(client).server == (try server("192.0.2.1:443")))
        }
        #expect(client.statistics.state == .open)
    }

    @Test(
        "the pause after failures of the scheduling service begins at 1 min, and doubles up to 1 h"
    )
    func backOff() {
        let epoch = Instant(nanoseconds: 0)
        var schedule = AddressSchedule()
        schedule.start(now: epoch)
        var now = epoch
        var pauses: [Int] = []
        for _ in 0..<8 {
            let number = schedule.began(now: now)
            #expect(schedule.due == nil)
            schedule.failed(number, now: now)
            let due = schedule.due ?? now
            pauses.append((due - now).milliseconds / 60_000)
            now = due
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60])
    }

    @Test("a reply of the scheduling service is dropped if the network changed after the request")
    func stale() {
        let epoch = Instant(nanoseconds: 0)
        var schedule = AddressSchedule()
        schedule.start(now: epoch)
        let number = schedule.began(now: epoch)
        schedule.networkChanged(now: epoch)
        #expect(schedule.due == epoch)
        #expect(schedule.succeeded(number, validFor: nil, now: epoch) == false)
        let next = schedule.began(now: epoch)
        #expect(schedule.succeeded(next, validFor: .zero, now: epoch) == true)
        #expect(schedule.due == epoch + .seconds(60))
    }
}
