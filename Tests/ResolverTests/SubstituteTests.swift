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

    /// Lets 80 other clients query a name each, of which the first vendor answers 10 a second.
    private func crowd(_ harness: ResolverHarness, isProven: Bool) throws {
        harness.faults["json 1"] = .slow(.milliseconds(200))
        for number in 0..<80 {
            let name = "n\(number).example.com"
            harness.zone[name] = Known(v4: ["192.0.2.110"])
            resolve(harness, try Name(name), of: UInt32(number), isProven: isProven)
        }
    }

    @Test("while other clients use all calls, a name stays encrypted", arguments: [false, true])
    func crowded(isProven: Bool) async throws {
        let harness = try ResolverHarness(.json) { $0.concurrentCalls = 2 }
        try crowd(harness, isProven: isProven)
        var outcomes: [Bool] = []
        resolve(harness, Self.target, of: 200, isProven: isProven) {
            outcomes.append($0.isFailure && $0.isCrowded)
        }
        await harness.world.advance(by: .milliseconds(3_200))
        #expect(outcomes == [true])
        #expect(harness.kept(Self.target).isEmpty)
        #expect(harness.upstream?.asked.contains { $0.question.name == Self.target } == false)
    }

    @Test("while other clients use all calls, a vendor without encryption gets no name")
    func plainVendor() async throws {
        let harness = try ResolverHarness(.json, .sealed) { $0.concurrentCalls = 2 }
        try crowd(harness, isProven: true)
        await harness.world.advance(by: .milliseconds(3_200))
        #expect(Set(harness.asked.map(\.whom)) == ["json 1"])
    }

    /// Sends a query of a client with an address of its own.
    private func resolve(
        _ harness: ResolverHarness,
        _ name: Name,
        of client: UInt32,
        isProven: Bool,
        _ completion: @escaping @ServiceLoop (Resolution) -> Void = { _ in }
    ) {
        let address = IPv4Address(value: 0xC000_0200 + client)
        harness.resolver.resolve(
            Query(question: Question(name: name, type: .a)),
            of: ClientNetwork(of: .v4(address), isProven: isProven),
            deadline: harness.world.now + ResolverLimits.total,
            Completion { completion($0) }
        )
    }
}
