// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import Resolver
import Testing

@testable import Frontend

@Suite("Queries that workers hand to the service loop", .timeLimit(.minutes(15)))
struct ListeningDeskTests {
    @ServiceLoop
    private static func reply(
        _ octets: [UInt8],
        at harness: ListenerHarness,
        over transport: QueryTransport = .udp,
        isAllowed: Bool = true
    ) async throws -> Message? {
        let clientContext = ClientContext(
            transport: transport,
            address: .v4(IPv4Address(value: 0xC000_0207)),
            isAllowed: isAllowed
        )
        return switch harness.handler.look(at: octets, from: clientContext, arrival: Clock.now) {
        case .nothing: nil
        case .reply(let reply), .malformed(let reply): try Message(parsing: reply)
        case .question(let open): try Message(parsing: await harness.handler.resolve(open))
        }
    }

    @Test
    @ServiceLoop
    func `a miss is resolved, and the next query is a hit`() async throws {
        let harness = ListenerHarness()
        for _ in 0..<2 {
            let message = try #require(
                try await Self.reply(query("wWw.example.com", id: 77), at: harness)
            )
            #expect(message.header.id == 77)
            #expect(message.questions[0].name.octets == (try Name("wWw.example.com")).octets)
            #expect(message.answers.count == 1)
        }
        #expect(harness.counted.bySource["upstream"] == 1)
        #expect(harness.counted.bySource["cache"] == 1)
        #expect(harness.counted.total == 2)
        #expect(harness.handler.inFlight == 0)
    }

    @Test
    @ServiceLoop
    func `a query with unusual EDNS options is answered like a plain query`() async throws {
        let harness = ListenerHarness()
        let octets = try query("www.example.com", id: 5) { message in
            message.additionals = [
                Record(
                    name: .root,
                    type: .tsig,
                    recordClass: .any,
                    ttl: 0,
                    data: .opaque([1, 2, 3])
                )
            ]
            message.edns = EDNS(udpPayloadSize: 1400)
            message.edns?.dnssecOK = true
        }
        let message = try #require(try await Self.reply(octets, at: harness))
        #expect(message.header.id == 5)
        #expect(message.answers.count == 1)
        #expect(message.edns?.dnssecOK == true)
        #expect(message.additionals.isEmpty)
    }

    @Test(arguments: [(100, RCode.noError), (5_000, .formErr)] as [(Int, RCode)])
    @ServiceLoop
    func `a query of an unusual form with more than 4 KiB gets FORMERR`(
        _ size: Int,
        _ rcode: RCode
    ) async throws {
        let harness = ListenerHarness()
        let octets = try query("www.example.com") { message in
            message.additionals = [
                Record(
                    name: .root,
                    type: .tsig,
                    recordClass: .any,
                    ttl: 0,
                    data: .opaque(Array(repeating: 0, count: size))
                )
            ]
        }
        #expect(try await Self.reply(octets, at: harness, over: .tcp)?.rcode == rcode)
    }

    @Test(arguments: [QueryTransport.udp, .tcp])
    @ServiceLoop
    func `AD is set for clients that request it, also with unusual options (RFC 6840 §5.8)`(
        _ transport: QueryTransport
    ) async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com", isAuthentic: true)
        for (isRare, knowsAD) in [(false, false), (false, true), (true, false), (true, true)] {
            let octets = try query("www.example.com") { message in
                message.header.authenticData = knowsAD
                guard isRare else { return }
                message.additionals = [
                    Record(
                        name: .root,
                        type: .tsig,
                        recordClass: .any,
                        ttl: 0,
                        data: .opaque([1, 2, 3])
                    )
                ]
            }
            let reply = try await Self.reply(octets, at: harness, over: transport)
            #expect(reply?.header.authenticData == knowsAD, "\(isRare)")
        }
    }

    @Test
    @ServiceLoop
    func `a malformed query with unusual options is counted as malformed`() async throws {
        let harness = ListenerHarness()
        var octets = try query("www.example.com")
        octets[7] = 1
        let message = try #require(try await Self.reply(octets, at: harness))
        #expect(message.rcode == .formErr)
        #expect(harness.counted.byOutcome["formerr"] == 1)
    }

    @Test
    @ServiceLoop
    func `a long answer is complete over TCP and truncated over UDP`() async throws {
        let harness = ListenerHarness()
        try harness.store("big.example.com", addresses: 100)
        let octets = try query("big.example.com")
        let cut = try #require(try await Self.reply(octets, at: harness))
        #expect(cut.header.isTruncated)
        #expect(cut.answers.isEmpty)
        let whole = try #require(try await Self.reply(octets, at: harness, over: .tcp))
        #expect(!whole.header.isTruncated)
        #expect(whole.answers.count == 100)
        #expect(harness.counted.truncated == 1)
        #expect(harness.counted.byTransport == ["udp": 1, "tcp": 1])
    }

    @Test
    @ServiceLoop
    func `a client without access is refused even if the answer is cached`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let message = try #require(
            try await Self.reply(query("www.example.com"), at: harness, isAllowed: false)
        )
        #expect(message.rcode == .refused)
        #expect(harness.counted.bySource["refused"] == 1)
    }

    @Test
    @ServiceLoop
    func `the handler counts messages that are not queries separately`() async throws {
        let harness = ListenerHarness()
        #expect(try await Self.reply([1, 2, 3], at: harness) == nil)
        #expect(harness.counted.ignored == 1)
        #expect(harness.counted.total == 0)
    }

    @Test
    @ServiceLoop
    func `a query is accepted although another client has reached its limit`() async throws {
        let harness = ListenerHarness()
        let limit = ResolverLimits.inFlight.perClient
        let tasks = try (0..<limit).map { index in
            let octets = try query("slow.n\(index).example.com")
            return Task { @ServiceLoop in _ = try await Self.reply(octets, at: harness) }
        }
        await harness.upstream.crowd(of: limit)
        let octets = try query("one.more.example.com") { $0.edns = EDNS() }
        // Over UDP, another host may have forged the client's address, so the client must repeat
        // its query over TCP, where its address is proven.
        let refused = try #require(try await Self.reply(octets, at: harness))
        #expect(refused.rcode == .noError && refused.header.isTruncated)
        #expect(harness.resolver.statistics.evicted == 1)
        let other = try await Self.reply(octets, at: harness, over: .tcp)
        #expect(other?.rcode == .noError)
        harness.upstream.release()
        for task in tasks { try await task.value }
        await harness.handler.drained(by: Clock.now + .seconds(300))
        #expect(harness.handler.inFlight == 0)
    }

    @Test
    @ServiceLoop
    func `at a crowded upstream, only a client with a verified address gets SERVFAIL`() async throws
    {
        let harness = ListenerHarness()
        let octets = try query("crowded.example.com")
        let unverified = try #require(try await Self.reply(octets, at: harness))
        #expect(unverified.header.isTruncated && unverified.rcode == .noError)
        let verified = try #require(try await Self.reply(octets, at: harness, over: .tcp))
        #expect(!verified.header.isTruncated && verified.rcode == .servFail)
    }

    @Test
    @ServiceLoop
    func `draining ends after the last answer, or at the deadline`() async throws {
        let harness = ListenerHarness()
        await harness.handler.drained(by: Clock.now + .seconds(60))
        let octets = try query("slow.example.com")
        let task = Task { @ServiceLoop in _ = try await Self.reply(octets, at: harness) }
        await harness.upstream.crowd(of: 1)
        await harness.handler.drained(by: Clock.now + .milliseconds(20))
        #expect(harness.handler.inFlight == 1)
        let drained = Task { @ServiceLoop in
            await harness.handler.drained(by: Clock.now + .seconds(120))
        }
        await Task.yield()
        harness.upstream.release()
        await drained.value
        try await task.value
        #expect(harness.handler.inFlight == 0)
    }

    @Test
    @ServiceLoop
    func `a resolver that a reload has replaced is released after its queries`() async throws {
        weak var former: Resolver?
        do {
            let harness = ListenerHarness()
            former = harness.resolver
            let look = harness.handler.look(
                at: try query("www.example.com"),
                from: ClientContext(
                    transport: .udp,
                    address: .v4(IPv4Address(value: 0xC000_0207)),
                    isAllowed: true
                ),
                arrival: Clock.now
            )
            guard case .question(let open) = look else {
                Issue.record("the query needs no answer")
                return
            }
            _ = await harness.handler.resolve(open)
        }
        for _ in 0..<1_000 where former != nil { await Task.yield() }
        #expect(former == nil)
    }
}
