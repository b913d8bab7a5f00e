// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Refused accounts, rate limits and pauses")
struct VendorClientAccountTests {
    let world = Simulation()

    @ServiceLoop
    private func refusal(_ status: Int = 403, ahead seconds: Int64? = nil) -> Simulation.Step {
        var reply = HTTPReply(status: status, body: [])
        if seconds == 3_600 { reply.date = "Tue, 14 Nov 2023 23:13:20 GMT" }
        if seconds == 7_200 { reply.date = "Wed, 15 Nov 2023 00:13:20 GMT" }
        if seconds == 0 { reply.date = "Tue, 14 Nov 2023 22:13:20 GMT" }
        return .reply(reply, after: .zero)
    }

    @ServiceLoop
    private func strict(ahead: Int64) {
        world.script = { [self] request in
            request.headers == ["\(Simulation.wall + ahead)"]
                ? .reply(good(request), after: .zero) : refusal(ahead: ahead)
        }
    }

    @Test(
        "if all servers refuse the account, the call fails and is not billed",
        arguments: [401, 403]
    )
    @ServiceLoop
    func refused(status: Int) async throws {
        world.script = { _ in self.refusal(status) }
        let client = try world.client()
        let failure = try await world.failure(client)
        #expect(failure.reason == .unauthorized(status: status))
        await world.advance(by: .milliseconds(1))
        #expect(client.statistics.servers[0].isCurrent)
        #expect(client.statistics.billable == 0)
        #expect(client.statistics.usage?.callsToday == 0)
    }

    @Test(
        "a refusal pauses calls for 5 min; an answered probe ends the pause"
    )
    @ServiceLoop
    func pause() async throws {
        world.script = { _ in self.refusal() }
        let client = try world.client()
        _ = try await world.failure(client)
        await world.advance(by: .zero)
        #expect(world.trials == [1, 2])
        await world.advance(by: .milliseconds(299_999))
        #expect(try await world.failure(client).reason == .unauthorized(status: 403))
        #expect(
            client.statistics.state
                == .refused(.unauthorized(status: 403), until: world.start + .seconds(300))
        )
        #expect(world.asked.count == 2)

        await world.advance(by: .milliseconds(1))
        world.servers([:])
        let trial = try world.begin(client, "a.example.com")
        await world.advance(by: .milliseconds(10))
        _ = try await world.failure(client, "b.example.com")
        _ = try await world.value(of: trial).get()
        #expect(world.asked.count == 3)
        #expect(world.trials.count == 3)
        _ = try await world.lookUp(client)
        #expect(client.statistics.state == .open)
    }

    @Test(
        "a server that refuses the account gets no call for 5 min (60 s without TLS)",
        arguments: [(true, 300), (false, 60)]
    )
    @ServiceLoop
    func oneServer(usesTLS: Bool, seconds: Int) async throws {
        world.script = { [self] in digit($0) == 1 ? refusal() : .reply(good($0), after: .zero) }
        let client = try world.client(vendor: ClockedVendor(usesTLS: usesTLS)) {
            $0.budget = Budget.Rule(callsPerDay: 1_000)
        }
        for round in 1...3 {
            for number in 0..<seconds {
                let reply = try await world.lookUp(client, "n\(round)-\(number).example.com")
                #expect(reply.server.host == "192.0.2.2")
                await world.advance(by: .seconds(1))
            }
            #expect(client.statistics.state == .open)
            #expect(world.hosts.count { $0 == "1" } == 2 * round, "one call and one probe")
            #expect(world.sent.count == round * (seconds + 3))
        }
        // Refusals are free, but only over TLS.
        let refusals = usesTLS ? 2 * 3 : 0
        #expect(client.statistics.usage?.callsToday == UInt64(world.sent.count - refusals))
    }

    @Test(
        "a refusal by one server does not stop calls to the vendor while another server is silent"
    )
    @ServiceLoop
    func refusedAndSilent() async throws {
        world.script = { [self] in digit($0) == 1 ? refusal() : .silence() }
        let client = try world.client()
        _ = try await world.failure(client)
        await world.advance(by: .seconds(5))
        #expect(client.statistics.state == .open)
        world.servers([1: refusal()])
        #expect(try await world.lookUp(client).server.host == "192.0.2.2")
        world.script = { [self] _ in refusal() }
        _ = try await world.failure(client)
        await world.advance(by: .milliseconds(1))
        guard case .refused = client.statistics.state else { throw Unexpected(what: "open") }
    }

    @Test("if one server refuses the account and another returns 429, the state is `refused`")
    @ServiceLoop
    func refusedAndLimited() async throws {
        var limited = HTTPReply(status: 429, body: [])
        limited.retryAfter = "7"
        world.servers([1: refusal(), 2: .reply(limited, after: .zero)])
        let client = try world.client()
        _ = try await world.failure(client)
        await world.advance(by: .milliseconds(1))
        let error = VendorError.unauthorized(status: 403)
        #expect(client.statistics.state == .refused(error, until: world.start + .seconds(7)))
        #expect(try await world.failure(client).reason == error)
        await world.advance(by: .seconds(7))
        world.servers([1: refusal()])
        _ = try await world.lookUp(client)
        #expect(client.statistics.state == .open)
    }

    @Test("if the key is wrong, every 5 min one call is sent, and one probe to each server")
    @ServiceLoop
    func wrongKey() async throws {
        world.script = { [self] _ in refusal() }
        let client = try world.client(servers: 4)
        for number in 0..<900 {
            _ = try await world.failure(client, "n\(number).example.com")
            await world.advance(by: .seconds(2))
        }
        #expect(world.hosts == String(repeating: "123", count: 6))
        #expect(world.trials.count == 6 * 4)
    }

    @Test("a clock offset that no longer works is replaced")
    @ServiceLoop
    func skewAgain() async throws {
        let client = try world.client(vendor: ClockedVendor())
        for ahead: Int64 in [3_600, 7_200, 0] {
            strict(ahead: ahead)
            _ = try await world.lookUp(client)
            #expect(client.statistics.clockSkew == .seconds(ahead))
        }
        #expect(world.sent.count == 6)
    }

    @Test("if the clocks agree, a refused call is not sent again")
    @ServiceLoop
    func noSkew() async throws {
        world.script = { _ in self.refusal(ahead: 0) }
        _ = try await world.failure(world.client(vendor: ClockedVendor()))
        let requests = { [world] in
            world.sent.count { namesAsked($0.request) == ["www.example.com"] }
        }
        #expect(requests() == 2)

        world.script = { _ in self.refusal(ahead: 3_600) }
        let client = try world.client(vendor: ClockedVendor())
        #expect(try await world.failure(client).reason == .unauthorized(status: 403))
        #expect(requests() == 6)
        await world.advance(by: .milliseconds(1))
        #expect(client.statistics.clockSkew == nil)
        #expect(
            client.statistics.state
                == .refused(.unauthorized(status: 403), until: world.start + .seconds(300))
        )
    }

    @Test(
        "after a 401 the other authentication form is tried once",
        arguments: [false, true]
    )
    @ServiceLoop
    func otherForm(expires: Bool) async throws {
        let isAccepted = { (request: HTTPRequest) in
            request.url.contains(";") != expires
        }
        world.script = { isAccepted($0) ? .reply(good($0)) : self.refusal(401, ahead: 0) }
        let vendor = try Tencent(token: Secret("1"), expires: expires)
        let client = try world.client(servers: 1, vendor: vendor)
        for _ in 0..<2 { _ = try await world.lookUp(client) }
        #expect(world.sent.map { isAccepted($0.request) } == [false, true, true])
        #expect(client.statistics.billable == 2)
        #expect(client.statistics.state == .open)

        world.script = { _ in self.refusal(401, ahead: 0) }
        #expect(try await world.failure(client).reason == .unauthorized(status: 401))
        let requests = world.sent.map(\.request).filter { $0.url.contains("www.example.com") }
        #expect(requests.map(isAccepted).suffix(2) == [true, false])
    }

    @Test("after a 429, a server is skipped for the time in Retry-After")
    @ServiceLoop
    func limited() async throws {
        var reply = HTTPReply(status: 429, body: [])
        reply.retryAfter = "7"
        world.servers([1: .reply(reply, after: .zero)])
        let client = try world.client()
        for _ in 0..<5 { _ = try await world.lookUp(client) }
        #expect(world.hosts == "122222")
        #expect(world.trials == [1, 2])
        #expect(client.statistics.switches == 0)
        #expect(client.statistics.servers[0].limitedUntil == world.start + .seconds(7))
        world.servers([:])
        await world.advance(by: .seconds(7))
        _ = try await world.lookUp(client)
        #expect(world.hosts.last == "1")
    }

    @Test("if all servers answer 429, calls fail until a probe is due")
    @ServiceLoop
    func allLimited() async throws {
        world.script = { _ in .reply(HTTPReply(status: 429, body: []), after: .zero) }
        let client = try world.client()
        #expect(try await world.failure(client).reason.kind == .limited)
        await world.advance(by: .milliseconds(1))
        let second = try await world.failure(client)
        let pause = VendorError.limited(retryAfter: .milliseconds(999))
        #expect(second == VendorFailure(reason: pause))
        #expect(client.statistics.state == .limited(until: world.start + .seconds(1)))
        #expect(world.hosts == "12")
        #expect(world.trials == [1, 2])
        world.servers([:])
        await world.advance(by: .seconds(1))
        _ = try await world.lookUp(client)
        #expect(client.statistics.state == .open)
    }

    @Test("a paused vendor is not called; calls in flight continue")
    @ServiceLoop
    func operatorPause() async throws {
        world.servers([:])
        let client = try world.client()
        let inFlight = try world.begin(client, "a.example.com")
        await world.advance(by: .milliseconds(1))
        client.pause()
        #expect(try await world.failure(client) == VendorFailure(reason: .paused))
        #expect(client.statistics.state == .paused)
        _ = try await world.value(of: inFlight).get()
        client.resume()
        _ = try await world.lookUp(client)
        #expect(client.statistics.state == .open)
    }

    @Test("`resume` also ends the pause after a refusal of the account")
    @ServiceLoop
    func resume() async throws {
        world.script = { _ in self.refusal() }
        let client = try world.client()
        _ = try await world.failure(client)
        world.servers([:])
        client.resume()
        _ = try await world.lookUp(client)
    }
}
