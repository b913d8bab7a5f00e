// SPDX-License-Identifier: Apache-2.0
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Vendors that reject calls, and vendors that the daemon must not call")
struct RefusalTests {
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
        "if a vendor rejects a call's time, the call is repeated once with the time from `Date`",
        arguments: [
            (.alibaba, 3_600), (.alibaba, -3_600), (.alibaba, 700),
            // Without TLS, the client corrects a clock error of at most 10 min.
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
        // The first request after 10 min checks if the correction is still needed: the client signs
        // this request with the uncorrected time.
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

    @Test("if the budget is used up and there is no fallback, the client gets SERVFAIL immediately")
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
}
