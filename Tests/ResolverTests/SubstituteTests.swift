// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Answers of less trusted sources (substitutes), and names only for encrypted sources")
@ServiceLoop
struct SubstituteTests {
    nonisolated private static let target: Name = "www.example.com"

    private func refuse(_ harness: ResolverHarness) {
        for number in 1...2 {
            harness.faults["tencent \(number)"] = .broken(.connect("refused"))
        }
    }

    @Test("after a vendor failure, the fallback's answer is never used as a stale answer")
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

    private func crowd(
        _ harness: ResolverHarness,
        isProven: Bool,
        _ label: String = "n",
        latency: Duration = .milliseconds(200)
    ) throws {
        harness.faults["\(harness.accounts[0]) 1"] = .slow(latency)
        for number in 0..<80 {
            let name = "\(label)\(number).example.com"
            harness.zone[name] = Known(v4: ["192.0.2.110"])
            resolve(harness, try Name(name), of: UInt32(number), isProven: isProven)
        }
    }

    @Test(
        "while other clients use up a vendor's call limit, no name is sent to plain upstreams",
        arguments: [false, true]
    )
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

    @Test(
        "while other clients use up a slow vendor's call limit, no name is sent to plain upstreams"
    )
    func crowdedAndSlow() async throws {
        let harness = try ResolverHarness(
            .json,
            servers: 1,
            configure: { $0.concurrentCalls = 2 },
            options: { $0.fallbackAfter = .milliseconds(400) }
        )
        try crowd(harness, isProven: true, latency: .milliseconds(300))
        await harness.world.advance(by: .milliseconds(10))
        var outcomes: [Bool] = []
        resolve(harness, Self.target, of: 200, isProven: true) {
            outcomes.append($0.isFailure && $0.isCrowded)
        }
        await harness.world.advance(by: .milliseconds(3_200))
        #expect(outcomes == [true])
        #expect(harness.upstream?.asked.isEmpty == true)
    }

    @Test("while clients use up a protected vendor's call limit, no unprotected vendor gets a name")
    func plainVendor() async throws {
        let harness = try ResolverHarness(.json, .sealed) { $0.concurrentCalls = 2 }
        try crowd(harness, isProven: true)
        await harness.world.advance(by: .milliseconds(3_200))
        #expect(Set(harness.asked.map(\.whom)) == ["json 1"])
    }

    // MARK: - Empty replies of a later vendor

    /// Returns the result of a query for the target, while other clients use all concurrent calls.
    private func resolveInCrowd(
        _ harness: ResolverHarness,
        _ label: String
    ) async throws -> [Resolution] {
        try crowd(harness, isProven: true, label)
        var outcomes: [Resolution] = []
        resolve(harness, Self.target, of: 200, isProven: true) {
            outcomes.append($0)
        }
        await harness.world.advance(by: .milliseconds(3_200))
        return outcomes
    }

    private func calls(of vendor: VendorClient) -> Int {
        vendor.costliestNames(1_000).filter { $0.name == Self.target }.reduce(0) {
            $0 + Int($1.calls)
        }
    }

    @Test("if the next vendor has no address, plain upstreams get no query, even on a repetition")
    func repeatedQuery() async throws {
        let harness = try ResolverHarness(.json, .tencent) { $0.concurrentCalls = 2 }
        harness.zone["www.example.com"] = Known()
        for label in ["a", "b"] {
            let outcomes = try await resolveInCrowd(harness, label)
            #expect(outcomes.map { $0.isFailure && $0.isCrowded } == [true])
        }
        #expect(harness.upstream?.asked.contains { $0.question.name == Self.target } == false)
        #expect(calls(of: harness.vendors[1]) == 1)
        harness.zone["www.example.com"] = ResolverHarness.zone["www.example.com"]
        let answer = try await harness.ask(Self.target)
        #expect(harness.origin(answer).hasPrefix("json/"))
    }

    @Test("if the next vendor has no address, an encrypted upstream's answer is cached for 30 s")
    func repeatedQueryToEncryptedUpstream() async throws {
        let upstream = ScriptedUpstream("tls", isProtected: true) {
            (message) throws(UpstreamError) in
            message.answers = message.question.map { [.a($0.name, 0xC000_0263)] } ?? []
        }
        let harness = try ResolverHarness(.json, .tencent, upstream: upstream) {
            $0.concurrentCalls = 2
        }
        harness.zone["www.example.com"] = Known()
        for label in ["a", "b"] {
            let outcomes = try await resolveInCrowd(harness, label)
            #expect(outcomes.map(\.lifetime) == [30])
            harness.cache.remove(.name(Self.target, .a), now: harness.world.now)
        }
        #expect(calls(of: harness.vendors[1]) == 1)
    }

    @Test("while other clients use up the call limit, the next vendor's NXDOMAIN is cached for 5 s")
    func denied() async throws {
        let harness = try ResolverHarness(.tencent, .json) { $0.concurrentCalls = 2 }
        harness.zone["www.example.com"] = nil
        let outcomes = try await resolveInCrowd(harness, "a")
        #expect(outcomes.map(\.rcode) == [.nxDomain])
        #expect(outcomes.map(\.lifetime) == [5])
    }

    // MARK: - Changed answers

    private func harness(
        answers: AnswerPolicy,
        nat64: Bool = false,
        _ script: @escaping @Sendable (inout Message) throws(UpstreamError) -> Void
    ) throws -> ResolverHarness {
        let prefix = IPPrefix("2001:db8:64::/96").flatMap { NAT64Prefix($0) }
        return try ResolverHarness(
            .tencent,
            encrypted: ScriptedUpstream("tls", isProtected: true) {
                (_) throws(UpstreamError) in throw .unreachable("refused")
            },
            upstream: ScriptedUpstream("upstream", script),
            answers: answers,
            nat64: nat64 ? prefix : nil
        )
    }

    private func expectNoStaleAnswer(
        _ harness: ResolverHarness,
        _ question: Question,
        after seconds: Int64,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        func entry() -> CacheEntry? {
            let variant = AnswerVariant(dnssecOK: false, checkingDisabled: false)
            let now = harness.world.now
            return harness.cache.lastResort(for: question, variant: variant, now: now)?.entry
        }
        #expect(entry()?.remaining == UInt64(seconds), sourceLocation: sourceLocation)
        await harness.world.advance(by: .seconds(seconds + 1))
        #expect(entry() == nil, sourceLocation: sourceLocation)
    }

    @Test("even after removal of its hint, a plain upstream's HTTPS record is never a stale answer")
    func hints() async throws {
        let harness = try harness(answers: AnswerPolicy()) { (message) throws(UpstreamError) in
            message.answers = [.https(Self.target, hint: [198, 51, 100, 1])]
        }
        let answer = try await harness.ask(Self.target, .https)
        #expect(answer.answers == ["HTTPS 1 ."])
        let question = Question(name: Self.target, type: .https)
        await expectNoStaleAnswer(harness, question, after: 60)
    }

    @Test("an HTTPS record with hints from a substitute is never used as a stale answer")
    func hintsOfSubstitute() async throws {
        let harness = try ResolverHarness(
            .tencent,
            upstream: ScriptedUpstream { (message) throws(UpstreamError) in
                let records: [RecordType: [Record]] = [
                    .a: [.a(Self.target, 0xC000_0263)],
                    .https: [.https(Self.target, hint: [198, 51, 100, 1])],
                ]
                message.answers = message.question.flatMap { records[$0.type] } ?? []
            }
        )
        refuse(harness)
        _ = try await harness.ask(Self.target)
        let answer = try await harness.ask(Self.target, .https)
        #expect(answer.answers == ["HTTPS 1 . ipv4hint=192.0.2.99"])
        let question = Question(name: Self.target, type: .https)
        await expectNoStaleAnswer(harness, question, after: 60)
    }

    @Test(
        "removal of a private address does not make a substitute usable as a stale answer",
        arguments: [[0x0A00_0001, 0xC000_0201], [0x0A00_0001]] as [[UInt32]]
    )
    func rebinding(_ addresses: [UInt32]) async throws {
        var policy = AnswerPolicy()
        policy.rebinding.protects = true
        let name: Name = "www.example.org"
        let harness = try harness(answers: policy) { (message) throws(UpstreamError) in
            message.answers = addresses.map { .a(name, $0) }
        }
        #expect(try await harness.ask(name).answers.count == addresses.count - 1)
        let question = Question(name: name, type: .a)
        await expectNoStaleAnswer(harness, question, after: addresses.count == 1 ? 5 : 60)
    }

    private static var synthesis: AnswerPolicy {
        var policy = AnswerPolicy()
        policy.synthesis = .all
        return policy
    }

    @Test("AAAA records synthesized from a plain upstream's answer are never used as stale answers")
    func synthesized() async throws {
        let name: Name = "www.example.org"
        let harness = try harness(answers: Self.synthesis, nat64: true) {
            (message) throws(UpstreamError) in
            if message.question?.type == .a { message.answers = [.a(name, 0xC000_0201)] }
        }
        let answer = try await harness.ask(name, .aaaa)
        #expect(answer.answers == ["AAAA 2001:db8:64::c000:201"])
        await expectNoStaleAnswer(harness, Question(name: name, type: .aaaa), after: 30)
    }

    @Test("AAAA records synthesized from a cached substitute are never used as stale answers")
    func synthesizedFromCache() async throws {
        let name: Name = "www.example.org"
        let harness = try harness(answers: Self.synthesis, nat64: true) {
            (message) throws(UpstreamError) in
            switch message.question?.type {
            case .a: message.answers = [.a(name, 0xC000_0201)]
            default: throw .declined(.servFail)
            }
        }
        _ = try await harness.ask(name)
        let answer = try await harness.ask(name, .aaaa)
        #expect(answer.answers == ["AAAA 2001:db8:64::c000:201"])
        await expectNoStaleAnswer(harness, Question(name: name, type: .aaaa), after: 60)
    }

    @Test("removal of an IPv4-mapped address does not make a substitute usable as a stale answer")
    func mapped() async throws {
        let name: Name = "www.example.org"
        let harness = try harness(answers: Self.synthesis, nat64: true) {
            (message) throws(UpstreamError) in
            let mapped = IPv6Address(high: 0, low: 0xFFFF_C000_0201)
            message.answers = [.aaaa(name, 1), Record(name: name, ttl: 300, data: .aaaa(mapped))]
        }
        let answer = try await harness.ask(name, .aaaa)
        #expect(answer.answers == ["AAAA 2001:db8::1"])
        await expectNoStaleAnswer(harness, Question(name: name, type: .aaaa), after: 60)
    }

    @Test("if the AAAA query fails because of a limit, the synthesized AAAA records are not cached")
    func notCached() async throws {
        let name: Name = "www.example.org"
        let harness = try ResolverHarness(
            upstream: ScriptedUpstream { (message) throws(UpstreamError) in
                guard message.question?.type == .a else { throw .exhausted("too many queries") }
                message.answers = [.a(name, 0xC000_0201)]
            },
            answers: Self.synthesis,
            nat64: IPPrefix("2001:db8:64::/96").flatMap { NAT64Prefix($0) }
        )
        let answer = try await harness.ask(name, .aaaa)
        #expect(answer.answers == ["AAAA 2001:db8:64::c000:201"])
        #expect(harness.kept(name) == ["A 300"])
    }

    @Test("a plain upstream's PTR answer for a NAT64 address is never used as a stale answer")
    func pointer() async throws {
        let harness = try harness(answers: Self.synthesis, nat64: true) {
            (message) throws(UpstreamError) in
            guard let name = message.question?.name else { return }
            message.answers = [Record(name: name, ttl: 300, data: .ptr("host.example.net"))]
        }
        let address = try #require(IPAddress("2001:db8:64::808:808"))
        let name = Name(reverseOf: address)
        let answer = try await harness.ask(name, .ptr)
        #expect(answer.answers.last == "PTR host.example.net.")
        await expectNoStaleAnswer(harness, Question(name: name, type: .ptr), after: 60)
    }

    // MARK: - Queries

    @Test(
        "without a fallback, an unproven client's crowded query fails with `isCrowded`",
        arguments: [Account.json, .sealed],
        [false, true]
    )
    func withoutFallback(_ account: Account, fallsBack: Bool) async throws {
        let harness = try ResolverHarness(
            account,
            upstream: fallsBack ? nil : ScriptedUpstream(),
            fallsBack: fallsBack
        ) { $0.concurrentCalls = 2 }
        try crowd(harness, isProven: false)
        var outcomes: [Bool] = []
        resolve(harness, Self.target, of: 200, isProven: false) {
            outcomes.append($0.isFailure && $0.isCrowded)
        }
        await harness.world.advance(by: .milliseconds(3_200))
        #expect(outcomes == [true])
        #expect(harness.kept(Self.target).isEmpty)
    }

    @Test("if plain upstreams must not get the name, A fails, but the vendor's AAAA is cached")
    func otherFamily() async throws {
        let harness = try ResolverHarness(.json, .tencent) { $0.concurrentCalls = 2 }
        harness.zone["www.example.com"] = Known(v4: ["192.168.0.1"], v6: ["2001:db8::101"])
        try crowd(harness, isProven: true)
        var outcomes: [Bool] = []
        resolve(harness, Self.target, of: 200, isProven: true) {
            outcomes.append($0.isFailure && $0.isCrowded)
        }
        await harness.world.advance(by: .milliseconds(3_200))
        #expect(outcomes == [true])
        #expect(harness.cached(Self.target) == ["AAAA 1"])
    }

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

extension Record {
    fileprivate static func https(_ name: Name, hint: [UInt8]) -> Record {
        let binding = ServiceBinding(
            priority: 1,
            target: .root,
            parameters: [.init(key: .ipv4Hint, value: hint)]
        )
        return Record(name: name, type: .https, ttl: 300, data: .svcb(binding))
    }
}
