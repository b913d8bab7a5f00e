// SPDX-License-Identifier: Apache-2.0
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Vendor replies and clients' answers")
struct AnswerTests {
    private static let pairing: [Account] = [.tencent, .sealed, .alibaba]

    private static func origin(_ account: Account) throws -> String {
        "\(account.rawValue)/\(try account.servers(1)[0])"
    }

    @Test("one call caches A and AAAA", arguments: pairing)
    @ServiceLoop
    func addresses(_ account: Account) async throws {
        let harness = try ResolverHarness(account)
        try await harness.expect(
            "www.example.com",
            story: """
                NOERROR from \(Self.origin(account)) after 20 ms
                answer: A 192.0.2.101 60, A 192.0.2.102 60
                asked: \(account.rawValue) 1 at 0
                kept: A 60, AAAA 120
                billed: \(account.rawValue) 1
                """
        )
        try await ResolverHarness(account).expect(
            "www.example.com",
            .aaaa,
            story: """
                NOERROR from \(Self.origin(account)) after 20 ms
                answer: AAAA 2001:db8::101 120
                asked: \(account.rawValue) 1 at 0
                kept: A 60, AAAA 120
                billed: \(account.rawValue) 1
                """
        )
    }

    @Test(
        "TTLs are clamped for each family",
        arguments: [(5, 60), (60, 60), (300, 300), (99_999, 600)] as [(UInt32, UInt32)]
    )
    @ServiceLoop
    func clamps(_ ttl: UInt32, _ expected: UInt32) async throws {
        var policy = TTLPolicy()
        policy.positive = 60...600
        let harness = try ResolverHarness(.tencent, policy: policy)
        harness.zone["www.example.com"]?.ttl4 = ttl
        try await harness.expect(
            "www.example.com",
            story: """
                NOERROR from tencent/192.0.2.11:443 after 20 ms
                answer: A 192.0.2.101 \(expected), A 192.0.2.102 \(expected)
                asked: tencent 1 at 0
                kept: A \(expected), AAAA 120
                billed: tencent 1
                """
        )
    }

    @Test("an answer with TTL 0 is not cached")
    @ServiceLoop
    func zeroTTL() async throws {
        let harness = try ResolverHarness(.tencent)
        harness.zone["www.example.com"]?.ttl4 = 0
        for _ in 0..<2 {
            try await harness.expect(
                "www.example.com",
                story: """
                    NOERROR from tencent/192.0.2.11:443 after 20 ms
                    answer: A 192.0.2.101 0, A 192.0.2.102 0
                    asked: tencent 1 at 0
                    kept: AAAA 120
                    billed: tencent 1
                    """
            )
        }
    }

    @Test(
        "an implied NODATA has the addresses' TTL, within its bounds",
        arguments: [(1, 5), (200, 200), (86_400, 300)] as [(UInt32, UInt32)]
    )
    @ServiceLoop
    func impliedDenial(_ ttl: UInt32, _ expected: UInt32) async throws {
        let harness = try ResolverHarness(.tencent)
        harness.zone["four.example.com"]?.ttl4 = ttl
        try await harness.expect(
            "four.example.com",
            .aaaa,
            story: """
                NOERROR from tencent/192.0.2.11:443 after 20 ms
                authority: SOA example.com. \(expected) \(expected)
                asked: tencent 1 at 0
                kept: A \(ttl), AAAA NODATA \(expected)
                billed: tencent 1
                """
        )
    }

    @Test(
        "if a vendor has no address, the fallback is queried",
        arguments: pairing,
        ["none.example.com", "unregistered.example.com"]
    )
    @ServiceLoop
    func nothing(_ account: Account, _ name: String) async throws {
        try await ResolverHarness(account).expect(
            Name(name),
            story: """
                NOERROR from upstream/scripted after 30 ms
                answer: A 192.0.2.99 300
                asked: \(account.rawValue) 1 at 0, upstream A at 20
                kept: A 300
                billed: \(account.rawValue) 1
                """
        )
    }

    @Test("an NXDOMAIN of the fallback is cached")
    @ServiceLoop
    func fallbackNXDomain() async throws {
        try await ResolverHarness(.tencent, upstream: .denying(.nxDomain)).expect(
            "none.example.com",
            story: """
                NXDOMAIN from upstream/scripted after 30 ms
                authority: SOA example.com. 30 30
                asked: tencent 1 at 0, upstream A at 20
                kept: A NXDOMAIN 30
                billed: tencent 1
                """
        )
    }

    @Test("a NODATA of the fallback is cached")
    @ServiceLoop
    func fallbackNoData() async throws {
        try await ResolverHarness(.tencent, upstream: .denying(.noError)).expect(
            "none.example.com",
            story: """
                NOERROR from upstream/scripted after 30 ms
                authority: SOA example.com. 30 30
                asked: tencent 1 at 0, upstream A at 20
                kept: A NODATA 30
                billed: tencent 1
                """
        )
    }

    @Test("a vendor without addresses is skipped, a failed one is not")
    @ServiceLoop
    func rememberedOfTheSecond() async throws {
        let harness = try ResolverHarness(.tencent, .alibaba)
        for server in 1...2 {
            harness.faults["tencent \(server)"] = .broken(.connect("refused"))
        }
        _ = try await harness.ask("none.example.com")
        _ = try await harness.ask("none.example.com", .aaaa)
        #expect(harness.resolver.vendors.numbers.pairedByVendor == ["alibaba": 1])
    }

    @Test("a client that joins a call waits only for the remaining time")
    @ServiceLoop
    func joining() async throws {
        let harness = try ResolverHarness(.tencent)
        let first = harness.begin("www.example.com")
        await harness.world.advance(by: .milliseconds(15))
        let second = harness.begin("www.example.com")
        let late = try await harness.answer(to: second)
        #expect(second.operation.end.map { $0 - second.operation.start } == .milliseconds(5))
        #expect(late.resolution.provenance.wasMerged)
        #expect(try await !harness.answer(to: first).resolution.provenance.wasMerged)
        #expect(harness.asked.map(\.whom) == ["tencent 1"])
    }

    @Test("a call continues without its first client")
    @ServiceLoop
    func firstGone() async throws {
        let harness = try ResolverHarness(.tencent)
        let first = harness.begin("www.example.com")
        let second = harness.begin("www.example.com")
        await harness.world.advance(by: .milliseconds(5))
        first.operation.cancel()
        try await harness.expect(
            second,
            story: """
                NOERROR from tencent/192.0.2.11:443 after 20 ms
                answer: A 192.0.2.101 60, A 192.0.2.102 60
                asked: tencent 1 at 0
                kept: A 60, AAAA 120
                billed: tencent 1
                """
        )
    }
}
