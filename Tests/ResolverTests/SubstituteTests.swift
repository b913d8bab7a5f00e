// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing

@testable import Resolver

@Suite("Answers of a less trusted source")
@ServiceLoop
struct SubstituteTests {
    private static let target: Name = "www.example.com"

    private func refuse(_ harness: ResolverHarness) {
        for number in 1...2 {
            harness.faults["tencent \(number)"] = .broken(.connect("refused"))
        }
    }

    @Test("the fallback's answer after a failure of the vendor does not become a stale answer")
    func stale() async throws {
        let harness = try ResolverHarness(.tencent)
        refuse(harness)
        _ = try await harness.ask(Self.target)
        #expect(harness.kept(Self.target) == ["A 60"])
        await harness.world.advance(by: .seconds(61))
        let question = Question(name: Self.target, type: .a)
        let now = harness.world.now
        #expect(harness.cache.lastResort(for: question, variant: .any, now: now) == nil)
    }

    @Test("while unproven clients use all calls, a name of an unproven client stays encrypted")
    func crowded() async throws {
        let harness = try ResolverHarness(
            .json,
            configure: { $0.concurrentCalls = 2 },
            options: { $0.fallbackAfter = .milliseconds(400) }
        )
        harness.faults["json 1"] = .slow(.milliseconds(200))
        for number in 0..<80 {
            let name = "n\(number).example.com"
            harness.zone[name] = Known(v4: ["192.0.2.110"])
            resolve(harness, try Name(name), of: UInt32(number))
            await harness.world.advance(by: .milliseconds(3))
        }
        var outcomes: [Bool] = []
        resolve(harness, Self.target, of: 200) { outcomes.append($0.isCrowded) }
        await harness.world.advance(by: .milliseconds(3_200))
        #expect(outcomes == [true])
        #expect(harness.upstream?.asked.contains { $0.question.name == Self.target } == false)
    }

    /// Sends a query of an unproven client, which has an address of its own.
    private func resolve(
        _ harness: ResolverHarness,
        _ name: Name,
        of client: UInt32,
        _ completion: @escaping @ServiceLoop (Resolution) -> Void = { _ in }
    ) {
        harness.resolver.resolve(
            Query(question: Question(name: name, type: .a)),
            of: ClientNetwork(of: .v4(IPv4Address(value: 0xC000_0200 + client)), isProven: false),
            deadline: harness.world.now + ResolverLimits.total,
            Completion { completion($0) }
        )
    }
}
