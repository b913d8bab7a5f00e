// SPDX-License-Identifier: Apache-2.0
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Addresses synthesized from A records (RFC 6147)")
struct DNS64Tests {
    @Test("the vendor call for the A query of DNS64 is charged to the client of the AAAA query")
    @ServiceLoop
    func payer() async throws {
        var answers = AnswerPolicy()
        answers.synthesis = .vendors
        // After client 2 has caused a call, client 1 may use at most three quarters of the
        // remaining budget: 6 of 8 calls.
        let harness = try ResolverHarness(
            .json,
            answers: answers,
            nat64: IPPrefix("2001:db8:64::/96").flatMap { NAT64Prefix($0) }
        ) { $0.budget = Budget.Rule(callsPerDay: 9) }
        var sources: [String] = []
        func ask(_ number: UInt8, _ type: RecordType, of client: UInt32) async throws {
            let name = try Name("n\(number).example.com")
            harness.zone["n\(number).example.com"] = Known(v4: ["192.0.2.\(number)"])
            harness.begin(name, type, of: client) {
                sources.append(String($0.prefix { $0 != "/" }))
            }
            await harness.world.advance(by: .seconds(1))
        }
        try await ask(1, .a, of: 2)
        for number: UInt8 in 2...5 { try await ask(number, .aaaa, of: 1) }
        try await ask(6, .a, of: 2)
        #expect(sources == ["json", "json", "json", "json", "upstream", "json"])
        #expect(harness.vendors[0].statistics.tries == 8)
    }

    @Test("a DNS64 reply with a stale PTR record has EDE 3 and is not cached")
    @ServiceLoop
    func stalePointer() async throws {
        var answers = AnswerPolicy()
        answers.synthesis = .all
        let world = Simulation()
        let end = world.now + .seconds(300)
        let harness = try ResolverHarness(
            upstream: ScriptedUpstream { [now = world.clocks.now] (message) throws(UpstreamError) in
                guard now() < end, let name = message.question?.name else {
                    throw .declined(.servFail)
                }
                message.answers = [Record(name: name, ttl: 300, data: .ptr("host.example.net"))]
            },
            answers: answers,
            nat64: IPPrefix("2001:db8:64::/96").flatMap { NAT64Prefix($0) },
            world: world
        )
        let inner = Name(reverseOf: try #require(IPAddress("8.8.8.8")))
        let outer = Name(reverseOf: try #require(IPAddress("2001:db8:64::808:808")))
        _ = try await harness.ask(inner, .ptr)
        await harness.world.advance(by: .seconds(301))
        let answer = try await harness.ask(outer, .ptr)
        #expect(answer.answers.last == "PTR host.example.net.")
        #expect(answer.resolution.explanation?.code == .staleAnswer)
        #expect(harness.kept(outer) == [])
    }

    @Test(
        "if DNS64 cannot send the A query for one client, the other client still gets AAAA records"
    )
    @ServiceLoop
    func limit() async throws {
        let harness = try limitedHarness()
        let name: Name = "www.example.net"
        var sources: [String] = []
        for client: UInt32 in 1...2 {
            harness.begin(name, .aaaa, of: client) { sources.append("\(client) \($0)") }
        }
        await harness.world.advance(by: .milliseconds(5))
        try sendOthers(1..<ResolverLimits.inFlight.perClient, to: harness)
        await harness.world.advance(by: .milliseconds(100))
        #expect(sources.sorted() == ["1 httpdnsd", "2 upstream/scripted"])
    }

    @Test("if one client's A query for DNS64 is evicted, another client still gets AAAA records")
    @ServiceLoop
    func eviction() async throws {
        let harness = try limitedHarness(after: .milliseconds(1_200))
        let name: Name = "www.example.net"
        var sources: [String] = []
        for client: UInt32 in 1...2 {
            harness.begin(name, .aaaa, of: client) { sources.append("\(client) \($0)") }
        }
        await harness.world.advance(by: .milliseconds(1_250))
        try sendOthers(0..<ResolverLimits.inFlight.perClient, to: harness)
        await harness.world.advance(by: .milliseconds(1_000))
        try sendOthers(3_072..<3_080, to: harness)
        await harness.world.advance(by: .milliseconds(1_850))
        #expect(sources.sorted() == ["1 httpdnsd", "2 upstream/scripted"])
    }

    @ServiceLoop
    private func limitedHarness(
        after delay: Duration = .milliseconds(10)
    ) throws -> ResolverHarness {
        var answers = AnswerPolicy()
        answers.synthesis = .all
        return try ResolverHarness(
            upstream: ScriptedUpstream(after: delay) { (message) throws(UpstreamError) in
                guard let question = message.question, question.type == .a else { return }
                message.answers = [.a(question.name, 0x0808_0808)]
            },
            answers: answers,
            nat64: IPPrefix("2001:db8:64::/96").flatMap { NAT64Prefix($0) }
        )
    }

    @ServiceLoop
    private func sendOthers(_ numbers: Range<Int>, to harness: ResolverHarness) throws {
        for number in numbers {
            harness.begin(try Name("n\(number).example.net"), .txt, of: 1)
        }
    }
}
