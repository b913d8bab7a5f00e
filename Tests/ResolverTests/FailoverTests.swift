// SPDX-License-Identifier: Apache-2.0
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("After a failure: the next server, then the next vendor, then the fallback")
struct FailoverTests {
    private struct Case: CustomTestStringConvertible {
        let testDescription: String
        var account = Account.tencent
        let fault: Fault

        let next: Int

        let billed: Int

        init(_ label: String, _ fault: Fault, of account: Account, next: Int, billed: Int) {
            testDescription = "\(label): \(account)"
            self.account = account
            self.fault = fault
            self.next = next
            self.billed = billed
        }
    }

    private static let cases: [Case] =
        Account.allCases.filter { $0 != .json }.flatMap { account in
            [
                Case(
                    "refused",
                    .broken(.connect("refused")),
                    of: account,
                    next: 0,
                    billed: 1
                ),
                Case(
                    "a bad certificate",
                    .broken(.tls("expired")),
                    of: account,
                    next: 0,
                    billed: 1
                ),
                Case(
                    "broken off",
                    .broken(.broken("reset"), after: .milliseconds(50)),
                    of: account,
                    next: 50,
                    billed: 2
                ),
                Case(
                    "too long",
                    .broken(.bodyTooLarge(limit: 8_192)),
                    of: account,
                    next: 0,
                    billed: 2
                ),
                Case("500", .status(500), of: account, next: 20, billed: 2),
                Case("502", .status(502), of: account, next: 20, billed: 2),
                Case("an unknown status", .status(299), of: account, next: 20, billed: 2),
                Case("429", .status(429), of: account, next: 20, billed: 1),
                Case(
                    "a captive portal",
                    .says("<html>Log in!</html>"),
                    of: account,
                    next: 20,
                    billed: 2
                ),
                Case("another name", .otherName, of: account, next: 20, billed: 2),
                Case("silence", .silent(), of: account, next: 300, billed: 1),
                Case(
                    "no response on an old connection",
                    .silent(onOldConnection: true),
                    of: account,
                    next: 300,
                    billed: 1
                ),
                Case("slow", .slow(.milliseconds(900)), of: account, next: 300, billed: 1),
            ]
        } + [Case("another key", .otherKey, of: .sealed, next: 20, billed: 2)]

    @Test(
        "if a server fails, or does not answer within 300 ms, the vendor's next server is called",
        arguments: cases
    )
    @ServiceLoop
    private func nextServer(_ example: Case) async throws {
        let account = example.account.rawValue
        let harness = try ResolverHarness(example.account)
        harness.faults["\(account) 1"] = example.fault
        let again =
            if case .broken(.tls, _) = example.fault, example.account == .alibaba {
                "alibaba 1 at 0, "
            } else {
                ""
            }
        try await harness.expect(
            "www.example.com",
            story: """
                NOERROR from \(account)/\(example.account.servers(2)[1]) \
                after \(example.next + 20) ms
                answer: A 192.0.2.101 60, A 192.0.2.102 60
                asked: \(account) 1 at 0, \(again)\(account) 2 at \(example.next)
                kept: A 60, AAAA 120
                billed: \(account) \(example.billed)
                """
        )
    }

    @Test("an unresponsive vendor is called again if its route has no other vendor and no fallback")
    @ServiceLoop
    func onlySilence() async throws {
        let harness = try ResolverHarness(.tencent, servers: 1, fallsBack: false) {
            $0.retriesBeforeSwitch = 1
        }
        harness.faults["tencent 1"] = .silent()
        for _ in 0..<3 {
            harness.emptyCache()
            _ = try await harness.ask("www.example.com")
            await harness.world.advance(by: .seconds(1))
        }
        #expect(harness.asked.map(\.whom) == ["tencent 1", "tencent 1", "tencent 1"])
    }

    /// `next` is the time in milliseconds after which the next vendor is called; `billed` is the
    /// number of requests that the vendor bills.
    private static let hopeless: [(label: String, fault: Fault, next: Int, billed: Int)] = [
        ("refused", .broken(.connect("refused")), 0, 0),
        ("a bad certificate", .broken(.tls("expired")), 0, 0),
        ("503", .status(503), 40, 2),
        ("429", .status(429), 40, 0),
        ("rubbish", .says("rubbish"), 40, 2),
        ("another name", .otherName, 40, 2),
        // The first of two vendors gets half of the 3 s for all vendors, so the next vendor is
        // called at 1.5 s.
        ("silence", .silent(), 1_500, 0),
    ]

    @Test("if a vendor's servers fail, the next vendor is called", arguments: hopeless.indices)
    @ServiceLoop
    func nextVendor(_ index: Int) async throws {
        let (label, fault, next, billed) = Self.hopeless[index]
        let harness = try ResolverHarness(.tencent, .alibaba)
        harness.faults = ["tencent 1": fault, "tencent 2": fault]
        let second = label == "silence" ? 300 : next / 2
        let bill = billed == 0 ? "alibaba 1" : "tencent \(billed), alibaba 1"
        try await harness.expect(
            "www.example.com",
            story: """
                NOERROR from alibaba/192.0.2.31:443 after \(next + 20) ms
                answer: A 192.0.2.101 60, A 192.0.2.102 60
                asked: tencent 1 at 0, tencent 2 at \(second), alibaba 1 at \(next)
                kept: A 60, AAAA 120
                billed: \(bill)
                """,
            "\(label)"
        )
    }

    @Test("if all vendors fail, the fallback is queried", arguments: hopeless.indices.dropLast())
    @ServiceLoop
    func fallback(_ index: Int) async throws {
        let (label, fault, next, billed) = Self.hopeless[index]
        let harness = try ResolverHarness(.tencent, .sealed)
        for account in ["tencent", "sealed"] {
            for number in 1...2 { harness.faults["\(account) \(number)"] = fault }
        }
        let bill = billed == 0 ? "" : "\nbilled: tencent \(billed), sealed \(billed)"
        try await harness.expect(
            "www.example.com",
            .aaaa,
            story: """
                NOERROR from upstream/scripted after \(2 * next + 10) ms
                answer: AAAA 2001:db8::99 60
                asked: tencent 1 at 0, tencent 2 at \(next / 2), sealed 1 at \(next), \
                sealed 2 at \(next * 3 / 2), upstream AAAA at \(2 * next)
                kept: AAAA 60\(bill)
                """,
            "\(label)"
        )
    }

    @Test("after a failed vendor call for A, an AAAA query calls the vendor again")
    @ServiceLoop
    func failureIsForgotten() async throws {
        let harness = try ResolverHarness(.tencent, servers: 1)
        harness.faults["tencent 1"] = .status(500)
        _ = try await harness.ask("www.example.com")
        harness.faults = [:]
        try await harness.expect(
            "www.example.com",
            .aaaa,
            story: """
                NOERROR from tencent/192.0.2.11:443 after 20 ms
                answer: AAAA 2001:db8::101 120
                asked: tencent 1 at 0
                kept: A 60, AAAA 120
                billed: tencent 1
                """
        )
    }

    @Test(
        "if a name waits because of one client's limit, a query of another client starts the call"
    )
    @ServiceLoop
    func joined() async throws {
        let harness = try ResolverHarness(
            .tencent,
            servers: 1,
            configure: { $0.concurrentCalls = 4 }
        )
        harness.faults["tencent 1"] = .slow(.seconds(1))
        var answers = 0
        for name: Name in ["one.example.com", "two.example.com", "www.example.com"] {
            harness.begin(name, of: 1) { _ in answers += 1 }
        }
        #expect(harness.asked.count == 2)
        harness.begin("www.example.com", of: 2) { _ in answers += 1 }
        #expect(harness.asked.count == 3)
        await harness.world.advance(by: .seconds(2))
        #expect(answers == 4)
        #expect(harness.asked.filter { $0.whom.hasPrefix("tencent") }.count == 3)
    }

    @Test("if a call fails while the vendor has another call in flight, the next vendor is called")
    @ServiceLoop
    func refusedName() async throws {
        let harness = try ResolverHarness(.tencent, .alibaba, servers: 1)
        var sources: [String] = []
        harness.begin("four.example.com", of: 2)
        await harness.world.advance(by: .milliseconds(100))
        harness.faults["tencent 1"] = .slow(.milliseconds(1_900))
        harness.begin("six.example.com", .aaaa, of: 2)
        await harness.world.advance(by: .milliseconds(10))
        harness.faults["tencent 1"] = .status(503)
        harness.begin("www.example.com", of: 1) { sources.append($0) }
        await harness.world.advance(by: .milliseconds(100))
        #expect(sources == ["alibaba/192.0.2.31:443"])
    }

    @Test("if the first vendor's call limit delays a name too long, the next vendor is called")
    @ServiceLoop
    func queuedName() async throws {
        let harness = try ResolverHarness(
            .tencent,
            .alibaba,
            servers: 1,
            configure: { $0.concurrentCalls = 2 },
            options: { $0.fallbackAfter = .milliseconds(400) }
        )
        var sources: [String] = []
        harness.faults["tencent 1"] = .slow(.milliseconds(1_400))
        harness.begin("four.example.com", of: 2)
        await harness.world.advance(by: .milliseconds(10))
        harness.begin("www.example.com", of: 2) { sources.append($0) }
        await harness.world.advance(by: .milliseconds(390))
        #expect(sources.isEmpty)
        await harness.world.advance(by: .milliseconds(500))
        #expect(sources == ["alibaba/192.0.2.31:443"])
        #expect(!harness.asked.contains { $0.whom.hasPrefix("upstream") })
    }

    @Test("two vendors together have 3 s for a query, even if the second is called only after 1 s")
    @ServiceLoop
    func end() async throws {
        let harness = try ResolverHarness(
            .tencent,
            .alibaba,
            servers: 1,
            upstream: .failing(.declined(.servFail)),
            configure: { $0.timeout = .seconds(3) },
            options: { $0.fallbackAfter = .milliseconds(1_000) }
        )
        harness.faults = ["tencent 1": .silent(), "alibaba 1": .silent()]
        let story = try await harness.story(of: harness.begin("www.example.com"))
        #expect(story.hasPrefix("SERVFAIL from httpdnsd after 3000 ms"), "\(story)")
    }
}
