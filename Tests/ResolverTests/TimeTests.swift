// SPDX-License-Identifier: Apache-2.0
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("A client gets an answer within 5 s; all vendors and upstreams share this time")
struct TimeTests {
    @ServiceLoop
    private func silence(_ harness: ResolverHarness, onOldConnection isOld: Bool = false) {
        for account in harness.accounts {
            for number in 1...2 {
                harness.faults["\(account.rawValue) \(number)"] = .silent(onOldConnection: isOld)
            }
        }
    }

    @Test("if a vendor's servers do not respond, the upstream is queried after their timeouts")
    @ServiceLoop
    func oneVendor() async throws {
        let harness = try ResolverHarness(.tencent)
        silence(harness)
        try await harness.expect(
            "www.example.com",
            story: """
                NOERROR from upstream/scripted after 2310 ms
                answer: A 192.0.2.99 60
                asked: tencent 1 at 0, tencent 2 at 300, upstream A at 2300
                kept: A 60
                billed: tencent 2
                """
        )
    }

    @Test("after 3 s without a vendor's answer, the upstream is queried, with no further retries")
    @ServiceLoop
    func threeSeconds() async throws {
        let harness = try ResolverHarness(.tencent)
        harness.world.script = { [script = harness.world.script] request in
            _ = script(request)
            return .silence(reused: true)
        }
        try await harness.expect(
            "www.example.com",
            story: """
                NOERROR from upstream/scripted after 3010 ms
                answer: A 192.0.2.99 60
                asked: tencent 1 at 0, tencent 2 at 300, tencent 1 at 2000, tencent 2 at 2300, \
                upstream A at 3000
                kept: A 60
                billed: tencent 4
                """
        )
    }

    @Test("if three vendors do not respond, each vendor gets 1 s of the 3 s for all vendors")
    @ServiceLoop
    func threeVendors() async throws {
        let harness = try ResolverHarness(.tencent, .alibaba, .json)
        silence(harness)
        try await harness.expect(
            "www.example.com",
            story: """
                NOERROR from upstream/scripted after 3010 ms
                answer: A 192.0.2.99 60
                asked: tencent 1 at 0, tencent 2 at 300, alibaba 1 at 1000, alibaba 2 at 1300, \
                json 1 at 2000, json 2 at 2300, upstream A at 3000
                kept: A 60
                billed: tencent 2, alibaba 2
                """
        )
    }

    @Test("if all servers are unreachable, the client gets SERVFAIL immediately")
    @ServiceLoop
    func noNetwork() async throws {
        let harness = try ResolverHarness(
            .tencent,
            .json,
            upstream: .failing(.unreachable("no route"), after: .zero)
        )
        for account in harness.accounts {
            for number in 1...2 {
                harness.faults["\(account.rawValue) \(number)"] = .broken(.connect("no route"))
            }
        }
        try await harness.expect(
            "www.example.com",
            .aaaa,
            story: """
                SERVFAIL from httpdnsd after 0 ms
                EDE 23: no upstream could be reached
                asked: tencent 1 at 0, tencent 2 at 0, json 1 at 0, json 2 at 0, \
                upstream AAAA at 0, upstream AAAA at 0
                kept: AAAA SERVFAIL 1
                """
        )
    }

    @Test(
        "with random faults, a client gets addresses or SERVFAIL within 4.8 s, and no denial",
        arguments: 0..<8
    )
    @ServiceLoop
    func anything(_ seed: UInt64) async throws {
        var random = Seeded(state: seed)
        let faults: [Fault?] = [
            nil, .silent(), .silent(onOldConnection: true), .slow(.milliseconds(700)),
            .slow(.seconds(5)), .broken(.connect("refused")), .broken(.tls("expired")),
            .broken(.broken("reset"), after: .milliseconds(1_900)), .status(500), .status(403),
            .status(429), .says("rubbish"), .says(""), .otherName,
        ]
        for _ in 0..<25 {
            var upstreams: [ScriptedUpstream] = [
                ScriptedUpstream(), .silent(timeout: .milliseconds(900)), .failing(.timedOut),
                .failing(.unreachable("no route")), .failing(.declined(.servFail)),
            ]
            upstreams.shuffle(using: &random)
            let harness = try ResolverHarness(.tencent, .alibaba, .sealed, upstream: upstreams[0])
            for account in harness.accounts {
                for number in 1...2 {
                    let fault = faults.randomElement(using: &random)
                    harness.faults["\(account.rawValue) \(number)"] = fault ?? nil
                }
            }
            let type = Bool.random(using: &random) ? RecordType.a : .aaaa
            let asked = harness.begin("www.example.com", type)
            let answer = try await harness.answer(to: asked)
            let took = try #require(asked.operation.end) - asked.operation.start
            #expect(took <= .milliseconds(4_800), "\(harness.faults)")
            #expect(answer.rcode == .noError || answer.rcode == .servFail, "\(harness.faults)")
            #expect(answer.answers.isEmpty == (answer.rcode == .servFail), "\(harness.faults)")
            #expect((answer.resolution.explanation != nil) == (answer.rcode == .servFail))
            #expect(!harness.kept("www.example.com").isEmpty, "\(harness.faults)")
        }
    }
}

private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
