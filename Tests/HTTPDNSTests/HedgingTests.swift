// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Cost of hedged requests")
@ServiceLoop
struct HedgingTests {
    let world = Simulation()

    private func answer(after times: [Int]) {
        world.script = { .reply(good($0), after: .milliseconds(times[digit($0) - 1])) }
    }

    private func extraRequests(
        _ client: VendorClient,
        _ count: Int,
        of network: ClientNetwork? = nil,
        burst: Int = 1
    )
        async throws -> Int
    {
        let before = world.sent.count
        for first in stride(from: 0, to: count, by: burst) {
            let names = (first..<min(first + burst, count)).map { "n\(before)-\($0).example.com" }
            let begun = try names.map { try world.begin(client, $0, of: network) }
            for lookUp in begun { _ = try await world.value(of: lookUp).get() }
            await world.advance(by: .seconds(2))
        }
        return world.sent.count - before - count
    }

    @Test(
        "a faster server becomes current after three probes; later calls are not hedged",
        arguments: [800, 1_200, 1_500, 1_900]
    )
    func slowCurrent(milliseconds: Int) async throws {
        answer(after: [milliseconds, 20])
        let client = try world.client()
        #expect(try await extraRequests(client, 100) == 3 + 3 * 2)
        #expect(client.statistics.servers[1].isCurrent)
        #expect(client.statistics.switches == 1)
        #expect(try await world.lookUp(client).duration == .milliseconds(20))
        #expect(try await extraRequests(client, 900) == 3 * 2)
        answer(after: [20, 20])
        _ = try await extraRequests(client, 310)
        #expect(client.statistics.servers[0].isCurrent)
    }

    @Test("if all servers are slow, at most 16 calls are hedged at first, and later one call in 20")
    func allSlow() async throws {
        answer(after: [400, 400])
        let client = try world.client()
        #expect(try await extraRequests(client, 100) <= 16 + 5)
        #expect(try await extraRequests(client, 100) == 5)
        #expect(client.statistics.switches == 0)
        #expect(world.trials.isEmpty)
    }

    @Test(
        "if all servers are slow and no hedged request is allowed, a burst of names causes no probe"
    )
    func slowBursts() async throws {
        answer(after: [400, 400])
        let client = try world.client()
        #expect(try await extraRequests(client, 99, burst: 3) <= 21 + 2 * 5)
        let probes = world.trials.count
        #expect(try await extraRequests(client, 300, burst: 3) == 15)
        #expect(world.trials.count == probes)
    }

    @Test("the limit of hedged requests recovers with time, and after a network change")
    func expiry() async throws {
        answer(after: [400, 400])
        let client = try world.client()
        _ = try await extraRequests(client, 30, of: network(1))
        func hedges() -> Int {
            (0..<20).count { _ in client.hedges.take(for: network(1), now: world.now) }
        }
        #expect(hedges() == 0)
        await world.advance(by: .seconds(1_200))
        #expect(hedges() == 2)
        client.networkChanged()
        #expect(hedges() == 16)
        await world.advance(by: .seconds(9_600))
        #expect(hedges() == 16)
        client.resume()
        #expect(hedges() == 16)
    }

    @Test("the fastest of three servers becomes current")
    func fastest() async throws {
        answer(after: [900, 700, 20])
        let client = try world.client(servers: 3)
        _ = try await extraRequests(client, 20)
        #expect(client.statistics.servers[2].isCurrent)
        #expect(try await extraRequests(client, 100) == 0)
    }

    @Test("a client's slow names change neither the current server nor hedging for other clients")
    func slowNames() async throws {
        world.script = { request in
            let isSlow = digit(request) == 1 && namesAsked(request)[0].hasPrefix("n")
            return .reply(good(request), after: .milliseconds(isSlow ? 800 : 20))
        }
        let client = try world.client()
        let extra = try await extraRequests(client, 200, of: network(2))
        #expect(extra == 2 * 3, "each hedged request causes at most one probe")
        for number in 0..<20 {
            _ = try? await world.lookUp(client, "n\(number).example.com", of: unproven(number))
        }
        #expect(client.statistics.servers[0].isCurrent)
        world.servers([1: .silence()])
        #expect(
            try await world.lookUp(client, of: network(1)).duration == .milliseconds(320)
        )
    }

    @Test(
        "if a server answers probes but not a client's names, this client's calls avoid the server",
        arguments: ["silent", "slow", "invalid", "403", "429"]
    )
    func probesOnly(fault: String) async throws {
        var bad: Set<Int> = [1]
        world.script = { request in
            let isBad = bad.contains(digit(request)) && namesAsked(request)[0].hasPrefix("n")
            switch fault {
            case _ where !isBad: return .reply(good(request))
            case "silent": return .silence()
            case "slow": return .reply(good(request), after: .milliseconds(600))
            case "invalid": return .reply(ok("<html>"), after: .zero)
            default: return .reply(HTTPReply(status: Int(fault) ?? 0, body: []), after: .zero)
            }
        }
        // The limit of the DNS client permits a burst of three hedged requests.
        let client = try world.client(servers: 3) { $0.concurrentCalls = 2 }
        _ = try await extraRequests(client, 3, of: network(2))
        await world.advance(by: .seconds(2))
        #expect(try await extraRequests(client, 200, of: network(2)) == 0)
        #expect(client.statistics.servers[0].isCurrent)
        guard fault != "slow" else { return }
        bad = [1, 2]
        _ = try await extraRequests(client, 3, of: network(2))
        await world.advance(by: .seconds(2))
        #expect(try await extraRequests(client, 80, of: network(2)) == 0)
    }

    private func slowest(
        _ client: VendorClient,
        _ count: Int,
        of network: ClientNetwork,
        prefix: String
    ) async throws -> Duration {
        var slowest = Duration.zero
        for number in 0..<count {
            let name = "\(prefix)\(number).example.com"
            let reply = try await world.lookUp(client, name, of: network)
            slowest = max(slowest, reply.duration)
            await world.advance(by: .milliseconds(500))
        }
        return slowest
    }

    @Test("an avoided server gets the calls that the other servers do not answer")
    func avoidedServerRecovers() async throws {
        var silent: Set<Int> = [1]
        world.script = { request in
            let isSilent = silent.contains(digit(request)) && namesAsked(request)[0].hasPrefix("n")
            return isSilent ? .silence() : .reply(good(request))
        }
        let client = try world.client(servers: 4)
        let limit = Duration.milliseconds(320)
        #expect(try await slowest(client, 3, of: network(2), prefix: "na") == limit)
        silent = [2, 3, 4]
        #expect(try await slowest(client, 60, of: network(2), prefix: "nb") == limit)
        #expect(try await slowest(client, 20, of: network(2), prefix: "nc") == .milliseconds(20))
    }

    @Test("names that no server answers do not change the order of the servers for any client")
    func deadNames() async throws {
        world.script = { request in
            let name = namesAsked(request)[0]
            guard name.hasPrefix("n") else { return .reply(good(request)) }
            guard digit(request) == 1, !name.hasPrefix("ndead") else { return .silence() }
            return .reply(good(request))
        }
        let client = try world.client()
        for number in 0..<40 {
            let dead = try world.begin(
                client,
                "ndead\(number).example.com",
                of: unproven(1),
                within: .milliseconds(400)
            )
            _ = try await world.value(of: dead)
            let reply = try await world.lookUp(client, "n\(number).example.com", of: unproven(2))
            #expect(reply.duration == .milliseconds(20))
        }
    }

    @Test("a server that is sometimes late is used before a server that answers only probes")
    func sometimesLate() async throws {
        world.script = { request in
            let name = namesAsked(request)[0]
            guard name.hasPrefix("n") else { return .reply(good(request)) }
            guard digit(request) == 2 else { return .silence() }
            let isLate = name.hasPrefix("nb") && name.contains("5.example")
            return .reply(good(request), after: .milliseconds(isLate ? 350 : 120))
        }
        let client = try world.client()
        #expect(try await slowest(client, 3, of: network(2), prefix: "na") == .milliseconds(420))
        #expect(try await slowest(client, 100, of: network(2), prefix: "nb") == .milliseconds(350))
    }

    @Test("names of an unproven client delay the names of other unproven clients only briefly")
    func commonList() async throws {
        var isAttack = true
        world.script = { request in
            switch (digit(request), namesAsked(request)[0].hasPrefix("n")) {
            case (1, true) where isAttack: .silence()
            case (2, true) where !isAttack: .reply(good(request), after: .milliseconds(600))
            default: .reply(good(request))
            }
        }
        let client = try world.client()
        _ = try await slowest(client, 24, of: unproven(3), prefix: "na")
        isAttack = false
        #expect(try await slowest(client, 4, of: unproven(4), prefix: "nb") == .milliseconds(320))
        #expect(try await slowest(client, 80, of: unproven(4), prefix: "nc") == .milliseconds(20))
    }

    @Test("if all servers are avoided for a client, the best server gets the client's calls first")
    func allMiss() async throws {
        var times = [1_000, 20]
        world.script = { request in
            let isName = namesAsked(request)[0].hasPrefix("n")
            let time = isName ? times[digit(request) - 1] : 20
            return .reply(good(request), after: .milliseconds(time))
        }
        let client = try world.client()
        _ = try await slowest(client, 3, of: network(2), prefix: "na")
        times = [370, 370]
        _ = try await slowest(client, 25, of: network(2), prefix: "nb")
        times = [20, 600]
        _ = try await slowest(client, 100, of: network(2), prefix: "nc")
        #expect(try await slowest(client, 80, of: network(2), prefix: "nd") == .milliseconds(20))
    }

    @Test("a server that fails or is late for more than one call in 20 is avoided for 10 min")
    func avoidance() throws {
        let (first, second) = (try server("192.0.2.1:443"), try server("192.0.2.2:443"))
        var avoided = AvoidedServers(limit: 3, duration: .seconds(600))
        var failed: Set<SocketAddress> = []
        func order(of client: ClientNetwork?, after time: Duration = .zero) -> [SocketAddress] {
            var order = [first, second]
            avoided.apply(to: &order, of: client, now: world.now + time) { !failed.contains($0) }
            return order
        }
        for _ in 0..<10 {
            avoided.missed(first, of: network(1), now: world.now)
            for _ in 0..<20 { avoided.answered(first, of: network(1)) }
        }
        #expect(order(of: network(1)) == [first, second])
        for _ in 0..<3 {
            #expect(order(of: network(1)) == [first, second])
            avoided.missed(first, of: network(1), now: world.now)
            avoided.answered(first, of: network(1))
        }
        #expect(order(of: network(1)) == [second, first])
        failed = [second]
        #expect(order(of: network(1)) == [first, second])
        failed = []
        for _ in 0..<3 { avoided.missed(second, of: network(3), now: world.now) }
        #expect(order(of: network(3)) == [first, second])
        for _ in 0..<3 { avoided.missed(first, of: network(3), now: world.now) }
        #expect(order(of: network(3)) == [first, second])
        #expect(order(of: network(2)) == [first, second])
        #expect(order(of: network(1), after: .seconds(599)) == [second, first])
        #expect(order(of: network(1), after: .seconds(600)) == [first, second])
        avoided.reset()
        #expect(order(of: network(1)) == [first, second])
    }

    @Test("all clients that are not proven share one limit of hedged requests")
    func unprovenClients() {
        var budget = HedgeBudget(burst: 2)
        func take(_ client: ClientNetwork?) -> Bool { budget.take(for: client, now: world.now) }
        #expect((1...4).map { take(unproven($0)) } == [true, true, false, false])
        #expect(take(network(1)) && take(nil))
        for number in 0..<20 { budget.called(by: unproven(number)) }
        #expect(take(unproven(1)) && !take(unproven(1)))
    }
}
