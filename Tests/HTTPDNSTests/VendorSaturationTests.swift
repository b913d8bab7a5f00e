// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("A vendor that limits concurrent calls")
struct VendorSaturationTests {
    let world = Simulation()

    private static func status(_ status: Int) -> Simulation.Step {
        .reply(HTTPReply(status: status, body: []), after: .milliseconds(3))
    }

    private static let refused = Simulation.Step.fail(
        .connect("refused"),
        after: .milliseconds(3)
    )

    private static let refusals: [(String, Simulation.Step)] = [
        ("refused", refused), ("closed", .fail(.cutOff(reused: false))),
        ("503", status(503)), ("429", status(429)),
    ]

    @ServiceLoop
    private func limit(_ places: Int, _ refusal: Simulation.Step) {
        var ends: [Instant] = []
        world.script = { [world] request in
            ends.removeAll { $0 <= world.now }
            guard ends.count < places else { return refusal }
            let isSlow = namesAsked(request).contains { $0.hasPrefix("slow") }
            let time = Duration.milliseconds(isSlow ? 1_800 : 20)
            ends.append(world.now + time)
            return .reply(good(request), after: time)
        }
    }

    @Test
    @ServiceLoop
    func `a name that gets a 429 is not queued again if fewer than four calls are in flight`()
        async throws
    {
        limit(3, Self.status(429))
        let client = try world.client(servers: 1)
        for number in 0..<3 {
            _ = try await world.lookUp(client, "first\(number).example.com", of: network(2))
            _ = try world.begin(client, "slow\(number).example.com", of: network(2))
        }
        await #expect(throws: (any Error).self) {
            try await world.lookUp(client, "www.example.com", of: network(1))
        }
    }

    @Test(
        "if slow names of one client use up the vendor's limit, no name of another client fails",
        arguments: refusals,
        [1, 2]
    )
    @ServiceLoop
    func slowNames(_ refusal: (label: String, step: Simulation.Step), servers: Int) async throws {
        limit(8, refusal.step)
        let client = try world.client(servers: servers)
        var slowest = Duration.zero
        for round in 0..<200 {
            if round % 2 == 0 {
                _ = try world.begin(client, "slow\(round).example.com", of: network(2))
            }
            let reply = try await world.lookUp(client, "n\(round).example.com", of: network(1))
            slowest = max(slowest, reply.duration)
            await world.advance(by: .milliseconds(80))
        }
        #expect(slowest <= .milliseconds(1_100), "\(refusal.label)")
        #expect(!client.isSilent && client.statistics.state == .open)
        #expect(client.statistics.servers.allSatisfy { $0.failuresInRow == 0 })
    }

    @Test("the limit of calls decreases to the vendor's limit, and increases while names wait")
    @ServiceLoop
    func number() async throws {
        limit(8, .fail(.connect("refused")))
        let client = try world.client(servers: 1)
        _ = try await world.lookUp(client, "first.example.com", of: network(1))
        for number in 0..<8 {
            _ = try world.begin(client, "slow\(number).example.com", of: network(UInt32(number)))
        }
        _ = try world.begin(client, "last.example.com", of: network(8))
        await world.advance(by: .milliseconds(10))
        #expect(client.shares.limit == 8 && client.statistics.inFlight == 8)
        await world.advance(by: .seconds(5))
        #expect(client.statistics.successes == 10)
        #expect(client.shares.limit <= 9)
        world.servers([:])
        for round in 0..<400 {
            for number in 0..<20 {
                _ = try world.begin(client, "n\(round)-\(number).example.com", of: network(1))
            }
            await world.advance(by: .milliseconds(50))
        }
        #expect(client.shares.limit == 32)
    }

    @Test("if the vendor accepts the next connection, a refused one does not reduce the limit")
    @ServiceLoop
    func oneRefusal() async throws {
        var refused: Set<String> = []
        world.script = { request in
            let name = namesAsked(request)[0]
            if name.hasPrefix("new"), refused.insert(name).inserted { return Self.refused }
            return .reply(good(request), after: .milliseconds(100))
        }
        let client = try world.client(servers: 1)
        _ = try world.begin(client, "old.example.com", of: network(1))
        await world.advance(by: .milliseconds(10))
        let begun = try (0..<8).map {
            try world.begin(client, "new\($0).example.com", of: network(UInt32($0)))
        }
        for one in begun { _ = try await world.value(of: one).get() }
        #expect(client.shares.limit == 32)
        #expect(refused.count == 8)
    }

    @Test("a name waits until the vendor accepts a connection again, even if this takes 1 s")
    @ServiceLoop
    func lateConnection() async throws {
        world.servers([:])
        let client = try world.client(servers: 1)
        _ = try await world.lookUp(client, "first.example.com", of: network(1))
        let begin = world.now
        world.script = { [world] request in
            let isSlow = namesAsked(request).contains { $0.hasPrefix("slow") }
            if isSlow {
                return .reply(good(request), after: .milliseconds(400 + 100 * world.sent.count))
            }
            let isFree = world.now - begin >= .seconds(1)
            return isFree ? .reply(good(request)) : .fail(.connect("refused"))
        }
        for number in 0..<8 {
            _ = try world.begin(client, "slow\(number).example.com", of: network(2))
        }
        await world.advance(by: .milliseconds(1))
        let reply = try await world.lookUp(client, "www.example.com", of: network(1))
        #expect(reply.duration > .seconds(1) && reply.duration < .milliseconds(1_200))
    }

    @Test("if the vendor refuses calls after each increase of the limit, increases become rare")
    func increases() {
        var shares = CallShares(of: 32)
        let start = Instant(nanoseconds: 0)
        var seconds: [Int] = []
        shares.reduce(to: 8, now: start)
        for time in 1...300 {
            let now = start + .milliseconds(time * 500)
            shares.grow(now: now)
            guard shares.limit > 8 else { continue }
            seconds.append(time)
            shares.reduce(to: 8, now: now)
        }
        #expect(seconds.prefix(6) == [1, 3, 7, 15, 31, 47])
        for time in 301..<10_000 { shares.grow(now: start + .milliseconds(time * 500)) }
        #expect(shares.limit == 32)
    }

    @Test("16 s after the last refused call, `concurrent-calls` is the limit again")
    func recovery() {
        var shares = CallShares(of: 32)
        let start = Instant(nanoseconds: 0)
        shares.reduce(to: 2, now: start)
        for time in 1...300 {
            let now = start + .milliseconds(time * 500)
            shares.grow(now: now)
            if shares.limit > 2 { shares.reduce(to: 2, now: now) }
        }
        let times = (301...400).filter { time in
            shares.grow(now: start + .milliseconds(time * 500))
            return shares.limit < 32
        }
        #expect(times.count <= 32)
    }

    @Test(
        "names that the vendor refuses do not reduce the limit of calls for other names",
        arguments: [503, 429]
    )
    @ServiceLoop
    func refusedNames(status: Int) async throws {
        world.script = { request in
            let names = namesAsked(request)
            if names.contains(where: { $0.hasPrefix("bad") }) { return Self.status(status) }
            let isSlow = names.contains { $0.hasPrefix("slow") }
            return .reply(good(request), after: .milliseconds(isSlow ? 1_800 : 20))
        }
        let client = try world.client(servers: 1)
        for round in 0..<40 {
            _ = try await world.lookUp(client, "n\(round).example.com", of: network(1))
            for kind in ["slow", "bad"] {
                _ = try world.begin(client, "\(kind)\(round).example.com", of: network(2))
            }
            await world.advance(by: .milliseconds(80))
        }
        #expect(client.shares.limit == 32)
        let requests = world.sent.count { namesAsked($0.request).contains { $0.hasPrefix("bad") } }
        #expect(requests <= 40 * (1 + ClientLimits.saturationRetries))
    }

    @Test("a name that failed at one server is not retried if another server refuses connections")
    @ServiceLoop
    func otherServer() async throws {
        world.script = { request in
            let names = namesAsked(request)
            let isSlow = names.contains { $0.hasPrefix("slow") }
            guard names.contains(where: { $0.hasPrefix("bad") }) else {
                return .reply(good(request), after: .milliseconds(isSlow ? 1_800 : 20))
            }
            let unreadable = HTTPReply(status: 200, body: Array("?".utf8))
            return digit(request) == 1 ? Self.refused : .reply(unreadable, after: .milliseconds(5))
        }
        let client = try world.client(servers: 2)
        _ = try await world.lookUp(client, "first.example.com", of: network(1))
        for number in 0..<10 {
            _ = try world.begin(client, "slow\(number).example.com", of: network(2))
            await world.advance(by: .milliseconds(50))
        }
        let start = world.now
        _ = try await world.failure(client, "bad.example.com", of: network(1))
        #expect(world.now - start < .milliseconds(100))
        await world.advance(by: .seconds(3))
        let requests = world.sent.count { sent in
            namesAsked(sent.request).contains("bad.example.com") && digit(sent.request) == 2
        }
        #expect(requests == 1)
    }

    @Test("a name fails at its own deadline, even while it waits for the end of another call")
    @ServiceLoop
    func heldName() async throws {
        limit(1, Self.refused)
        let client = try world.client(servers: 1)
        _ = try await world.lookUp(client, "first.example.com", of: network(1))
        _ = try world.begin(client, "slow.example.com", of: network(2))
        await world.advance(by: .milliseconds(1))
        let start = world.now
        let held = try world.begin(client, of: network(1), within: .seconds(1))
        await world.advance(by: .milliseconds(100))
        _ = try world.begin(client, "other.example.com", of: network(3))
        guard case .failure = try await world.value(of: held) else {
            throw Unexpected(what: "answered")
        }
        #expect(world.now - start <= .milliseconds(1_020))
    }

    @ServiceLoop
    private func queue(_ workers: Int) {
        var ends = [Instant](repeating: world.now, count: workers)
        world.script = { [world] request in
            let isSlow = namesAsked(request).contains { $0.hasPrefix("slow") }
            let first = ends.indices.min { ends[$0] < ends[$1] } ?? 0
            let begin = max(ends[first], world.now)
            // The vendor skips a call that it cannot begin within 2 s, because the daemon has
            // closed its connection.
            guard begin - world.now < .seconds(2) else { return .silence() }
            let end = begin + .milliseconds(isSlow ? 1_500 : 20)
            ends[first] = min(end, world.now + .seconds(2))
            return .reply(good(request), after: end - world.now)
        }
    }

    @Test("a silent vendor is detected although it answered recently and calls are in flight")
    @ServiceLoop
    func silentVendor() async throws {
        queue(8)
        let client = try world.client(servers: 1)
        var stop: Instant?
        for round in 0..<200 {
            if round % 2 == 0 {
                _ = try world.begin(client, "slow\(round).example.com", of: network(2))
            }
            _ = try world.begin(client, "n\(round).example.com", of: network(1))
            if round == 100 {
                world.script = { _ in .silence() }
                stop = world.now
            }
            await world.advance(by: .milliseconds(100))
            if client.isSilent { break }
        }
        let time = world.now - (try #require(stop)) - .milliseconds(1_500)
        #expect(client.isSilent && time < .seconds(5), "\(time)")
        #expect(client.shares.limit == 32)
    }

    @Test("if a vendor suddenly becomes slow, the vendor still gets and answers all names")
    @ServiceLoop
    func slowVendor() async throws {
        var latency = Duration.milliseconds(20)
        world.script = { .reply(good($0), after: latency) }
        let client = try world.client(servers: 1)
        var begun: [Begun] = []
        for round in 0..<300 {
            if round == 30 { latency = .milliseconds(350) }
            for number: UInt32 in 1...2 {
                let name = "n\(round)-\(number).example.com"
                begun.append(try world.begin(client, name, of: network(number)))
            }
            await world.advance(by: .milliseconds(100))
        }
        await world.advance(by: .seconds(1))
        for lookUp in begun {
            let reply = try await world.value(of: lookUp).get()
            #expect(reply.duration < .milliseconds(400))
        }
        #expect(client.shares.limit == 32)
    }

    @Test(
        "the daemon detects that a vendor stopped, even if calls are in flight",
        arguments: [Self.status(503), refused]
    )
    @ServiceLoop
    func gone(_ refusal: Simulation.Step) async throws {
        world.servers([:])
        let client = try world.client(servers: 1)
        _ = try await world.lookUp(client)
        world.script = { _ in refusal }
        for round in 0..<5_000 {
            _ = try world.begin(client, "n\(round).example.com", of: network(1))
            await world.advance(by: .milliseconds(1))
        }
        #expect(client.shares.limit == 32)
        #expect(client.pending.count < 5, "names fail soon")
        #expect(client.statistics.servers[0].failuresInRow > 0)
    }
}
