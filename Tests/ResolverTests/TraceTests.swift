// SPDX-License-Identifier: Apache-2.0
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing

@testable import Resolver

@Suite("A trace has every step of a resolution, without secrets")
struct TraceTests {
    /// Resolves `name`, and returns the trace: a line for each attempt, and then the notes.
    ///
    /// The line of an attempt is `why name server after .. took .. status: result`; the times are
    /// in milliseconds.
    @ServiceLoop
    private func story(_ harness: ResolverHarness, _ name: Name) async throws -> String {
        let trace = Trace()
        let (start, deadline) = (harness.world.now, harness.world.now + ResolverLimits.total)
        let query = Query(question: Question(name: name, type: .a))
        let operation = harness.world.begin { [resolver = harness.resolver] in
            await resolver.resolve(query, deadline: deadline, trace: trace)
        }
        _ = try await harness.world.value(of: operation)
        await harness.world.advance(by: .seconds(5))
        let attempts = trace.attempts.map { attempt in
            let status = attempt.transfer.map { " \($0.status)" } ?? ""
            let after = (attempt.began - start).milliseconds
            let took = attempt.end.map { ($0.at - attempt.began).milliseconds } ?? -1
            return "\(attempt.why) \(attempt.name) \(attempt.server) after \(after) took \(took)"
                + "\(status): \(attempt.end?.result ?? "")"
        }
        return (attempts + trace.notes).joined(separator: "\n")
    }

    @Test("the trace of an answer has the vendor's records and the TTLs in the cache")
    @ServiceLoop
    func answer() async throws {
        let harness = try ResolverHarness(.tencent)
        _ = try await harness.ask("www.example.com")
        let told = try await story(harness, "www.example.com")
        #expect(
            told == """
                first tencent 192.0.2.11:443 after 0 took 20 200: www.example.com. \
                A 192.0.2.101 192.0.2.102 (60 s), AAAA 2001:db8::101 (120 s), \
                for client 192.0.2.200
                cached www.example.com. A for 60 s
                cached www.example.com. AAAA for 120 s
                """
        )
    }

    @Test
    @ServiceLoop
    func `the trace of a query to an upstream is released after the query`() async throws {
        let harness = try ResolverHarness(.tencent)
        let query = Query(question: Question(name: "www.example.com", type: .txt))
        weak var released: Trace?
        do {
            let trace = Trace()
            released = trace
            let deadline = harness.world.now + ResolverLimits.total
            let operation = harness.world.begin { [resolver = harness.resolver] in
                await resolver.resolve(query, deadline: deadline, trace: trace)
            }
            _ = try await harness.world.value(of: operation)
            #expect(trace.attempts.count == 1)
        }
        await harness.world.advance(by: .seconds(5))
        #expect(released == nil)
    }

    @Test("after a failure, the trace shows the next server, then the upstreams")
    @ServiceLoop
    func failures() async throws {
        let harness = try ResolverHarness(.tencent)
        harness.faults["tencent 1"] = .broken(.connect("refused"))
        harness.faults["tencent 2"] = .silent()
        let told = try await story(harness, "www.example.com")
        #expect(
            told == """
                first tencent 192.0.2.11:443 after 0 took 0: cannot connect: refused
                next tencent 192.0.2.12:443 after 0 took 2000: timed out
                first upstream scripted after 2000 took 10: NOERROR, A 192.0.2.99 (300 s)
                tencent: no answer (timed out)
                no vendor answered: querying upstreams
                cached www.example.com. A for 60 s
                """
        )
    }

    @Test("the trace shows a slow server and the hedged request")
    @ServiceLoop
    func hedge() async throws {
        let harness = try ResolverHarness(.tencent)
        harness.faults["tencent 1"] = .slow(.milliseconds(400))
        let told = try await story(harness, "www.example.com")
        #expect(
            told.hasPrefix(
                """
                first tencent 192.0.2.11:443 after 0 took 400 200: www.example.com. \
                A 192.0.2.101 192.0.2.102 (60 s), AAAA 2001:db8::101 (120 s), \
                for client 192.0.2.200
                hedge tencent 192.0.2.12:443 after 300 took 20 200: www.example.com. \
                A 192.0.2.101 192.0.2.102 (60 s), AAAA 2001:db8::101 (120 s), \
                for client 192.0.2.200
                """
            ),
            "\(told)"
        )
    }

    @Test("the trace has no attempt for a local answer or a skipped vendor")
    @ServiceLoop
    func unasked() async throws {
        let harness = try ResolverHarness(.tencent)
        #expect(try await story(harness, "localhost").isEmpty)
        harness.vendors[0].pause()
        let story = try await story(harness, "www.example.com")
        #expect(story.hasPrefix("first upstream scripted after 0 took 10: NOERROR"), "\(story)")
        #expect(story.contains("tencent: no answer ("))
    }

    @Test("a trace omits the values of URL parameters", arguments: [Account.tencent, .alibaba])
    @ServiceLoop
    func secrets(_ account: Account) async throws {
        let harness = try ResolverHarness(account)
        let trace = Trace()
        let query = Query(question: Question(name: "www.example.com", type: .a))
        let deadline = harness.world.now + ResolverLimits.total
        let operation = harness.world.begin { [resolver = harness.resolver] in
            await resolver.resolve(query, deadline: deadline, trace: trace)
        }
        _ = try await harness.world.value(of: operation)
        let request = try #require(trace.attempts.first?.request)
        #expect(request.hasPrefix("GET http"))
        let parameters = try #require(request.split(separator: "?").last).split(separator: "&")
        #expect(parameters.count > 1 && parameters.allSatisfy { $0.hasSuffix("=…") }, "\(request)")
    }

    @Test("the number of attempts and the number of notes in a trace are limited")
    @ServiceLoop
    func bounded() {
        let (trace, now) = (Trace(), Clock.now)
        for number in 0..<Trace.limit + 3 {
            let place = trace.begin("a", "\(number)", .next, now: now)
            #expect((place == nil) == (number >= Trace.limit))
            place?.end("done", at: now)
            trace.note("\(number)")
        }
        #expect(trace.attempts.count == Trace.limit && trace.notes.count == Trace.limit)
        #expect(trace.leftOut == 6)
    }
}
