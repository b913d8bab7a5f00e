// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Failures of a vendor's servers")
struct VendorClientFailoverTests {
    let world = Simulation()

    private static let refused = Simulation.Step.fail(.connect("refused"))

    @Test("an observer is notified of each failure and of the next server")
    @ServiceLoop
    func told() async throws {
        let (first, second) = (try server("192.0.2.1:443"), try server("192.0.2.2:443"))
        var notices: [VendorClient.Notice] = []
        let client = try world.client()
        client.observer = { notices.append($0) }
        world.servers([1: Self.refused])
        _ = try await world.lookUp(client)
        let failure = VendorError.transport(.connect("refused"))
        #expect(notices == [.failed(first, failure, next: second)])
        notices = []
        world.servers([:])
        _ = try await world.lookUp(client)
        #expect(notices == [])
        world.script = { _ in .reply(HTTPReply(status: 403, body: []), after: .zero) }
        _ = try? await world.lookUp(client)
        await world.advance(by: .milliseconds(1))
        let refusal = VendorError.unauthorized(status: 403)
        #expect(
            notices == [
                .failed(first, refusal, next: second), .failed(second, refusal, next: nil),
                .refused(refusal, pause: .seconds(300)),
            ]
        )
    }

    @Test("after a hedged request, the slow server's answer is used if it arrives first")
    @ServiceLoop
    func slow() async throws {
        world.servers([
            1: .reply(ok("www.example.com.:192.0.2.10,60-0"), after: .milliseconds(310))
        ])
        let client = try world.client()
        let reply = try await world.lookUp(client)
        #expect(reply.server == (try server("192.0.2.1:443")))
        #expect(reply.duration == .milliseconds(310))
        await world.advance(by: .seconds(10))
        #expect(world.hosts == "12")
        #expect(client.statistics.servers.map(\.failures) == [0, 0])
        #expect(client.statistics.successes == 1)
        #expect(client.statistics.billable == 2)
    }

    @Test("if two of three servers do not answer, a call takes one hedging delay longer")
    @ServiceLoop
    func twoDead() async throws {
        world.servers([1: .silence(), 2: Self.refused])
        let reply = try await world.lookUp(world.client(servers: 3))
        #expect(reply.duration == .milliseconds(320))
        #expect(world.times == [0, 300, 300])
    }

    @Test(
        "an attempt ends at its timeout or at the call's deadline; a call tries only three servers"
    )
    @ServiceLoop
    func deadline() async throws {
        let client = try world.client(servers: 5)
        let failure = try await world.failure(client, within: .milliseconds(2_500))
        #expect(world.times == [0, 300, 600])
        #expect(world.asked.map(\.wait.milliseconds) == [2_000, 2_000, 1_900])
        #expect(world.elapsed == .milliseconds(2_500))
        #expect(failure.reason == .transport(.timedOut(reused: false)))
    }

    @Test(
        "if all servers fail, each server gets one attempt, and the call fails with the last error"
    )
    @ServiceLoop
    func allFail() async throws {
        world.script = { .fail(digit($0) == 1 ? .connect("refused") : .tls("expired")) }
        let failure = try await world.failure(world.client(servers: 3))
        #expect(world.hosts == "123")
        #expect(failure.reason == .transport(.tls("expired")))
    }

    @Test("a timeout of the current server is a failure even if a hedged request was answered")
    @ServiceLoop
    func silentSwitch() async throws {
        world.servers([1: .silence(reused: true)])
        let client = try world.client()
        for _ in 0..<3 { _ = try await world.lookUp(client) }
        await world.advance(by: .seconds(3))
        #expect(client.statistics.switches == 1)
        #expect(try await world.lookUp(client).duration == .milliseconds(20))
    }

    @Test(
        "after 10 min, the first server becomes current again if it answers a probe"
    )
    @ServiceLoop
    func returning() async throws {
        world.servers([1: Self.refused])
        let client = try world.client()
        for _ in 0..<3 { _ = try await world.lookUp(client) }
        world.servers([:])
        await world.advance(by: .seconds(599))
        #expect(try await world.lookUp(client).server == (try server("192.0.2.2:443")))
        await world.advance(by: .seconds(1))
        #expect(try await world.lookUp(client).server == (try server("192.0.2.2:443")))
        #expect(world.trials.last == 1)
        #expect(try await world.lookUp(client).server == (try server("192.0.2.1:443")))
        #expect(client.statistics.servers[0].isCurrent)
        #expect(client.statistics.returns == 1)
    }

    @Test("every ten minutes, an unresponsive first server gets one probe, and stays unused")
    @ServiceLoop
    func notReturning() async throws {
        world.servers([1: Self.refused])
        let client = try world.client()
        for _ in 0..<3 { _ = try await world.lookUp(client) }
        for step in [
            Self.refused, .silence(), .reply(ok("www.example.com.:0-0"), after: .seconds(1)),
        ] {
            world.servers([1: step])
            await world.advance(by: .seconds(603))
            let before = world.sent.count
            for _ in 0..<3 { _ = try await world.lookUp(client) }
            #expect(world.sent[before...].count { digit($0.request) == 1 } == 1)
            await world.advance(by: .seconds(3))
            #expect(client.statistics.servers[1].isCurrent)
        }
        #expect(client.statistics.returns == 0)
    }

    @Test(
        "a timeout counts only if the attempt began at least 500 ms before the deadline",
        arguments: [499, 500]
    )
    @ServiceLoop
    func unfair(_ rest: Int) async throws {
        // The first request times out after 2 s.
        world.script = { _ in .silence(reused: true) }
        let client = try world.client { $0.hedgeAfter = .seconds(9) }
        _ = try await world.failure(client, within: .milliseconds(2_000 + rest))
        #expect(world.times == [0, 2_000])
        #expect(client.pool.isCurrentSuspected == (rest == 500))
    }

    @Test("if `timeout` is 100 ms, a timeout after 100 ms counts as a failure")
    @ServiceLoop
    func shortTimeout() async throws {
        let client = try world.client { $0.timeout = .milliseconds(100) }
        for _ in 0..<3 { _ = try await world.failure(client, within: .milliseconds(100)) }
        await world.advance(by: .seconds(1))
        #expect(client.statistics.switches == 1)
    }

    @Test("a server with three unanswered requests is called last")
    @ServiceLoop
    func silentToSeveral() async throws {
        world.servers([1: .silence()])
        let client = try world.client()
        let first = try (1...3).map { try world.begin(client, "n\($0).example.com") }
        for one in first { _ = try await world.value(of: one).get() }
        #expect(world.hosts == "111222")
        #expect(client.statistics.switches == 0)
        #expect(try await world.lookUp(client, "n4.example.com").duration == .milliseconds(20))
        #expect(world.hosts == "1112222")
        await world.advance(by: .seconds(2))
        #expect(client.statistics.servers[0].failures == 4)
        #expect(client.statistics.switches == 1)
    }

    @Test("a slow server becomes the current server again after it has answered")
    @ServiceLoop
    func slowToSeveral() async throws {
        world.script = {
            .reply(good($0), after: $0.server.octets.last == 1 ? .milliseconds(400) : .zero)
        }
        let client = try world.client()
        let slow = try (1...3).map {
            try world.begin(client, "n\($0).example.com", of: network(UInt32($0)))
        }
        for one in slow { _ = try await world.value(of: one).get() }
        _ = try await world.lookUp(client, "n4.example.com")
        #expect(world.hosts == "1112222")
        await world.advance(by: .milliseconds(100))
        _ = try await world.lookUp(client, "n5.example.com")
        #expect(world.hosts == "1112222" + "12")
        #expect(client.statistics.servers[0].failures == 0)
    }

    @Test("if the current server fails, a burst of names waits for only one timeout")
    @ServiceLoop
    func fewCalls() async throws {
        world.servers([1: .silence(), 2: Self.refused])
        let client = try world.client(servers: 3) { $0.batching = .together }
        var begun: [Begun] = []
        for number in 0..<1_000 {
            begun.append(try world.begin(client, "n\(number).example.com"))
            await world.advance(by: .milliseconds(1))
        }
        var waits: [Duration] = []
        for one in begun {
            waits.append(try await world.value(of: one).get().duration)
        }
        #expect(waits.max().map { $0 <= .milliseconds(400) } == true)
    }

    @Test("the number of requests that continue after the end of their call is limited")
    @ServiceLoop
    func lingering() async throws {
        world.servers([1: .silence()])
        let client = try world.client {
            $0.retriesBeforeSwitch = 1_000
            $0.concurrentCalls = 200
        }
        var begun: [Begun] = []
        for number in 0..<100 {
            begun.append(try world.begin(client, "n\(number).example.com"))
            await world.advance(by: .milliseconds(1))
        }
        for one in begun { _ = try await world.value(of: one).get() }
        let given = world.cancelled
        #expect(given == 100 - ClientLimits.lingeringTries)
        await world.advance(by: .seconds(5))
        let first = client.statistics.servers[0]
        #expect(first.failures == first.tries - UInt64(given) - 1, "one probe is in flight")
        #expect(client.statistics.successes == 100)
    }

    @Test("a server gets only one retry on a new connection")
    @ServiceLoop
    func freshOnce() async throws {
        world.script = { _ in .silence(reused: true) }
        let client = try world.client(servers: 1)
        _ = try await world.failure(client, within: .seconds(5))
        #expect(world.times == [0, 2_000])
        #expect(client.statistics.freshRetries == 1)
    }
}
