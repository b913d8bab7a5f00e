// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Synchronization
import TestWorld
import Testing

@testable import Upstream

@Suite("An upstream over UDP and TCP", .timeLimit(.minutes(15)))
struct PlainTransportTests {
    @ServiceLoop
    private static func upstream(
        _ address: SocketAddress,
        timeout: Duration
    ) -> Forwarder {
        Forwarder(
            name: "it",
            url: "udp://\(address)",
            timeout: timeout,
            over: PlainTransport(to: address)
        )
    }

    private static let query = Query(
        question: Question(name: "www.example.com", type: .a),
        dnssecOK: false,
        checkingDisabled: false
    )

    @ServiceLoop
    private static func ask(
        _ script: @escaping ScriptedServer.Datagrams,
        stream: ScriptedServer.Stream? = nil,
        within time: Duration = .seconds(20)
    ) async throws -> (result: Result<Message, UpstreamError>, numbers: UpstreamNumbers, tcp: Int) {
        let server = try ScriptedServer(script, stream: stream)
        defer { server.stop() }
        let upstream = Self.upstream(server.address, timeout: .seconds(2))
        let result = await result(upstream, within: time)
        return (result, upstream.numbers, server.connections)
    }

    @ServiceLoop
    private static func result(
        _ upstream: Forwarder,
        within time: Duration = .seconds(20)
    ) async -> Result<Message, UpstreamError> {
        do throws(UpstreamError) {
            return .success(try await upstream.exchange(query, deadline: Clock.now + time))
        } catch {
            return .failure(error)
        }
    }

    @Test
    @ServiceLoop
    func `the transport returns and counts a reply`() async throws {
        let (result, numbers, tcp) = try await Self.ask { [reply(to: $0)] }
        #expect(try result.get().answers.count == 1)
        #expect(numbers.queries == 1)
        #expect(numbers.successes == 1)
        #expect(numbers.failures == [:])
        #expect(numbers.foreignReplies == 0)
        #expect(tcp == 0)
    }

    @Test
    @ServiceLoop
    func `forged replies before the right reply are ignored`() async throws {
        let (result, numbers, tcp) = try await Self.ask { query in
            [
                reply(to: query) { message in
                    message.header.id &+= 1
                    message.answers = []
                },
                reply(to: query) { $0.questions[0].name = "www.example.org" },
                reply(to: query) { $0.questions[0].type = .txt },
                reply(to: query) { $0.header.isResponse = false },
                [], [UInt8](repeating: 0xFF, count: 700),
                reply(to: query) { message in
                    message.header.id ^= 0xFFFF
                    message.header.isTruncated = true
                },
                reply(to: query),
            ]
        }
        #expect(try result.get().answers.count == 1)
        #expect(numbers.foreignReplies == 7)
        #expect(numbers.tcpRetries == 0)
        #expect(tcp == 0)
    }

    @Test
    @ServiceLoop
    func `duplicated replies do not count as forged`() async throws {
        let server = try ScriptedServer { [[UInt8]](repeating: reply(to: $0), count: 12) }
        defer { server.stop() }
        let upstream = Self.upstream(server.address, timeout: .seconds(20))
        var queries: [Task<Result<Message, UpstreamError>, Never>] = []
        for _ in 0..<64 {
            queries.append(Task { @ServiceLoop in await Self.result(upstream) })
        }
        for query in queries { #expect(try await query.value.get().answers.count == 1) }
        #expect(upstream.numbers.foreignReplies == 0)
        #expect(upstream.numbers.tcpRetries == 0)
    }

    @Test
    @ServiceLoop
    func `after eight replies with a wrong ID, the query is sent over TCP`() async throws {
        let (result, numbers, tcp) = try await Self.ask(
            { query in
                (1...20).map { number in reply(to: query) { $0.header.id &+= UInt16(number) } }
            },
            stream: { framed(reply(to: $0)) }
        )
        #expect(try result.get().answers.count == 1)
        #expect(numbers.foreignReplies == 8)
        #expect(numbers.tcpRetries == 1)
        #expect(tcp == 1)
    }

    @Test
    @ServiceLoop
    func `a query without a reply, or with only forged replies, times out`() async throws {
        let scripts: [(String, ScriptedServer.Datagrams)] = [
            ("silence", { _ in [] }),
            ("forgeries", { query in [reply(to: query) { $0.header.id &+= 1 }] }),
        ]
        for (label, script) in scripts {
            let (result, numbers, _) = try await Self.ask(script, within: .milliseconds(60))
            #expect(throws: UpstreamError.timedOut, "\(label)") { try result.get() }
            #expect(numbers.failures == ["timeout": 1])
            #expect(numbers.lastError == .timedOut)
            #expect(numbers.lastErrorAt != nil)
        }
    }

    @Test
    @ServiceLoop
    func `a query to a closed port fails immediately`() async throws {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        var address = any
        do {
            address = try DatagramListener(binding: any, shared: false).address
        }
        let upstream = Self.upstream(address, timeout: .seconds(60))
        // If the transport ignored the ICMP error, the test would reach its time limit.
        let result = await Self.result(upstream, within: .seconds(120))
        guard case .failure(.unreachable(let why)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(why.contains("refused"))
        #expect(upstream.numbers.failures == ["unreachable": 1])
    }

    @Test(arguments: [RCode.servFail, .refused, .formErr, .notImp])
    @ServiceLoop
    func `SERVFAIL, REFUSED, FORMERR and NOTIMP are failures`(_ rcode: RCode) async throws {
        let (result, numbers, _) = try await Self.ask { query in
            [
                reply(to: query) { message in
                    message.rcode = rcode
                    message.answers = []
                }
            ]
        }
        #expect(throws: UpstreamError.declined(rcode)) { try result.get() }
        #expect(numbers.failures == ["declined": 1])
        #expect(numbers.successes == 0)
    }

    @Test(arguments: [RCode.formErr, .notImp])
    @ServiceLoop
    func `a server without TCP that rejects EDNS with only a header gets the name without EDNS`(
        _ rcode: RCode
    ) async throws {
        let (result, _, _) = try await Self.ask { query in
            let hasEDNS = (try? Message(parsing: query))?.edns != nil
            let error = query.prefix(2) + [0x81, 0x80 | UInt8(rcode.rawValue)]
            return [hasEDNS ? error + [UInt8](repeating: 0, count: 8) : reply(to: query)]
        }
        #expect(try result.get().answers.count == 1)
    }

    @Test
    @ServiceLoop
    func `NXDOMAIN is not a failure of the upstream`() async throws {
        let (result, numbers, _) = try await Self.ask { query in
            [
                reply(to: query) { message in
                    message.rcode = .nxDomain
                    message.answers = []
                }
            ]
        }
        #expect(try result.get().rcode == .nxDomain)
        #expect(numbers.successes == 1)
    }

    private static let first: [(String, @Sendable (inout Message) -> Void)] = [
        ("cut", { $0.header.isTruncated = true }),
        ("in another case", { $0.questions[0].name = $0.questions[0].name.respelt }),
    ]

    @Test(arguments: [0, 1])
    @ServiceLoop
    func `after a reply that is truncated or has changed letter case, the query uses TCP`(
        _ index: Int
    ) async throws {
        let (label, change) = Self.first[index]
        let (result, numbers, tcp) = try await Self.ask(
            { query in [reply(to: query, change)] },
            stream: { query in
                framed(
                    reply(to: query) { message in
                        message.answers += message.answers
                        if index == 1 {
                            message.questions[0].name = message.questions[0].name.respelt
                        }
                    }
                )
            }
        )
        #expect(try result.get().answers.count == 2, "\(label)")
        #expect(numbers.tcpRetries == 1)
        #expect(numbers.queries == 1)
        #expect(numbers.successes == 1)
        #expect(tcp == 1)
    }

    @Test
    @ServiceLoop
    func `a replaced transport is released when its last query is cancelled`() async throws {
        let server = try ScriptedServer { _ in [] }
        defer { server.stop() }
        let signals = (0..<256).map { _ in CancellationSignal() }
        var ended = 0
        do {
            let transport = PlainTransport(to: server.address)
            for signal in signals {
                transport.carry(
                    Attempt(
                        Self.query,
                        deadline: Clock.now + .seconds(20),
                        cancellation: signal,
                        Completion { _ in ended += 1 }
                    )
                )
            }
        }
        for signal in signals { signal.cancel() }
        #expect(ended == signals.count)
    }

    private static func changedCase(_ query: [UInt8]) -> [[UInt8]] {
        [reply(to: query) { $0.questions[0].name = $0.questions[0].name.respelt }]
    }

    @Test
    @ServiceLoop
    func `replies of a server that changes the case of each name and has no TCP are accepted`()
        async throws
    {
        let server = try ScriptedServer(Self.changedCase)
        defer { server.stop() }
        let upstream = Self.upstream(server.address, timeout: .seconds(20))
        for _ in 0..<2 {
            #expect(try await Self.result(upstream).get().answers.count == 1)
            #expect(upstream.numbers.tcpRetries == 1)
        }
        // After a network change, the address may belong to a different server, so the daemon
        // checks the server again.
        upstream.networkChanged()
        #expect(try await Self.result(upstream).get().answers.count == 1)
        #expect(upstream.numbers.tcpRetries == 2)
    }

    @Test
    @ServiceLoop
    func `if the probe of the mixed-case check is lost, the next query causes another probe`()
        async throws
    {
        let probes = Count()
        let server = try ScriptedServer { query in
            let question = (try? Message(parsing: query))?.question
            let isLost =
                question == Query.otherProbe.question
                && probes.value.add(1, ordering: .relaxed).oldValue == 0
            return isLost ? [] : Self.changedCase(query)
        }
        defer { server.stop() }
        let upstream = Self.upstream(server.address, timeout: .milliseconds(700))
        _ = await Self.result(upstream)
        #expect(try await Self.result(upstream).get().answers.count == 1)
        #expect(probes.value.load(ordering: .relaxed) == 2)
    }

    @Test
    @ServiceLoop
    func `a query that waits for the mixed-case check ends at its own deadline`()
        async throws
    {
        let server = try ScriptedServer { query in
            let question = (try? Message(parsing: query))?.question
            return question == Query.otherProbe.question ? [] : Self.changedCase(query)
        }
        defer { server.stop() }
        let clock = TestClock()
        let transport = PlainTransport(to: server.address, clocks: clock.clocks)
        var ended: [Int64] = []
        for (index, seconds) in ([300, 200, 100] as [Int64]).enumerated() {
            transport.carry(
                Attempt(
                    Self.query,
                    deadline: clock.now + .seconds(seconds),
                    Completion { _ in ended.append(seconds) }
                )
            )
            while transport.undecided.count == index { await Task.yield() }
        }
        for expected in [[100], [100, 200], [100, 200, 300]] as [[Int64]] {
            clock.advance(by: 100)
            #expect(ended == expected)
        }
    }

    @Test
    @ServiceLoop
    func `changed letter case is rejected if the server keeps the letter case of the probe`()
        async throws
    {
        let server = try ScriptedServer { query in
            let question = (try? Message(parsing: query))?.question
            return question == Query.otherProbe.question
                ? [reply(to: query)] : Self.changedCase(query)
        }
        defer { server.stop() }
        let upstream = Self.upstream(server.address, timeout: .seconds(20))
        for count in 1...2 {
            guard case .failure(.unreachable) = await Self.result(upstream) else {
                Issue.record("a reply with changed case is accepted")
                return
            }
            #expect(upstream.numbers.tcpRetries == UInt64(count))
        }
    }

    private static let broken: [(String, ScriptedServer.Stream)] = [
        ("closes immediately", { _ in [] }),
        ("closes in the length", { _ in [0] }),
        ("closes in the message", { query in Array(framed(reply(to: query)).dropLast()) }),
        ("sends another ID", { query in framed(reply(to: query) { $0.header.id &+= 1 }) }),
        (
            "sends another name",
            { query in
                framed(reply(to: query) { $0.questions[0].name = "www.example.org" })
            }
        ),
        ("sends garbage", { _ in framed([UInt8](repeating: 0xC0, count: 30)) }),
        ("sends nothing, and says so", { _ in [0, 0] }),
        (
            "is cut over TCP, too",
            { query in framed(reply(to: query) { $0.header.isTruncated = true }) }
        ),
        (
            "is cut over TCP and in another case",
            { query in
                framed(
                    reply(to: query) { message in
                        message.header.isTruncated = true
                        message.questions[0].name = message.questions[0].name.respelt
                    }
                )
            }
        ),
    ]

    @Test(arguments: broken.indices)
    @ServiceLoop
    func `an invalid reply over TCP is a failure`(_ index: Int) async throws {
        let (label, stream) = Self.broken[index]
        let (result, numbers, _) = try await Self.ask(
            { query in [reply(to: query) { $0.header.isTruncated = true }] },
            stream: stream
        )
        guard case .failure(.broken) = result else {
            Issue.record("\(label): \(result)")
            return
        }
        #expect(numbers.failures == ["broken": 1])
        #expect(numbers.tcpRetries == 1)
    }

    @Test
    @ServiceLoop
    func `an upstream with a closed TCP port is unreachable`() async throws {
        let (result, numbers, _) = try await Self.ask { query in
            [reply(to: query) { $0.header.isTruncated = true }]
        }
        guard case .failure(.unreachable) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(numbers.failures == ["unreachable": 1])
    }

    @Test
    @ServiceLoop
    func `consecutive failures are counted until the next success`() async throws {
        let round = Rounds()
        let server = try ScriptedServer { query in
            let isGood = round.next() == 2
            return [reply(to: query) { if !isGood { $0.rcode = .servFail } }]
        }
        defer { server.stop() }
        let upstream = Self.upstream(server.address, timeout: .seconds(2))
        var rows: [UInt64] = []
        for _ in 0..<4 {
            _ = await Self.result(upstream)
            rows.append(upstream.numbers.consecutiveFailures)
        }
        #expect(rows == [1, 2, 0, 1])
        #expect(upstream.numbers.queries == 4)
        #expect(upstream.numbers.failures == ["declined": 3])
        #expect(upstream.numbers.successes == 1)
    }

    private final class Rounds: Sendable {
        private let round = Atomic(0)
        func next() -> Int { round.add(1, ordering: .relaxed).oldValue }
    }

    @Test
    @ServiceLoop
    func `each of many concurrent queries gets its own reply`() async throws {
        let server = try ScriptedServer { query in
            [
                reply(to: query) { message in
                    let label = message.questions[0].name.octets[1]
                    message.answers = [
                        Record(
                            name: message.questions[0].name,
                            ttl: 1,
                            data: .a(IPv4Address(value: UInt32(label & 0xDF)))
                        )
                    ]
                }
            ]
        }
        defer { server.stop() }
        let upstream = Self.upstream(server.address, timeout: .seconds(2))
        let tasks = (UInt8(0x61)...0x7A).map { letter in
            Task { @ServiceLoop in
                let query = Query(
                    question: Question(name: try Name(wire: [1, letter, 0]), type: .a),
                    dnssecOK: false,
                    checkingDisabled: false
                )
                let deadline = Clock.now + .seconds(300)
                let message = try await upstream.exchange(query, deadline: deadline)
                let expected = IPv4Address(value: UInt32(letter & 0xDF))
                #expect(message.answers.first?.data == .a(expected))
            }
        }
        for task in tasks { try await task.value }
        #expect(upstream.numbers.successes == 26)
    }

    @Test(arguments: [true, false])
    @ServiceLoop
    func `after lost datagrams, a query uses TCP, and an error over TCP counts as a timeout`(
        _ hasTCP: Bool
    ) async throws {
        let stream: ScriptedServer.Stream = { framed(reply(to: $0)) }
        let server = try ScriptedServer({ _ in [] }, stream: hasTCP ? stream : nil)
        defer { server.stop() }
        let upstream = Self.upstream(server.address, timeout: .seconds(2))
        let outcome = await withCheckedContinuation { continuation in
            let attempt = Attempt(Self.query, cancellation: nil)
            attempt.prepare(
                deadline: Clock.now + .seconds(20),
                repeating: nil,
                usesStream: true,
                Completion<Attempt> { continuation.resume(returning: $0.outcome) }
            )
            upstream.ask(attempt)
        }
        if hasTCP {
            #expect(try outcome.get().message(to: Self.query.question).answers.count == 1)
        } else {
            #expect(throws: UpstreamError.timedOut) { try outcome.get() }
        }
        #expect(upstream.numbers.tcpRetries == 1)
    }
}
