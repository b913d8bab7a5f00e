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
    @Test("the vendor call for the A query is charged to the client of the AAAA query")
    @ServiceLoop
    func payer() async throws {
        var answers = AnswerPolicy()
        answers.synthesis = .vendors
        // After the call of another client, a client may spend three quarters of the remaining
        // budget: 6 calls.
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

    @Test("the alias to a stale PTR record is stale, and is not cached")
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
}
