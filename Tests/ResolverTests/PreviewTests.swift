// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("A preview (for `explain`) predicts a resolution, without side effects")
struct PreviewTests {
    @ServiceLoop
    private func harness(
        _ answers: AnswerPolicy = AnswerPolicy(),
        fallsBack: Bool = true
    ) throws -> ResolverHarness {
        let harness = try ResolverHarness(
            .tencent,
            .alibaba,
            answers: answers,
            fallsBack: fallsBack
        )
        harness.resolver.use(
            HostsTable(
                records: [("printer.lan", [.v4(IPv4Address(value: 0xC000_0209))])]
            )
        )
        return harness
    }

    @ServiceLoop
    private func preview(_ harness: ResolverHarness, _ name: Name, _ type: RecordType = .a)
        -> Decision
    {
        harness.resolver.preview(Query(question: Question(name: name, type: type)))
    }

    @Test(
        "a preview predicts the source to which the same query is sent afterwards",
        arguments: [
            ("www.example.com", RecordType.a), ("www.example.com", .aaaa),
            ("four.example.com", .aaaa), ("none.example.com", .a), ("www.example.com", .mx),
            ("www.example.com", .https),
            ("a_b.example.com", .a), ("a*b.example.com", .a), ("www.example.org", .a),
            ("printer.lan", .a), ("printer.lan", .aaaa), ("localhost", .a), ("a.onion", .a),
            ("single", .a), ("single", .ns), ("www.example.com", .any), ("www.example.com", .axfr),
        ],
        [Trouble.none, .paused, .bothPaused, .suppressed, .noFallback, .held, .twice, .stale]
    )
    @ServiceLoop
    func foretold(_ question: (String, RecordType), _ trouble: Trouble) async throws {
        var answers = AnswerPolicy()
        answers.suppressesAAAA = trouble == .suppressed
        let harness = try harness(answers, fallsBack: trouble != .noFallback)
        if trouble == .paused || trouble == .bothPaused { harness.vendors[0].pause() }
        if trouble == .bothPaused { harness.vendors[1].pause() }
        let (name, type) = (try Name(question.0), question.1)
        if [.held, .twice, .stale].contains(trouble) { _ = try await harness.ask(name, type) }
        if trouble == .held { harness.emptyCache() }
        if trouble == .stale { await harness.world.advance(by: .seconds(400)) }

        let (asked, entries) = (harness.asked.count, harness.kept(name))
        let decision = preview(harness, name, type)
        #expect(harness.asked.count == asked && harness.kept(name) == entries)

        if let hit = decision.hit {
            let message = try #require(try harness.hit(name, type))
            #expect(message.rcode == hit.rcode)
            return
        }
        #expect(try harness.hit(name, type) == nil)
        let operation = harness.begin(name, type)
        let answer = try await harness.answer(to: operation)
        let told = harness.asked.dropFirst(asked).map(\.whom)
        if let own = decision.own {
            #expect(told.isEmpty && answer.rcode == own.answer.rcode)
        } else if let refusal = decision.plan.refusal {
            #expect(told.isEmpty && answer.rcode == refusal.rcode)
        } else if let payee = decision.payee {
            #expect(decision.asks)
            #expect(told.first == "\(payee.name) 1")
        } else if decision.plan.asksUpstreams {
            #expect(decision.asks)
            #expect(told.first?.hasPrefix("upstream ") == true, "\(told)")
        } else {
            #expect(told.isEmpty)
        }
    }

    enum Trouble: String, CaseIterable, Sendable {
        case none, paused, bothPaused, suppressed, noFallback

        case held, twice, stale
    }

    @Test("a preview of a cache hit has the age, the source and the refresh time of the entry")
    @ServiceLoop
    func hit() async throws {
        let harness = try harness()
        _ = try await harness.ask("www.example.com")
        await harness.world.advance(by: .seconds(12))
        for _ in 0..<2 {
            let hit = try #require(preview(harness, "www.example.com").hit)
            #expect(hit.age == 12 && hit.remaining == 48 && hit.hits == 0)
            #expect(hit.refreshIn == 33, "75 % of a minute")
            #expect(harness.resolver.origins.name(hit.server) == "tencent/192.0.2.11:443")
        }
        _ = try harness.hit("www.example.com")
        #expect(preview(harness, "www.example.com").hit?.hits == 1)
    }

    @Test(
        "a stale answer in a preview has a delay of 300 ms, or no delay while a failure is cached"
    )
    @ServiceLoop
    func stale() async throws {
        let harness = try ResolverHarness(.tencent, upstream: nil)
        _ = try await harness.ask("www.example.com")
        await harness.world.advance(by: .seconds(70))
        var decision = preview(harness, "www.example.com")
        #expect(decision.hit == nil && decision.asks)
        #expect(decision.lastResort?.delay == .milliseconds(300))
        #expect(decision.lastResort?.ttl == 30)
        for number in 1...2 {
            harness.faults["tencent \(number)"] = .broken(.connect("refused"))
        }
        _ = try await harness.ask("www.example.com")
        decision = preview(harness, "www.example.com")
        #expect(decision.lastResort != nil && decision.lastResort?.delay == nil)
        #expect(!decision.asks)
    }

    @Test(
        "a preview predicts no vendor call for a pending query, or after the vendor had no address"
    )
    @ServiceLoop
    func underWay() async throws {
        let harness = try harness()
        let asked = harness.begin("none.example.com")
        await harness.world.advance(by: .milliseconds(1))
        #expect(preview(harness, "none.example.com").isAsked)
        #expect(!preview(harness, "none.example.com").asks)
        _ = try await harness.answer(to: asked)
        let other = preview(harness, "none.example.com", .aaaa)
        #expect(other.plan.emptyVendor == "tencent/192.0.2.11:443")
        #expect(other.payee == nil && other.asks && other.plan.asksUpstreams)
    }

    @Test("a preview shows the pattern of the route, and each pattern that excludes the name")
    func routes() throws {
        var table = RouteTable()
        func add(_ place: String, _ pattern: DomainPattern, except: [DomainPattern] = []) {
            let route = Route(
                place: place,
                vendors: [],
                upstreams: nil,
                fallsBack: true,
                allowsPrivateAnswers: false
            )
            table.add(route, for: [pattern], except: except)
        }
        add("a:1", .suffix("example.com"))
        add("a:2", .below("b.example.com"), except: [.exact("c.b.example.com")])
        add("a:3", .exact("c.b.example.com"), except: [.suffix("c.b.example.com")])
        var passed: [String] = []
        let match = table.route(for: "c.b.example.com") { passed.append($0.route.place) }
        #expect(match?.route.place == "a:1" && match?.pattern == .suffix("example.com"))
        #expect(passed == ["a:3", "a:2"])
        #expect(table.route(for: "d.b.example.com")?.pattern == .below("b.example.com"))
        #expect(table.route(for: "example.org") { _ in Issue.record("no pattern matches") } == nil)
    }
}
