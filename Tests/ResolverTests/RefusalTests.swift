// SPDX-License-Identifier: Apache-2.0
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Vendors that refuse calls or must not be called")
struct RefusalTests {
    private static let second = """
        NOERROR from alibaba/192.0.2.31:443 after 20 ms
        answer: A 192.0.2.101 60, A 192.0.2.102 60
        asked: alibaba 1 at 0
        kept: A 60, AAAA 120
        billed: alibaba 1
        """

    private static let first = """
        NOERROR from tencent/192.0.2.11:443 after 20 ms
        answer: A 192.0.2.101 60, A 192.0.2.102 60
        asked: tencent 1 at 0
        kept: A 60, AAAA 120
        billed: tencent 1
        """

    private static let fallback = """
        NOERROR from upstream/scripted after 10 ms
        answer: A 192.0.2.99 300
        asked: upstream A at 0
        kept: A 300
        """

    @ServiceLoop
    private func expect(
        _ harness: ResolverHarness,
        _ story: String,
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        harness.emptyCache()
        try await harness.expect(
            "www.example.com",
            story: story,
            comment,
            sourceLocation: sourceLocation
        )
    }

    @Test(
        "a refused account pauses the vendor for 5 min, then one probe",
        arguments: [(401, 2), (403, 1)]
    )
    @ServiceLoop
    func refused(_ status: Int, _ tries: Int) async throws {
        // Tencent also answers 401 for a wrong expiry, so both forms are tried.
        let asked = (0..<tries).map { "tencent 1 at \($0 * 20)" }.joined(separator: ", ")
        let end = 20 * tries
        let harness = try ResolverHarness(.tencent, .alibaba)
        harness.faults = ["tencent 1": .status(status), "tencent 2": .status(status)]
        try await expect(
            harness,
            """
            NOERROR from alibaba/192.0.2.31:443 after \(end + 20) ms
            answer: A 192.0.2.101 60, A 192.0.2.102 60
            asked: \(asked), alibaba 1 at \(end)
            kept: A 60, AAAA 120
            billed: alibaba 1
            """
        )
        await harness.world.advance(by: .milliseconds(end))
        #expect(
            harness.vendors[0].statistics.state
                == .refused(
                    .unauthorized(status: status),
                    until: harness.world.start + .milliseconds(300_000 + 2 * end)
                )
        )
        try await expect(harness, Self.second)
        await harness.world.advance(by: .milliseconds(299_999 + 2 * end) - harness.world.elapsed)
        try await expect(harness, Self.second)

        harness.faults = [:]
        let trial = harness.begin("four.example.com")
        let other = harness.begin("six.example.com", .aaaa)
        try await harness.expect(
            trial,
            story: """
                NOERROR from tencent/192.0.2.11:443 after 20 ms
                answer: A 192.0.2.104 90
                asked: tencent 1 at 0, alibaba 1 at 0
                kept: A 90, AAAA NODATA 90
                billed: tencent 1
                """
        )
        #expect(try await harness.origin(harness.answer(to: other)) == "alibaba/192.0.2.31:443")
        try await expect(harness, Self.first)
    }

    @Test("a refused account without other vendors uses the fallback")
    @ServiceLoop
    func refusedAlone() async throws {
        let harness = try ResolverHarness(.tencent)
        harness.faults["tencent 1"] = .status(403)
        try await expect(
            harness,
            """
            NOERROR from upstream/scripted after 30 ms
            answer: A 192.0.2.99 300
            asked: tencent 1 at 0, upstream A at 20
            kept: A 300
            """
        )
        await harness.world.advance(by: .milliseconds(10))
        try await expect(harness, Self.fallback)
    }

    @Test(
        "a wrong clock is corrected once, from the refusal's Date",
        arguments: [
            (.alibaba, 3_600), (.alibaba, -3_600), (.alibaba, 700),
            // Without TLS, at most 10 min.
            (.sealed, -400), (.sealed, -600),
        ] as [(Account, Int64)]
    )
    @ServiceLoop
    func skew(_ account: Account, _ ahead: Int64) async throws {
        let harness = try ResolverHarness(account)
        let name = account.rawValue
        harness.faults = ["\(name) 1": .ahead(seconds: ahead), "\(name) 2": .ahead(seconds: ahead)]
        let origin = "\(name)/\(try account.servers(1)[0])"
        try await expect(
            harness,
            """
            NOERROR from \(origin) after 40 ms
            answer: A 192.0.2.101 60, A 192.0.2.102 60
            asked: \(name) 1 at 0, \(name) 1 at 20
            kept: A 60, AAAA 120
            billed: \(name) 1
            """
        )
        // The correction lasts half a day.
        await harness.world.advance(by: .seconds(40_000))
        try await expect(
            harness,
            """
            NOERROR from \(origin) after 40 ms
            answer: A 192.0.2.101 60, A 192.0.2.102 60
            asked: \(name) 1 at 0, \(name) 1 at 20
            kept: A 60, AAAA 120
            billed: \(name) 1
            """
        )
        #expect(harness.vendors[0].statistics.clockSkew == .seconds(ahead))
        #expect(harness.vendors[0].statistics.skewRepairs == 2)
    }

    @Test("an account that needs an expiry is detected once")
    @ServiceLoop
    func expiry() async throws {
        let harness = try ResolverHarness(.tencent)
        harness.faults = ["tencent 1": .wantsExpiry, "tencent 2": .wantsExpiry]
        try await expect(
            harness,
            """
            NOERROR from tencent/192.0.2.11:443 after 40 ms
            answer: A 192.0.2.101 60, A 192.0.2.102 60
            asked: tencent 1 at 0, tencent 1 at 20
            kept: A 60, AAAA 120
            billed: tencent 1
            """
        )
        try await expect(harness, Self.first)
    }

    @Test("a spent budget without fallback: SERVFAIL without delay")
    @ServiceLoop
    func budgetWithoutFallback() async throws {
        let harness = try ResolverHarness(.tencent, fallsBack: false) {
            $0.budget = Budget.Rule(callsPerDay: 1)
        }
        _ = try await harness.ask("www.example.com")
        try await expect(
            harness,
            """
            SERVFAIL from httpdnsd after 0 ms
            EDE 22: no vendor answered
            kept: A SERVFAIL 1
            """
        )
    }

    @Test("a budget that only warns permits and counts calls")
    @ServiceLoop
    func budgetWarns() async throws {
        let harness = try ResolverHarness(.tencent) {
            $0.budget = Budget.Rule(callsPerDay: 1, onExceeded: .warn)
        }
        for _ in 0..<3 { try await expect(harness, Self.first) }
        #expect(harness.vendors[0].statistics.beyondBudget == 2)
        #expect(harness.vendors[0].statistics.usage?.callsToday == 3)
    }

    @Test("a pause does not end calls in flight")
    @ServiceLoop
    func pausedMeanwhile() async throws {
        let harness = try ResolverHarness(.tencent)
        let asked = harness.begin("www.example.com")
        await harness.world.advance(by: .milliseconds(10))
        harness.vendors[0].pause()
        try await harness.expect(asked, story: Self.first)
    }
}
