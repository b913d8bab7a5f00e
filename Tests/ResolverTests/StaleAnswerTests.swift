// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("A client gets a stale answer after 300 ms, or at its deadline")
struct StaleAnswerTests {
    @ServiceLoop
    private func harness(
        _ account: Account = .tencent,
        upstream: ScriptedUpstream? = nil,
        servesStale: Bool = true,
        change: (inout Freshness) -> Void = { _ in }
    ) async throws -> ResolverHarness {
        var freshness = Freshness()
        change(&freshness)
        let harness = try ResolverHarness(
            account,
            upstream: upstream,
            freshness: freshness,
            servesStale: servesStale
        )
        _ = try await harness.ask("www.example.com")
        await harness.world.advance(by: .seconds(61))
        return harness
    }

    @ServiceLoop
    private func make(_ harness: ResolverHarness, _ fault: Fault?) {
        for account in harness.accounts {
            for number in 1...2 { harness.faults["\(account.rawValue) \(number)"] = fault }
        }
    }

    @Test("a client that joins a query gets the stale answer at the same time as the first client")
    @ServiceLoop
    func together() async throws {
        let harness = try await harness()
        make(harness, .silent())
        let first = harness.begin("www.example.com")
        await harness.world.advance(by: .milliseconds(200))
        let second = harness.begin("www.example.com")
        await harness.world.advance(by: .milliseconds(100))
        #expect(first.operation.value != nil)
        #expect(second.operation.value != nil)
        await harness.world.advance(by: .milliseconds(700))
        let before = harness.world.elapsed
        _ = try await harness.ask("www.example.com")
        #expect(harness.world.elapsed == before)
    }

    @Test("a client with a deadline below 300 ms gets the stale answer at the deadline")
    @ServiceLoop
    func lessTime() async throws {
        let harness = try await harness()
        make(harness, .silent())
        let asked = harness.begin("www.example.com", within: .milliseconds(100))
        #expect(
            try await harness.story(of: asked).hasPrefix(
                "NOERROR from tencent/192.0.2.11:443 after 100 ms"
            )
        )
    }

    @Test("if the upstream returns YXDOMAIN, the client gets YXDOMAIN and no stale answer")
    @ServiceLoop
    func tooLongName() async throws {
        let world = Simulation()
        let end = world.now + .seconds(60)
        let harness = try ResolverHarness(
            upstream: ScriptedUpstream { [now = world.clocks.now] (message) throws(UpstreamError) in
                if now() >= end {
                    message.rcode = .yxDomain
                    message.authorities = [.soa("example.org")]
                } else if let name = message.question?.name {
                    message.answers = [.a(name, 0xC000_0201, ttl: 60)]
                }
            },
            world: world
        )
        #expect(try await harness.ask("www.example.org").rcode == .noError)
        await world.advance(by: .seconds(61))
        for _ in 0..<2 { #expect(try await harness.ask("www.example.org").rcode == .yxDomain) }
    }

    @Test("during an outage, several clients that get a stale answer share one vendor call")
    @ServiceLoop
    func outage() async throws {
        let harness = try await harness()
        make(harness, .silent())
        for _ in 0..<6 {
            await harness.world.advance(by: .seconds(600))
            let asked = (0..<5).map { _ in harness.begin("www.example.com") }
            for one in asked {
                #expect(try await harness.answer(to: one).resolution.provenance.isStale)
            }
            #expect(harness.asked.count - (asked.first?.asked ?? 0) <= 2)
        }
    }

    @Test("clients that wait for the same result have different deadlines")
    @ServiceLoop
    func ownDeadlines() async throws {
        let harness = try ResolverHarness(
            .tencent,
            upstream: .silent(timeout: .milliseconds(1_250))
        )
        make(harness, .silent())
        let first = harness.begin("www.example.com")
        await harness.world.advance(by: .seconds(1))
        let hasty = harness.begin("www.example.com", within: .milliseconds(800))
        await harness.world.advance(by: .seconds(2))
        let last = harness.begin("www.example.com")
        try await harness.expect(
            hasty,
            story: """
                SERVFAIL from httpdnsd after 800 ms
                EDE 22: no answer in time
                asked: upstream A at 1300
                billed: tencent 2
                """,
            "answered at its deadline; the shared call continues for the others"
        )
        for (asked, took) in [(first, 4_800), (last, 1_800)] {
            let story = try await harness.story(of: asked)
            #expect(
                story.hasPrefix(
                    "SERVFAIL from httpdnsd after \(took) ms\nEDE 22: no upstream answered"
                )
            )
        }
        #expect(harness.resolver.statistics.merged == 1)
    }

    @Test("a query continues after its client's deadline, and its answer is cached")
    @ServiceLoop
    func nextOne() async throws {
        let harness = try ResolverHarness(.tencent)
        make(harness, .slow(.seconds(1)))
        let hasty = harness.begin("www.example.com", within: .milliseconds(500))
        #expect(try await harness.answer(to: hasty).rcode == .servFail)
        #expect(try harness.hit("www.example.com") == nil, "the client's own timeout is not cached")
        await harness.world.advance(by: .seconds(1))
        #expect(try harness.hit("www.example.com")?.answers.count == 2)
    }
}
