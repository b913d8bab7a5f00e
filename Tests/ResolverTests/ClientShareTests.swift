// SPDX-License-Identifier: Apache-2.0
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("A client that queries too many names does not change the answers for other clients")
@ServiceLoop
struct ClientShareTests {
    private static let target: Name = "www.example.com"

    private let busy: UInt32 = 1

    private let other: UInt32 = 2

    private func harness(
        _ first: Account = .json,
        next: Account? = nil,
        upstream: ScriptedUpstream = ScriptedUpstream(),
        fallsBack: Bool = true,
        fallbackAfter: Duration? = nil
    ) throws -> ResolverHarness {
        let fewCalls = { (settings: inout VendorClient.Settings) in
            (settings.concurrentCalls, settings.batching) = (2, .waiting)
        }
        let delay = { (options: inout Route.Options) in options.fallbackAfter = fallbackAfter }
        let harness =
            if let next {
                try ResolverHarness(
                    first,
                    next,
                    upstream: upstream,
                    configure: fewCalls,
                    options: delay
                )
            } else {
                try ResolverHarness(
                    first,
                    upstream: upstream,
                    fallsBack: fallsBack,
                    configure: fewCalls,
                    options: delay
                )
            }
        harness.faults["\(first) 1"] = .slow(.milliseconds(200))
        return harness
    }

    private func flood(_ harness: ResolverHarness, _ label: String, for time: Duration)
        async throws
    {
        for number in 0..<Int(time / .milliseconds(10)) {
            let name = "\(label)\(number).example.com"
            harness.zone[name] = Known(v4: ["192.0.2.110"])
            harness.begin(try Name(name), of: busy)
            await harness.world.advance(by: .milliseconds(10))
        }
    }

    /// - Returns: the source of the answer for the target; empty if there is no answer yet.
    private func attack(_ harness: ResolverHarness, for time: Duration) async throws -> [String] {
        try await flood(harness, "a", for: .milliseconds(400))
        var origins: [String] = []
        harness.begin(Self.target, of: busy) { origins.append($0) }
        try await flood(harness, "b", for: time)
        return origins.map(server)
    }

    private func expectVendor(
        _ harness: ResolverHarness,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        #expect(harness.kept(Self.target) == [], sourceLocation: sourceLocation)
        var origins: [String] = []
        harness.begin(Self.target, of: other) { origins.append($0) }
        await harness.world.advance(by: .milliseconds(240))
        #expect(
            origins.map(server) == [harness.accounts[0].rawValue],
            sourceLocation: sourceLocation
        )
    }

    private func server(_ origin: String) -> String { String(origin.prefix { $0 != "/" }) }

    @Test("if a client's limit prevents the vendor call, the upstream's answer is not cached")
    func expired() async throws {
        let harness = try harness(fallbackAfter: .milliseconds(400))
        harness.begin(Self.target, of: other)
        await harness.world.advance(by: .seconds(61))
        _ = try await attack(harness, for: .milliseconds(3_200))
        #expect(harness.upstream?.asked.contains { $0.question.name == Self.target } == true)
        await expectVendor(harness)
    }

    @Test("if a client's limit prevents the vendor call, NXDOMAIN of the upstream is not cached")
    func denied() async throws {
        let harness = try harness(upstream: .denying(.nxDomain))
        #expect(try await attack(harness, for: .milliseconds(3_200)) == ["upstream"])
        await expectVendor(harness)
    }

    @Test("if a client's limit prevents the vendor call, SERVFAIL for the name is not cached")
    func failed() async throws {
        let harness = try harness(fallsBack: false)
        #expect(try await attack(harness, for: .milliseconds(3_100)) == ["httpdnsd"])
        await expectVendor(harness)
    }

    @Test("if a client's limit prevents the vendor call, a `fallback-after` answer is not cached")
    func early() async throws {
        let harness = try harness(.sealed, fallbackAfter: .milliseconds(400))
        #expect(try await attack(harness, for: .milliseconds(850)) == ["upstream"])
        await expectVendor(harness)
    }

    @Test("while `fallback-after` applies to one client, another client gets the vendor's answer")
    func joinsEarlyFallback() async throws {
        let upstream = ScriptedUpstream(after: .milliseconds(150))
        let harness = try harness(.sealed, upstream: upstream, fallbackAfter: .milliseconds(400))
        #expect(try await attack(harness, for: .milliseconds(900)) == [])
        #expect(upstream.asked.contains { $0.question.name == Self.target })
        await expectVendor(harness)
    }

    @Test("a second client that joins a query 10 ms before its end gets the vendor's answer")
    func joinsLate() async throws {
        let harness = try harness()
        #expect(try await attack(harness, for: .milliseconds(2_990)) == [])
        await expectVendor(harness)
    }

    @Test(
        "if a client's limit prevents a call, only a protected next vendor's answer is cached",
        arguments: [(.tencent, true), (.sealed, false)] as [(Account, Bool)]
    )
    func nextVendor(_ next: Account, isCached: Bool) async throws {
        let harness = try harness(next: next)
        #expect(try await attack(harness, for: .milliseconds(1_550)) == [next.rawValue])
        #expect(harness.kept(Self.target).isEmpty == !isCached)
        if !isCached { await expectVendor(harness) }
    }

    @Test(
        "if a call is prevented and the next vendor's answer is empty, no fallback answer is cached"
    )
    func emptyNextVendor() async throws {
        let harness = try harness(next: .tencent)
        harness.zone["www.example.com"] = Known()
        #expect(try await attack(harness, for: .milliseconds(1_560)) == ["upstream"])
        harness.zone["www.example.com"] = ResolverHarness.zone["www.example.com"]
        await expectVendor(harness)
    }

    @Test("if a client's limit prevents a vendor call, the next vendor's NXDOMAIN is not cached")
    func denyingNextVendor() async throws {
        let harness = try harness(.tencent, next: .json)
        harness.zone["www.example.com"] = nil
        #expect(try await attack(harness, for: .milliseconds(2_500)) == ["json"])
        harness.zone["www.example.com"] = ResolverHarness.zone["www.example.com"]
        await expectVendor(harness)
    }

    @Test("if a client's limit prevents a vendor call, NODATA from the next vendor is not cached")
    func halfEmptyNextVendor() async throws {
        let harness = try harness(.tencent, next: .alibaba)
        harness.zone["www.example.com"] = Known(v4: ["192.0.2.101"])
        #expect(try await attack(harness, for: .milliseconds(1_560)) == ["alibaba"])
        #expect(harness.kept(Self.target).map { $0.prefix { $0 != " " } } == ["A"])
    }
}
