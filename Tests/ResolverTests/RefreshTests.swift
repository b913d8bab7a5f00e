// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Prefetch: the resolver refreshes answers in use, with a limit on vendor calls per minute")
struct RefreshTests {
    @ServiceLoop
    private func harness(
        _ names: Name...,
        budget: Int = 60,
        servers: Int = 2,
        upstream: ScriptedUpstream? = ScriptedUpstream(),
        configure: (inout VendorClient.Settings) -> Void = { _ in }
    ) async throws -> ResolverHarness {
        var freshness = Freshness()
        freshness.prefetch?.budgetPerMinute = budget
        let harness = try ResolverHarness(
            .tencent,
            servers: servers,
            upstream: upstream,
            freshness: freshness,
            configure: configure
        )
        for name in names { _ = try await harness.ask(name) }
        return harness
    }

    @Test("an answer with a TTL below 10 s is not refreshed", arguments: [9, 10] as [UInt32])
    @ServiceLoop
    func short(_ ttl: UInt32) async throws {
        let harness = try await harness()
        harness.zone["short.example.com"] = Known(v4: ["192.0.2.105"], ttl4: ttl)
        _ = try await harness.ask("short.example.com")
        for _ in 0..<2 * (ttl - 1) {
            _ = try harness.hit("short.example.com")
            await harness.world.advance(by: .milliseconds(500))
        }
        #expect(harness.resolver.statistics.refreshes.started == (ttl < 10 ? 0 : 1))
    }

    @Test("a name has at most one refresh at a time, and none while a client waits for an answer")
    @ServiceLoop
    func oneAtATime() async throws {
        let harness = try await harness("www.example.com")
        harness.faults["tencent 1"] = .slow(.milliseconds(200))
        for _ in 0..<2 {
            for type in [RecordType.a, .aaaa] { _ = try harness.hit("www.example.com", type) }
            await harness.world.advance(by: .seconds(25))
        }
        for type in [RecordType.a, .aaaa, .a, .aaaa] {
            _ = try harness.hit("www.example.com", type)
        }
        await harness.world.advance(by: .milliseconds(100))
        harness.resolver.prefetcher.refresh(
            Query(question: Question(name: "www.example.com", type: .a)),
            for: nil
        )
        await harness.world.advance(by: .seconds(1))
        #expect(harness.askedAt == ["tencent 1 at 0 s", "tencent 1 at 50 s"])
        #expect(harness.resolver.statistics.refreshes == numbers(started: 1, done: 1))
    }

    @Test(
        "if a refresh fails, it is not repeated, and the cached answer stays until its expiry",
        arguments: [false, true]
    )
    @ServiceLoop
    func failed(fallsBack: Bool) async throws {
        let harness = try await harness(
            "www.example.com",
            upstream: fallsBack ? ScriptedUpstream() : nil
        )
        for number in 1...2 { harness.faults["tencent \(number)"] = .broken(.connect("refused")) }
        for _ in 0..<59 {
            let told = try #require(try harness.hit("www.example.com"))
            #expect(told.rcode == .noError)
            #expect(told.edns?.options == [])
            await harness.world.advance(by: .seconds(1))
        }
        #expect(harness.resolver.statistics.refreshes == numbers(started: 1, failed: 1))
        #expect(harness.asked.count == 3)
        guard !fallsBack else { return }
        await harness.world.advance(by: .seconds(1))
        #expect(try await harness.ask("www.example.com").resolution.provenance.isStale)
    }

    @Test("a refresh counts against the limits of the client that caused the refresh")
    @ServiceLoop
    func places() async throws {
        let harness = try await harness(upstream: ScriptedUpstream(after: nil) { _ in })
        func refresh(_ name: String, of client: UInt32) throws {
            let question = Question(name: try Name(name), type: .a)
            harness.resolver.prefetcher.refresh(
                Query(question: question),
                for: ClientNetwork(of: .v4(IPv4Address(value: client)), isProven: true)
            )
        }
        let limit = ResolverLimits.inFlight.perClient
        for number in 0...limit {
            try refresh("n\(number).example.org", of: 0xC000_0201)
        }
        await harness.world.advance(by: .zero)
        #expect(harness.resolver.singleFlight.count == limit)
        try refresh("other.example.org", of: 0xC633_6401)
        await harness.world.advance(by: .zero)
        #expect(harness.resolver.singleFlight.count == limit + 1)
    }

    // MARK: - Costs

    @Test("the limit per minute does not apply to refreshes from upstreams")
    @ServiceLoop
    func upstreams() async throws {
        let harness = try await harness("www.example.org", budget: 0)
        await harness.world.advance(by: .seconds(100))
        _ = try harness.hit("www.example.org")
        await harness.world.advance(by: .seconds(125))
        _ = try harness.hit("www.example.org")
        await harness.world.advance(by: .seconds(1))
        #expect(harness.askedAt == ["upstream A at 0 s", "upstream A at 225 s"])
        #expect(harness.kept("www.example.org") == ["A 300"])
    }

    @Test(
        "a vendor that is paused, rate-limited or over its budget gets no call for a refresh",
        arguments: ["paused", "limited", "over budget"]
    )
    @ServiceLoop
    func held(_ state: String) async throws {
        let harness = try await harness("www.example.com", "four.example.com") { settings in
            guard state == "over budget" else { return }
            settings.budget = Budget.Rule(callsPerDay: 2, onExceeded: .fallback)
        }
        switch state {
        case "paused": harness.vendors[0].pause()
        case "limited":
            for number in 1...2 {
                harness.faults["tencent \(number)"] = .status(429, retryAfter: "90")
            }
            _ = try await harness.ask("six.example.com")
        default: break
        }
        let before = harness.asked.count
        for _ in 0..<55 {
            _ = try harness.hit("www.example.com")
            await harness.world.advance(by: .seconds(1))
        }
        #expect(harness.resolver.statistics.refreshes == numbers(held: 1))
        #expect(harness.asked.count == before)
    }

    @Test("the resolver refreshes stale entries of a snapshot one minute after the start")
    @ServiceLoop
    func hottest() async throws {
        let harness = try await harness("www.example.com")
        _ = try harness.hit("www.example.com")
        await harness.world.advance(by: .seconds(100))
        let entries = harness.cache.hottest(10, now: harness.world.clocks.now())
        #expect(entries.map(\.isFresh) == [false])
        let before = harness.asked.count
        harness.resolver.prefetcher.refresh(hottest: entries)
        await harness.world.advance(by: .seconds(59))
        #expect(harness.asked.count == before)
        await harness.world.advance(by: .seconds(2))
        #expect(harness.asked.count == before + 1)
    }

    @ServiceLoop
    private func harness(keeping names: Name..., budget: Int = 60) throws -> ResolverHarness {
        var freshness = Freshness()
        freshness.prefetch?.names = names
        freshness.prefetch?.budgetPerMinute = budget
        return try ResolverHarness(.tencent, upstream: ScriptedUpstream(), freshness: freshness)
    }

    @Test("if a refresh of a name in `prefetch.names` fails, it is repeated after 10 s to 5 min")
    @ServiceLoop
    func retries() async throws {
        let harness = try ResolverHarness(
            .tencent,
            upstream: nil,
            freshness: keeping("www.example.com")
        )
        for number in 1...2 { harness.faults["tencent \(number)"] = .status(500) }
        harness.resolver.prefetcher.start()
        await harness.world.advance(by: .seconds(1_300))
        let seconds = Set(harness.asked.map { ($0.at - harness.world.start).milliseconds / 1_000 })
        #expect(seconds.sorted() == [0, 10, 30, 70, 150, 310, 610, 910, 1_210])
        harness.faults = [:]
        await harness.world.advance(by: .seconds(300))
        #expect(try harness.hit("www.example.com") != nil)
    }

    @Test("refreshes of several names in `prefetch.names` share the limit on calls per minute")
    @ServiceLoop
    func namesBudget() async throws {
        let harness = try harness(
            keeping: "www.example.com",
            "four.example.com",
            "six.example.com",
            budget: 1
        )
        harness.resolver.prefetcher.start()
        await harness.world.advance(by: .seconds(600))
        let calls = harness.asked.filter { $0.whom == "tencent 1" }
        #expect((9...11).contains(calls.count), "one a minute")
    }

    @Test("special names in `prefetch.names` are not refreshed")
    @ServiceLoop
    func special() async throws {
        for routes in [RouteTable(), everything] {
            let harness = try ResolverHarness(
                freshness: keeping("localhost", "printer.local", "nas", "a.onion"),
                routes: { $0 = routes }
            )
            harness.resolver.prefetcher.start()
            await harness.world.advance(by: .seconds(600))
            #expect(harness.asked.isEmpty)
        }
    }

    @Test("names in `prefetch.names` with a local answer (hosts, `suppress`) are not refreshed")
    @ServiceLoop
    func overridden() async throws {
        var answers = AnswerPolicy()
        answers.suppressesAAAA = true
        let address = try #require(IPAddress("192.0.2.9"))
        let harness = try ResolverHarness(
            upstream: ScriptedUpstream(),
            answers: answers,
            freshness: keeping("printer.example.org", "www.example.org")
        )
        harness.resolver.use(
            HostsTable(
                records: [(name: "printer.example.org", addresses: [address])]
            )
        )
        harness.resolver.prefetcher.start()
        await harness.world.advance(by: .seconds(100))
        #expect(harness.askedAt == ["upstream A at 0 s"])
    }

    @Test("names in `prefetch.names` are refreshed 1 s after a network change")
    @ServiceLoop
    func networkChange() async throws {
        let harness = try harness(keeping: "www.example.com")
        harness.resolver.prefetcher.start()
        await harness.world.advance(by: .seconds(20))
        harness.networkChanged()
        await harness.world.advance(by: .seconds(20))
        #expect(harness.askedAt == ["tencent 1 at 0 s", "tencent 1 at 21 s"])
    }

    @Test("after `stop`, the resolver refreshes no names in `prefetch.names`")
    @ServiceLoop
    func stopped() async throws {
        let harness = try harness(keeping: "www.example.com")
        harness.resolver.prefetcher.start()
        await harness.world.advance(by: .seconds(20))
        harness.resolver.prefetcher.stop()
        harness.networkChanged()
        await harness.world.advance(by: .seconds(600))
        #expect(harness.askedAt == ["tencent 1 at 0 s"])
    }

    private var everything: RouteTable {
        var table = RouteTable()
        table.add(
            Route(
                place: "test:1",
                vendors: [],
                upstreams: nil,
                fallsBack: true,
                allowsPrivateAnswers: false
            ),
            for: [.suffix(.root)],
            except: []
        )
        return table
    }

    private func keeping(_ names: Name...) -> Freshness {
        var freshness = Freshness()
        freshness.prefetch?.names = names
        return freshness
    }

    private func numbers(
        started: UInt64 = 0,
        done: UInt64 = 0,
        failed: UInt64 = 0,
        overBudget: UInt64 = 0,
        held: UInt64 = 0
    ) -> RefreshNumbers {
        var numbers = RefreshNumbers()
        numbers.started = started
        numbers.done = done
        numbers.failed = failed
        numbers.overBudget = overBudget
        numbers.held = held
        return numbers
    }
}
