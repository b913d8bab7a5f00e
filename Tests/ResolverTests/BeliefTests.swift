// SPDX-License-Identifier: Apache-2.0
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Addresses that the daemon accepts from a vendor, and names that it sends to a vendor")
struct BeliefTests {
    private struct Case: CustomTestStringConvertible {
        let testDescription: String
        let known: Known
        let story: String
        let dropped: UInt64
    }

    private static let cases = [
        Case(
            testDescription: "one of two",
            known: Known(v4: ["10.0.0.1", "192.0.2.110"], v6: ["2001:db8::110"]),
            story: """
                NOERROR from tencent/192.0.2.11:443 after 20 ms
                answer: A 192.0.2.110 60
                asked: tencent 1 at 0
                kept: A 60, AAAA 120
                billed: tencent 1
                """,
            dropped: 1
        ),
        Case(
            testDescription: "all of the family that is asked",
            known: Known(
                v4: ["10.0.0.1", "172.16.0.1", "192.168.1.1"],
                v6: ["2001:db8::110"]
            ),
            story: """
                NOERROR from upstream/scripted after 30 ms
                answer: A 192.0.2.99 300
                asked: tencent 1 at 0, upstream A at 20
                kept: A 300, AAAA 120
                billed: tencent 1
                """,
            dropped: 3
        ),
        Case(
            testDescription: "all of the other family",
            known: Known(v4: ["192.0.2.110"], v6: ["fd00::1", "fd00::2"]),
            story: """
                NOERROR from tencent/192.0.2.11:443 after 20 ms
                answer: A 192.0.2.110 60
                asked: tencent 1 at 0
                kept: A 60
                billed: tencent 1
                """,
            dropped: 2
        ),
        Case(
            testDescription: "all",
            known: Known(v4: ["10.0.0.1"], v6: ["fd00::1"]),
            story: """
                NOERROR from upstream/scripted after 30 ms
                answer: A 192.0.2.99 300
                asked: tencent 1 at 0, upstream A at 20
                kept: A 300
                billed: tencent 1
                """,
            dropped: 2
        ),
    ]

    @Test(
        "the daemon removes a vendor's private addresses; if none remain, it queries the fallback",
        arguments: cases
    )
    @ServiceLoop
    private func privateAddresses(_ example: Case) async throws {
        let harness = try ResolverHarness(.tencent)
        harness.zone["www.example.com"] = example.known
        try await harness.expect("www.example.com", story: example.story)
        #expect(harness.resolver.statistics.vendors.droppedAddresses == example.dropped)
    }

    @Test("if several queries share a vendor call, the daemon counts each removed address once")
    @ServiceLoop
    func countedOnce() async throws {
        let harness = try ResolverHarness(.tencent)
        harness.zone["www.example.com"] = Known(v4: ["10.0.0.1", "192.0.2.110"], v6: ["fd00::1"])
        let asked = [
            harness.begin("www.example.com"), harness.begin("www.example.com", .aaaa),
            harness.begin("www.example.com", dnssecOK: true),
        ]
        for one in asked { _ = try await harness.answer(to: one) }
        #expect(harness.asked.count { $0.whom == "tencent 1" } == 1)
        #expect(harness.resolver.statistics.vendors.droppedAddresses == 2)
    }

    @Test(
        "clients never get addresses that no server can have, such as 0.0.0.0",
        arguments: ["0.0.0.0", "127.0.0.1", "169.254.1.1", "224.0.0.1"]
    )
    @ServiceLoop
    func unusable(_ address: String) async throws {
        let harness = try ResolverHarness(.tencent, allowsPrivateAnswers: true)
        harness.zone["www.example.com"] = Known(v4: [address])
        try await harness.expect(
            "www.example.com",
            story: """
                NOERROR from upstream/scripted after 30 ms
                answer: A 192.0.2.99 300
                asked: tencent 1 at 0, upstream A at 20
                kept: A 300
                billed: tencent 1
                """
        )
        #expect(harness.vendors[0].statistics.droppedAddresses == 1)
    }

    @Test("if a vendor's addresses are all unusable and there is no fallback, the answer is NODATA")
    @ServiceLoop
    func unusableWithoutFallback() async throws {
        let harness = try ResolverHarness(.tencent, fallsBack: false)
        harness.zone["www.example.com"] = Known(v4: ["10.0.0.1"])
        try await harness.expect(
            "www.example.com",
            story: """
                NOERROR from tencent/192.0.2.11:443 after 20 ms
                authority: SOA example.com. 5 5
                asked: tencent 1 at 0
                kept: A NODATA 5
                billed: tencent 1
                """
        )
    }

    @Test(
        "the vendor gets only A and AAAA queries for host names of its route",
        arguments: [
            ("www.example.com", RecordType.https), ("www.example.com", .mx),
            ("www.example.com", .txt), ("www.example.com", .ptr),
            ("www.example.com", RecordType(rawValue: 65_280)),
            (#"a\@b.example.com"#, .a), (#"a\032b.example.com"#, .aaaa),
            (#"a\,b.example.com"#, .a), (#"a\;b.example.com"#, .a), (#"a\.b.example.com"#, .a),
            (#"caf\195\169.example.com"#, .a), ("*.example.com", .a), ("www.example.org", .a),
        ]
    )
    @ServiceLoop
    func notForVendors(_ name: String, _ type: RecordType) async throws {
        let harness = try ResolverHarness(.tencent)
        _ = try await harness.ask(try Name(name), type)
        #expect(harness.asked.map(\.whom) == ["upstream \(type)"])
        #expect(harness.world.sent.isEmpty)
    }

    @Test("if a JSON API returns NODATA, the client gets NODATA, and the fallback is not queried")
    @ServiceLoop
    func jsonNoData() async throws {
        try await ResolverHarness(.json).expect(
            "four.example.com",
            .aaaa,
            story: """
                NOERROR from json/192.0.2.41:443 after 20 ms
                authority: SOA example.com. 30 30
                asked: json 1 at 0
                kept: AAAA NODATA 30
                """
        )
    }

    @Test("if a JSON API returns only unusable addresses, the fallback is queried")
    @ServiceLoop
    func jsonUnusable() async throws {
        let harness = try ResolverHarness(.json)
        harness.zone["www.example.com"] = Known(v4: ["10.0.0.1"])
        try await harness.expect(
            "www.example.com",
            story: """
                NOERROR from upstream/scripted after 30 ms
                answer: A 192.0.2.99 300
                asked: json 1 at 0, upstream A at 20
                kept: A 300
                """
        )
    }
}
