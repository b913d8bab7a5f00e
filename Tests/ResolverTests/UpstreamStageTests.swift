// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Queries to upstreams: failures, limits and CNAME targets")
struct UpstreamStageTests {
    @Test(arguments: [
        (UpstreamError.timedOut, ExtendedError.noReachableAuthority, "no upstream answered"),
        (.declined(.servFail), .noReachableAuthority, "the upstream returned SERVFAIL"),
        (.declined(.refused), .noReachableAuthority, "the upstream returned REFUSED"),
        (.declined(.noError), .noReachableAuthority, "the upstream returned a referral"),
        (.httpStatus(503), .noReachableAuthority, "the upstream returned HTTP status 503"),
        (.broken("rubbish"), .noReachableAuthority, "no upstream answered"),
        (.unreachable("no route"), .networkError, "no upstream could be reached"),
        (.untrusted("expired"), .networkError, "no upstream could be authenticated by TLS"),
    ])
    @ServiceLoop
    func `a failure has its reason, is cached for 1 s (RFC 9520), and is shared by waiting clients`(
        _ error: UpstreamError,
        _ code: ExtendedError,
        _ text: String
    ) async throws {
        let upstream = ScriptedUpstream { (_) throws(UpstreamError) in throw error }
        let harness = try ResolverHarness(upstream: upstream)
        let answer = try await harness.ask("www.example.org", dnssecOK: true)
        #expect(answer.rcode == .servFail)
        #expect(answer.resolution.isFailure)
        #expect(answer.resolution.explanation == Explanation(code: code, text: text))
        let isRepeated = error == .declined(.servFail) || error == .declined(.refused)
        let attempts = error == .declined(.noError) ? 1 : isRepeated ? 3 : 2
        let asked = upstream.asked.filter { $0.question.name == "www.example.org" }
        #expect(asked.count == attempts)
        let entries = harness.cache.entries(
            named: "www.example.org",
            type: nil,
            now: harness.world.now
        )
        #expect(entries.map(\.rcode) == [.servFail])
        #expect(entries.map(\.variant) == [AnswerVariant(dnssecOK: true, checkingDisabled: false)])
        #expect(
            harness.cache.entries(
                named: "www.example.org",
                type: nil,
                now: harness.world.now + .seconds(1)
            ).map(\.remaining) == [0]
        )
    }

    @Test
    @ServiceLoop
    func `of a client's flood of failing names, the first 64 in flight and 16 more are repeated`()
        async throws
    {
        let upstream = ScriptedUpstream.failing(.declined(.servFail))
        let harness = try ResolverHarness(upstream: upstream)
        for number in 0..<300 { harness.begin(try Name("n\(number).example.org"), of: 1) }
        await harness.world.advance(by: .seconds(1))
        let asked = upstream.asked.filter { $0.question.name.text.hasSuffix("example.org") }
        #expect(asked.count == 300 + 2 * (64 + 16))
    }

    @Test
    @ServiceLoop
    func `a client that waits for the failing name of a flood gets a query of its own`()
        async throws
    {
        let upstream = ScriptedUpstream.failing(.declined(.servFail))
        let harness = try ResolverHarness(upstream: upstream)
        for number in 0..<100 { harness.begin(try Name("n\(number).example.org"), of: 1) }
        for client: UInt32 in 1...2 {
            harness.resolver.resolve(
                Query(question: Question(name: "www.example.org", type: .a)),
                of: ClientNetwork(
                    of: .v4(IPv4Address(value: 0xC000_0200 + client)),
                    isProven: true
                ),
                deadline: harness.world.now + ResolverLimits.total,
                Completion { _ in }
            )
        }
        await harness.world.advance(by: .seconds(1))
        // The upstream gets one query for client 1: the daemon does not repeat it, because too many
        // other queries of client 1 are repeated.
        #expect(upstream.asked.count { $0.question.name == "www.example.org" } == 1 + 3)
        #expect(harness.cached("www.example.org").count == 1)
    }

    @Test(arguments: [(UpstreamError.crowded, 1), (.clientCrowded, 2)])
    @ServiceLoop
    func `if only the first of two unproven clients is at a limit, the second gets its own query`(
        error: UpstreamError,
        count: Int
    ) async throws {
        let upstream = ScriptedUpstream.failing(error)
        let harness = try ResolverHarness(upstream: upstream)
        var crowded = 0
        for client: UInt32 in 1...2 {
            harness.resolver.resolve(
                Query(question: Question(name: "www.example.org", type: .a)),
                of: ClientNetwork(
                    of: .v4(IPv4Address(value: 0xC000_0200 + client)),
                    isProven: false
                ),
                deadline: harness.world.now + ResolverLimits.total,
                Completion { crowded += $0.isCrowded ? 1 : 0 }
            )
        }
        await harness.world.advance(by: .seconds(1))
        #expect(upstream.asked.count == count && crowded == 2)
    }

    @Test
    @ServiceLoop
    func `without upstreams, the client gets SERVFAIL with the reason`() async throws {
        let harness = try ResolverHarness(upstream: nil)
        let answer = try await harness.ask("www.example.org")
        #expect(answer.rcode == .servFail)
        #expect(answer.resolution.explanation?.text == "no upstream is configured for this name")
    }

    @Test
    @ServiceLoop
    func `an answer that does not fit into a DNS message is a failure`() async throws {
        let upstream = ScriptedUpstream { (message) throws(UpstreamError) in
            let octets = [UInt8](repeating: 1, count: 40_000)
            message.answers = [1, 2].map { first in
                .other("www.example.org", RecordType(rawValue: 65_280), [first] + octets)
            }
        }
        let harness = try ResolverHarness(upstream: upstream)
        let answer = try await harness.ask("www.example.org", RecordType(rawValue: 65_280))
        #expect(answer.rcode == .servFail)
        #expect(answer.resolution.explanation?.text == "the answer is too large for a DNS message")
    }

    @Test
    @ServiceLoop
    func `a failure because of a limit of the daemon is not cached for other clients`()
        async throws
    {
        let upstream = ScriptedUpstream.failing(.exhausted("too many queries in flight"))
        let harness = try ResolverHarness(upstream: upstream)
        let answer = try await harness.ask("www.example.org")
        #expect(answer.rcode == .servFail)
        #expect(answer.resolution.explanation?.text == "too many queries in flight")
        #expect(harness.cached("www.example.org") == [])
    }

    @ServiceLoop
    private static func alias(with records: [Record]) -> ScriptedUpstream {
        ScriptedUpstream { (message) throws(UpstreamError) in
            message.answers =
                message.question?.name == "www.example.org"
                ? [.cname("www.example.org", "target.example.net")] + records
                : [.a("target.example.net", 1)]
        }
    }

    @Test
    @ServiceLoop
    func `only the CNAME chain of a reply is stored while the target is queried`() async throws {
        let junk = (0..<100).flatMap { number -> [Record] in
            let octets = [UInt8](repeating: UInt8(number), count: 100)
            return [
                .other("junk.example.org", .txt, octets), .other("www.example.org", .txt, octets),
                .other("www.example.org", .rrsig, octets), .a("late.example.net", 9),
                .cname("www.example.org", "other.example.net"),
            ]
        }
        let harness = try ResolverHarness(upstream: Self.alias(with: junk))
        let answer = try await harness.ask("www.example.org")
        #expect(answer.answers == ["CNAME target.example.net.", "A 0.0.0.1"])
    }

    @Test
    @ServiceLoop
    func `a target without records and without SOA is queried once, and the answer is NODATA`()
        async throws
    {
        let upstream = ScriptedUpstream { (message) throws(UpstreamError) in
            if message.question?.name == "www.example.org" {
                message.answers = [.cname("www.example.org", "target.example.net")]
            }
        }
        let harness = try ResolverHarness(upstream: upstream)
        let answer = try await harness.ask("www.example.org")
        #expect(answer.answers == ["CNAME target.example.net."])
        #expect(answer.message.rcode == .noError)
        #expect(upstream.asked.count == 2)
    }

    @Test
    @ServiceLoop
    func `a chain that exceeds its limit is a failure before its target is queried`() async throws {
        let signatures = (0..<50).map { number in
            Record.other("www.example.org", .rrsig, [UInt8](repeating: number, count: 100))
        }
        let harness = try ResolverHarness(upstream: Self.alias(with: signatures))
        let answer = try await harness.ask("www.example.org", dnssecOK: true)
        #expect(answer.rcode == .servFail)
        let text = answer.resolution.explanation?.text
        #expect(text == "the CNAME chain of the answer is too large")
        #expect(harness.upstream?.asked.map(\.question.name) == ["www.example.org"])
    }

    @Test(
        "the EDE reports a CNAME loop, unless the query could not be sent to the other upstream",
        arguments: [
            (.exhausted("no socket"), "too many queries in flight", false),
            (.noServer("no server"), "no server", false),
            (.timedOut, "CNAME loop, or too many CNAME records", true),
            (.declined(.formErr), "CNAME loop, or too many CNAME records", true),
        ] as [(UpstreamError, String, Bool)]
    )
    @ServiceLoop
    func afterLoop(_ error: UpstreamError, _ text: String, isCached: Bool) async throws {
        let name: Name = "www.example.org"
        let loop = ScriptedUpstream("loop") { (message) throws(UpstreamError) in
            message.answers = [.cname(name, "a.example.net"), .cname("a.example.net", name)]
        }
        let other = ScriptedUpstream("other") { (_) throws(UpstreamError) in throw error }
        let harness = try ResolverHarness(
            upstream: nil,
            routes: { routes in
                let group = UpstreamGroup([loop, other])
                routes.add(
                    Route(
                        place: "test:1",
                        vendors: [],
                        upstreams: group,
                        fallsBack: true,
                        allowsPrivateAnswers: false
                    ),
                    for: [.suffix("example.org")],
                    except: []
                )
            }
        )
        let answer = try await harness.ask(name)
        #expect(answer.resolution.explanation?.text == text)
        #expect(answer.resolution.isUnanswered == (error == .timedOut))
        #expect(harness.cached(name).isEmpty == !isCached)
    }

    @Test("a server that is removed during a query for an alias target is released afterwards")
    @ServiceLoop
    func forgottenServer() async throws {
        let upstream = Self.alias(with: [])
        let harness = try ResolverHarness(upstream: upstream)
        let asked = harness.begin("www.example.org")
        await harness.world.advance(by: .milliseconds(15))
        #expect(upstream.asked.count == 2)
        harness.resolver.forget([upstream])
        #expect(try await harness.answer(to: asked).answers.count == 2)
        #expect(harness.resolver.upstreams.numbers.isEmpty)
    }
}
