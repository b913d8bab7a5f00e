// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("The address that is fastest to connect to comes first")
struct OrderingTests {
    init() { ServiceLoop.start() }

    private static func policy(_ rules: AnswerPolicy.ProbeRule...) -> AnswerPolicy {
        var policy = AnswerPolicy()
        policy.order = .fastest(rules)
        return policy
    }

    /// A vendor's name with three addresses, of which the second is nearest and the third is gone.
    @ServiceLoop
    private static func house(_ policy: AnswerPolicy = policy()) throws -> House {
        let house = try House(.tencent, answers: policy)
        house.zone["www.example.com"] = Known(v4: ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
        house.latencies = [
            "192.0.2.1 443": .milliseconds(80), "192.0.2.2 443": .milliseconds(30),
            "192.0.2.1 8443": .milliseconds(10), "192.0.2.2 8443": .milliseconds(30),
        ]
        return house
    }

    /// What a worker would answer.
    @ServiceLoop
    private static func cached(_ house: House, _ name: Name, _ type: RecordType = .a) -> [String] {
        let entry = house.cache.entries(named: name, type: type, now: house.world.now).first
        let message = entry.flatMap { try? Message(parsing: $0.message) }
        return message?.answers.map { "\($0.data)" } ?? []
    }

    private static let asGiven = ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
    private static let fastest = ["192.0.2.2", "192.0.2.1", "192.0.2.3"]

    @Test
    @ServiceLoop
    func `the first answer waits for nothing, and the cache has the order soon after`() async throws
    {
        let house = try Self.house()
        let first = try await house.ask("www.example.com")
        #expect(first.message.answers.map { "\($0.data)" } == Self.asGiven)
        #expect(Self.cached(house, "www.example.com") == Self.asGiven)
        await house.world.advance(by: .seconds(2))
        #expect(Self.cached(house, "www.example.com") == Self.fastest)
        #expect(house.tried.map(\.whom) == Self.asGiven.map { "\($0) 443" })
        // It is the same entry, as old as it was.
        #expect(house.kept("www.example.com").first == "A 58")
    }

    @Test
    @ServiceLoop
    func `a server is tried once in five minutes, and a new answer is in order at once`()
        async throws
    {
        let house = try Self.house()
        _ = try await house.ask("www.example.com")
        await house.world.advance(by: .seconds(70))
        let second = try await house.ask("www.example.com")
        #expect(second.message.answers.map { "\($0.data)" } == Self.fastest)
        #expect(Self.cached(house, "www.example.com") == Self.fastest)
        #expect(house.tried.count == 3)
        await house.world.advance(by: .seconds(300))
        house.latencies["192.0.2.1 443"] = .milliseconds(5)
        _ = try await house.ask("www.example.com")
        await house.world.advance(by: .seconds(2))
        #expect(house.tried.count == 6)
        #expect(Self.cached(house, "www.example.com") == Self.asGiven)
    }

    @Test
    @ServiceLoop
    func `a network change forgets what was near in the old one`() async throws {
        let house = try Self.house()
        _ = try await house.ask("www.example.com")
        await house.world.advance(by: .seconds(2))
        house.networkChanged()
        house.latencies["192.0.2.3 443"] = .milliseconds(1)
        _ = try await house.ask("www.example.com")
        await house.world.advance(by: .seconds(2))
        #expect(Self.cached(house, "www.example.com").first == "192.0.2.3")
    }

    @Test
    @ServiceLoop
    func `without rules the names of vendors are tried, at port 443, and no others`() async throws {
        let house = try Self.house()
        _ = try await house.ask("www.example.org")
        _ = try await house.ask("www.example.com", .txt)
        await house.world.advance(by: .seconds(2))
        #expect(house.tried.isEmpty)
    }

    @Test
    @ServiceLoop
    func `with rules those names are tried, the first rule that fits telling the port`()
        async throws
    {
        let house = try Self.house(
            Self.policy(
                .init(names: .exact("www.example.com"), port: 8443),
                .init(names: .suffix("example.com"), port: 443)
            )
        )
        house.zone["x.example.com"] = Known(v4: ["192.0.2.1", "192.0.2.2"])
        _ = try await house.ask("www.example.com")
        _ = try await house.ask("x.example.com")
        await house.world.advance(by: .seconds(3))
        #expect(Self.cached(house, "www.example.com") == Self.asGiven)
        #expect(Self.cached(house, "x.example.com") == ["192.0.2.2", "192.0.2.1"])
        #expect(Set(house.tried.map(\.whom)).count == 5)
    }

    @Test
    @ServiceLoop
    func `one address is no choice, and is not tried`() async throws {
        let house = try Self.house()
        _ = try await house.ask("four.example.com")
        await house.world.advance(by: .seconds(2))
        #expect(house.tried.isEmpty)
    }

    @Test
    @ServiceLoop
    func `aliases stay in front of the addresses`() async throws {
        let house = try House(
            upstream: ScriptedUpstream { (message) throws(UpstreamError) in
                message.answers = [
                    .cname("www.example.org", "cdn.example.net"),
                    .a("cdn.example.net", 0xC000_0201), .a("cdn.example.net", 0xC000_0202),
                ]
            },
            answers: Self.policy(.init(names: .suffix("example.org"), port: 80))
        )
        house.latencies = ["192.0.2.2 80": .milliseconds(5)]
        _ = try await house.ask("www.example.org")
        await house.world.advance(by: .seconds(2))
        #expect(
            Self.cached(house, "www.example.org") == ["cdn.example.net.", "192.0.2.2", "192.0.2.1"]
        )
    }

    @Test
    @ServiceLoop
    func `so many servers are tried at a time and a second, and so many names wait`() async throws {
        let house = try Self.house()
        for number in 0..<400 {
            let (high, low) = (number / 100, number % 100 * 2 + 1)
            house.zone["n\(number).example.com"] = Known(
                v4: ["192.0.\(high + 10).\(low)", "192.0.\(high + 10).\(low + 1)"]
            )
            _ = house.begin(try Name("n\(number).example.com"))
        }
        await house.world.advance(by: .seconds(10))
        // A lane has two servers to wait for, a second, and then pauses for a fifth of one.
        #expect(house.tried.count <= 10 * 8)
        #expect(!house.tried.isEmpty)
        await house.world.advance(by: .seconds(600))
        #expect(house.tried.count <= 2 * (Probing.queueLimit + Probing.lanes))
        #expect(house.tried.count >= 2 * Probing.queueLimit)
    }

    // MARK: - The ranking

    private static let now = ContinuousClock.Instant.now

    private static func addresses(_ texts: String...) -> [IPAddress] {
        texts.compactMap { IPAddress($0) }
    }

    @Test
    func `the fast come before the unknown, the unknown before those that do not answer`() {
        var ranking = AddressRanking()
        let all = Self.addresses("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4")
        ranking.note(.init(all[0], port: 443), nil, now: Self.now)
        ranking.note(.init(all[2], port: 443), .milliseconds(90), now: Self.now)
        ranking.note(.init(all[3], port: 443), .milliseconds(20), now: Self.now)
        #expect(
            ranking.ordered(all, port: 443, now: Self.now) == [all[3], all[2], all[1], all[0]]
        )
        #expect(ranking.ordered(all, port: 80, now: Self.now) == all)
        let later = Self.now + AddressRanking.lifetime
        #expect(ranking.ordered(all, port: 443, now: later) == all)
    }

    @Test
    func `a few milliseconds do not change an order`() {
        var ranking = AddressRanking()
        let all = Self.addresses("192.0.2.1", "192.0.2.2", "192.0.2.3")
        for (address, latency) in zip(all, [28, 21, 35]) {
            ranking.note(.init(address, port: 443), .milliseconds(latency), now: Self.now)
        }
        #expect(ranking.ordered(all, port: 443, now: Self.now) == all)
    }

    @Test
    func `no more servers are known than may be`() {
        var ranking = AddressRanking()
        for number in 0..<UInt32(3 * AddressRanking.limit) {
            let address = IPAddress.v4(IPv4Address(value: number))
            let now = Self.now + .milliseconds(Int(number))
            ranking.note(.init(address, port: 443), .zero, now: now)
            #expect(ranking.knows(.init(address, port: 443), now: now))
            #expect(ranking.count <= AddressRanking.limit)
        }
    }
}
