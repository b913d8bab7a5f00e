// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Order of addresses by connection time, fastest first (`order: fastest`)")
struct AddressOrderingTests {
    private static func policy(_ rules: AnswerPolicy.ProbeRule...) -> AnswerPolicy {
        var policy = AnswerPolicy()
        policy.order = .fastest(rules)
        return policy
    }

    @ServiceLoop
    private static func harness(_ policy: AnswerPolicy = policy()) throws -> ResolverHarness {
        let harness = try ResolverHarness(.tencent, answers: policy)
        harness.zone["www.example.com"] = Known(v4: ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
        harness.latencies = [
            "192.0.2.1 443": .milliseconds(80), "192.0.2.2 443": .milliseconds(30),
            "192.0.2.1 8443": .milliseconds(10), "192.0.2.2 8443": .milliseconds(30),
        ]
        return harness
    }

    @ServiceLoop
    private static func cached(_ harness: ResolverHarness, _ name: Name, _ type: RecordType = .a)
        -> [String]
    {
        let entry = harness.cache.entries(named: name, type: type, now: harness.world.now).first
        return entry?.message?.answers.map { "\($0.data)" } ?? []
    }

    private static let asGiven = ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
    private static let fastest = ["192.0.2.2", "192.0.2.1", "192.0.2.3"]

    @Test
    @ServiceLoop
    func `a server is probed once in 5 min, and a new answer is ordered immediately`()
        async throws
    {
        let harness = try Self.harness()
        _ = try await harness.ask("www.example.com")
        await harness.world.advance(by: .seconds(70))
        let second = try await harness.ask("www.example.com")
        #expect(second.message.answers.map { "\($0.data)" } == Self.fastest)
        #expect(Self.cached(harness, "www.example.com") == Self.fastest)
        #expect(harness.tried.count == 3)
        await harness.world.advance(by: .seconds(300))
        harness.latencies["192.0.2.1 443"] = .milliseconds(5)
        _ = try await harness.ask("www.example.com")
        await harness.world.advance(by: .seconds(2))
        #expect(harness.tried.count == 6)
        #expect(Self.cached(harness, "www.example.com") == Self.asGiven)
    }

    @Test
    @ServiceLoop
    func `without rules only names with a vendor route are probed, at port 443`() async throws {
        let harness = try Self.harness()
        _ = try await harness.ask("www.example.org")
        _ = try await harness.ask("www.example.com", .txt)
        await harness.world.advance(by: .seconds(2))
        #expect(harness.tried.isEmpty)
    }

    @Test
    @ServiceLoop
    func `with rules the matching names are probed, at the port of the first matching rule`()
        async throws
    {
        let harness = try Self.harness(
            Self.policy(
                .init(names: .exact("www.example.com"), port: 8443),
                .init(names: .suffix("example.com"), port: 443)
            )
        )
        harness.zone["x.example.com"] = Known(v4: ["192.0.2.1", "192.0.2.2"])
        _ = try await harness.ask("www.example.com")
        _ = try await harness.ask("x.example.com")
        await harness.world.advance(by: .seconds(3))
        #expect(Self.cached(harness, "www.example.com") == Self.asGiven)
        #expect(Self.cached(harness, "x.example.com") == ["192.0.2.2", "192.0.2.1"])
        #expect(Set(harness.tried.map(\.whom)).count == 5)
    }

    @Test
    @ServiceLoop
    func `a single address is not probed`() async throws {
        let harness = try Self.harness()
        _ = try await harness.ask("four.example.com")
        await harness.world.advance(by: .seconds(2))
        #expect(harness.tried.isEmpty)
    }

    @Test(arguments: [AddressProber.recordLimit, AddressProber.recordLimit + 1])
    @ServiceLoop
    func `an answer with more than 64 records keeps its order`(count: Int) async throws {
        let harness = try Self.harness()
        let addresses = (1...count).map { "192.0.2.\($0)" }
        harness.zone["www.example.com"] = Known(v4: addresses)
        _ = try await harness.ask("www.example.com")
        await harness.world.advance(by: .seconds(2))
        let isOrdered = count <= AddressProber.recordLimit
        #expect(harness.tried.count == (isOrdered ? AddressProber.addressLimit : 0))
        let first = Self.cached(harness, "www.example.com").first
        #expect(first == (isOrdered ? "192.0.2.2" : "192.0.2.1"))
    }

    @Test
    @ServiceLoop
    func `aliases stay before the addresses`() async throws {
        let harness = try ResolverHarness(
            upstream: ScriptedUpstream { (message) throws(UpstreamError) in
                message.answers = [
                    .cname("www.example.org", "cdn.example.net"),
                    .a("cdn.example.net", 0xC000_0201), .a("cdn.example.net", 0xC000_0202),
                ]
            },
            answers: Self.policy(.init(names: .suffix("example.org"), port: 80))
        )
        harness.latencies = ["192.0.2.2 80": .milliseconds(5)]
        _ = try await harness.ask("www.example.org")
        await harness.world.advance(by: .seconds(2))
        #expect(
            Self.cached(harness, "www.example.org") == [
                "cdn.example.net.", "192.0.2.2", "192.0.2.1",
            ]
        )
    }

    @Test
    @ServiceLoop
    func `concurrent probes, probes per second and waiting names are bounded`() async throws {
        let harness = try Self.harness()
        for number in 0..<400 {
            let (high, low) = (number / 100, number % 100 * 2 + 1)
            harness.zone["n\(number).example.com"] = Known(
                v4: ["192.0.\(high + 10).\(low)", "192.0.\(high + 10).\(low + 1)"]
            )
            _ = harness.begin(try Name("n\(number).example.com"))
        }
        await harness.world.advance(by: .seconds(10))
        // Four names are probed at a time, with two addresses each. This takes 1.2 s: the addresses
        // do not respond for 1 s, then the prober pauses for 0.2 s.
        #expect(harness.tried.count <= 10 * 8)
        #expect(!harness.tried.isEmpty)
        await harness.world.advance(by: .seconds(600))
        #expect(harness.tried.count <= 2 * (AddressProber.queueLimit + AddressProber.concurrency))
        #expect(harness.tried.count >= 2 * AddressProber.queueLimit)
    }

    private static let now = Clock.now

    private static func addresses(_ texts: String...) -> [IPAddress] {
        texts.compactMap { IPAddress($0) }
    }

    @Test
    func `fast addresses precede unknown addresses, and unreachable addresses are last`() {
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
    func `the number of known servers is bounded`() {
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
