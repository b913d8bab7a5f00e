// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import Upstream

/// An upstream that does as it is told, in no time.
private final class ScriptedUpstream: Forwarding {
    let name: String
    let url = "scripted"
    let isProtected = true
    let latency = LatencyHistogram()
    let timeout: Duration
    var numbers = UpstreamNumbers()

    /// The deadlines it was given.
    private(set) var deadlines: [ContinuousClock.Instant] = []

    private let failures: [UpstreamError?]

    /// Fails as said, query by query, and answers where it says nil or nothing.
    init(_ name: String, _ failures: [UpstreamError?] = [], timeout: Duration = .seconds(60)) {
        self.name = name
        self.failures = failures
        self.timeout = timeout
    }

    func exchange(
        _ query: ForwardedQuery,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Message {
        deadlines.append(deadline)
        let round = deadlines.count - 1
        if round < failures.count, let failure = failures[round] { throw failure }
        return Message(header: Header(id: 7))
    }
}

@Suite("A group of upstreams")
struct UpstreamGroupTests {
    init() { ServiceLoop.start() }

    private static let query = ForwardedQuery(
        question: Question(name: "www.example.com", type: .a),
        dnssecOK: false,
        checkingDisabled: false
    )

    @ServiceLoop
    private static func ask(
        _ members: [ScriptedUpstream],
        by deadline: ContinuousClock.Instant
    ) async -> Result<String, UpstreamError> {
        do throws(UpstreamError) {
            let reply = try await UpstreamGroup(members).exchange(query, deadline: deadline)
            return .success(reply.upstream.name)
        } catch {
            return .failure(error)
        }
    }

    @Test
    @ServiceLoop
    func `the first that answers has answered`() async throws {
        let members = [ScriptedUpstream("one"), ScriptedUpstream("two")]
        #expect(await Self.ask(members, by: Clock.now + .seconds(5)) == .success("one"))
        #expect(members.map(\.deadlines.count) == [1, 0])
    }

    @Test(arguments: [
        UpstreamError.timedOut, .unreachable("no route"), .declined(.servFail),
        .declined(.refused), .broken("rubbish"),
    ])
    @ServiceLoop
    func `one that fails is followed by the next`(_ failure: UpstreamError) async throws {
        let members = [
            ScriptedUpstream("one", [failure]), ScriptedUpstream("two", [failure]),
            ScriptedUpstream("three"),
        ]
        #expect(await Self.ask(members, by: Clock.now + .seconds(5)) == .success("three"))
        #expect(members.map(\.deadlines.count) == [1, 1, 1])
    }

    @Test
    @ServiceLoop
    func `after the last comes the first once more, and then nobody`() async throws {
        let members = [
            ScriptedUpstream("one", [.timedOut, .declined(.servFail), nil]),
            ScriptedUpstream("two", [.timedOut, .broken("last"), nil]),
        ]
        #expect(
            await Self.ask(members, by: Clock.now + .seconds(5)) == .failure(.broken("last"))
        )
        #expect(members.map(\.deadlines.count) == [2, 2])

        let recovering = [
            ScriptedUpstream("one", [.timedOut, nil]), ScriptedUpstream("two", [.timedOut]),
        ]
        #expect(await Self.ask(recovering, by: Clock.now + .seconds(5)) == .success("one"))
        #expect(recovering.map(\.deadlines.count) == [2, 1])
    }

    @Test
    @ServiceLoop
    func `nobody is asked when there is no time left`() async throws {
        let members = [ScriptedUpstream("one")]
        #expect(await Self.ask(members, by: Clock.now - .seconds(1)) == .failure(.timedOut))
        #expect(members[0].deadlines.isEmpty)
    }

    @Test
    @ServiceLoop
    func `each has its share of the time that is left`() async throws {
        let members = (0..<4).map { ScriptedUpstream("\($0)", [.timedOut]) }
        let start = Clock.now
        let end = start + .seconds(8)
        #expect(await Self.ask(members, by: end) == .success("0"))
        let after = Clock.now
        for (index, member) in members.enumerated() {
            // What is left is divided among those that were not asked yet.
            let count = 4 - index
            #expect(member.deadlines[0] >= start + (end - start) / count)
            #expect(member.deadlines[0] <= after + (end - after) / count)
        }
        // The last one of a round may take all that is left.
        #expect(members[3].deadlines[0] == end)
    }

    @Test
    @ServiceLoop
    func `no one is waited for longer than the settings allow`() async throws {
        let member = ScriptedUpstream("one", timeout: .milliseconds(500))
        let start = Clock.now
        _ = await Self.ask([member], by: start + .seconds(8))
        #expect(member.deadlines[0] >= start + .milliseconds(500))
        #expect(member.deadlines[0] <= Clock.now + .milliseconds(500))
    }

    @Test(arguments: [
        (UpstreamError.timedOut, "timeout", "timed out"),
        (.unreachable("connect: refused"), "unreachable", "connect: refused"),
        (.declined(.servFail), "declined", "answered SERVFAIL"),
        (.broken("closed"), "broken", "closed"),
    ])
    func `failures have a name to be counted by and words to be read`(
        _ failure: UpstreamError,
        _ kind: String,
        _ words: String
    ) {
        #expect(failure.kind == kind)
        #expect(failure.description == words)
    }
}
