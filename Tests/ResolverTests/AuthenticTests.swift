// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Answers that an upstream has validated (RFC 4035 §3.2.3, RFC 6840 §5.8)")
struct AuthenticTests {
    @ServiceLoop
    private static func validating(
        _ isBelieved: Bool = true,
        _ script: @escaping @Sendable (inout Message) -> Void = { message in
            guard let question = message.questions.first else { return }
            message.answers = [.a(question.name, 0xC000_0263)]
        }
    ) -> ScriptedUpstream {
        ScriptedUpstream(validates: isBelieved) { (message) throws(UpstreamError) in
            message.header.authenticData = true
            script(&message)
        }
    }

    @Test
    @ServiceLoop
    func `the AD bit expires when the upstream is no longer trusted`() async throws {
        var policy = TTLPolicy()
        policy.positive = 60...3_600
        policy.negative = 5...300
        for (isBelieved, seconds) in [(true, 7), (false, 60)] as [(Bool, UInt32)] {
            let harness = try ResolverHarness(
                upstream: Self.validating(isBelieved) { message in
                    message.answers = [.a("www.example.org", 1, ttl: 7)]
                },
                policy: policy
            )
            #expect(try await harness.ask("www.example.org").resolution.lifetime == seconds)
        }
        for (isBelieved, seconds) in [(true, 2), (false, 5)] as [(Bool, UInt32)] {
            let harness = try ResolverHarness(
                upstream: Self.validating(isBelieved) { message in
                    message.authorities = [.soa("example.org", minimum: 2)]
                },
                policy: policy
            )
            #expect(try await harness.ask("www.example.org").resolution.lifetime == seconds)
        }
    }

    @Test
    @ServiceLoop
    func `reordering the addresses keeps AD`() async throws {
        var policy = AnswerPolicy()
        policy.order = .fastest([AnswerPolicy.ProbeRule(names: .suffix("example.org"), port: 443)])
        let harness = try ResolverHarness(
            upstream: Self.validating { message in
                guard let name = message.questions.first?.name else { return }
                message.answers = [.a(name, 0xC000_0201), .a(name, 0xC000_0202)]
            },
            answers: policy
        )
        harness.latencies = ["192.0.2.1 443": .milliseconds(90), "192.0.2.2 443": .milliseconds(5)]
        #expect(try await harness.ask("www.example.org").resolution.isAuthentic)
        await harness.world.advance(by: .seconds(2))
        harness.emptyCache()
        let answer = try await harness.ask("www.example.org")
        #expect(answer.answers == ["A 192.0.2.2", "A 192.0.2.1"])
        #expect(answer.resolution.isAuthentic)
    }

    @Test
    func `the source labels of restored answers are trusted as the settings say`() {
        let origins = AnswerSourceRegistry()
        origins.believe(only: ["dot/tls://dns.example (192.0.2.1)"])
        let number = origins.number("dot/tls://dns.example (192.0.2.1)")
        let after = origins.number(number, after: "tencent")
        #expect(origins.isBelieved(labelled: origins.label(number)))
        #expect(origins.isBelieved(labelled: origins.label(after)))
        #expect(!origins.isBelieved(labelled: "dot/udp://192.0.2.1"))
        #expect(!origins.isBelieved(labelled: ""))
    }
}
