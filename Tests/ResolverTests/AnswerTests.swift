// SPDX-License-Identifier: Apache-2.0
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("The answers that clients get after a vendor's reply")
struct AnswerTests {
    private static let pairing: [Account] = [.tencent, .sealed, .alibaba]

    private static func origin(_ account: Account) throws -> String {
        "\(account.rawValue)/\(try account.servers(1)[0])"
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
        "NODATA for AAAA has the TTL of the A records, limited to the range of `negative-ttl`",
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
        "if a vendor has no address of a name, the daemon queries the fallback",
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

    @Test("if a call found no address, a query with other DO and CD bits causes no further call")
    @ServiceLoop
    func rememberedOfOneFamily() async throws {
        let harness = try ResolverHarness(.alibaba) { $0.families = .v4 }
        for (dnssecOK, checkingDisabled) in [(false, false), (true, false), (false, true)] {
            _ = try await harness.ask(
                "none.example.com",
                dnssecOK: dnssecOK,
                checkingDisabled: checkingDisabled
            )
        }
        #expect(harness.asked.count { $0.whom.hasPrefix("alibaba") } == 1)
        _ = try await harness.ask("none.example.com", .aaaa)
        #expect(harness.asked.count { $0.whom.hasPrefix("alibaba") } == 2)
        _ = try await harness.ask("none.example.com", .aaaa, dnssecOK: true)
        #expect(harness.asked.count { $0.whom.hasPrefix("alibaba") } == 2)
    }

    @Test("the AAAA query after an A query skips vendors without addresses, but not failed vendors")
    @ServiceLoop
    func rememberedOfTheSecond() async throws {
        let harness = try ResolverHarness(.tencent, .alibaba)
        for server in 1...2 {
            harness.faults["tencent \(server)"] = .broken(.connect("refused"))
        }
        _ = try await harness.ask("none.example.com")
        _ = try await harness.ask("none.example.com", .aaaa)
        #expect(harness.resolver.statistics.vendors.pairedByVendor == ["alibaba": 1])
    }
}
