// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import Testing

@testable import Frontend
@testable import Resolver

@Suite("Shares of TCP resources per client", .timeLimit(.minutes(15)))
struct ListeningShareTests {
    private static let patience: Duration = .seconds(300)

    @Test
    @ServiceLoop
    func `if a client has too many sessions, the oldest one is closed even with a pending query`()
        async throws
    {
        let harness = ListenerHarness()
        let clock = StandingClock()
        let (server, first) = try await ListeningSessionTests.connect(
            harness,
            clocks: clock.clocks
        )
        defer { server.stop() }
        var clients = [first]
        for number in 0..<TCPLimits.connectionsPerClient {
            clock.advance(by: .milliseconds(1))
            let last = clients[clients.count - 1]
            try await last.write(
                framed(query("slow.n\(number).example.com")),
                deadline: Clock.now + Self.patience
            )
            await harness.upstream.crowd(of: number + 1)
            clients.append(
                try await StreamConnection.connect(
                    to: server.address,
                    deadline: Clock.now + Self.patience
                )
            )
        }
        #expect(try await ListeningSessionTests.read(from: first).isEmpty)
        #expect(harness.handler.sessions.evicted == 1)
        harness.upstream.release()
        let second = clients[1]
        #expect(try await ListeningSessionTests.read(1, from: second).count == 1)
    }

    @Test
    @ServiceLoop
    func `pipelined queries of many sessions do not keep the loop from other work`() async throws {
        let harness = ListenerHarness()
        let (server, first) = try await ListeningSessionTests.connect(harness)
        defer { server.stop() }
        let questions = Array(repeating: framed(try query("x.invalid")), count: 500)
            .flatMap(\.self)
        var clients = [first]
        for _ in 1..<8 {
            clients.append(
                try await StreamConnection.connect(
                    to: server.address,
                    deadline: Clock.now + Self.patience
                )
            )
        }
        for client in clients {
            try await client.write(questions, deadline: Clock.now + Self.patience)
        }
        let most = await ServiceLoop.task {
            var (answered, most): (UInt64, UInt64) = (0, 0)
            while answered < 8 * 500 {
                await Task.yield()
                let now = harness.counted.total
                (answered, most) = (now, max(most, now - answered))
            }
            return most
        }.value
        #expect(most <= 8 * UInt64(TCPLimits.answersPerTurn))
    }

    @Test
    @ServiceLoop
    func `an idle session is closed before a session with a pending query`() async throws {
        let harness = ListenerHarness()
        let clock = StandingClock()
        let (server, first) = try await ListeningSessionTests.connect(
            harness,
            clocks: clock.clocks
        )
        defer { server.stop() }
        try await first.write(
            framed(query("slow.example.com")),
            deadline: Clock.now + Self.patience
        )
        await harness.upstream.crowd(of: 1)
        clock.advance(by: .milliseconds(1))
        var idle: [StreamConnection] = []
        while harness.handler.sessions.evicted == 0 {
            clock.advance(by: .milliseconds(10))
            idle.append(
                try await StreamConnection.connect(
                    to: server.address,
                    deadline: Clock.now + Self.patience
                )
            )
            try #require(idle.count <= TCPLimits.connectionsPerClient)
            while harness.handler.sessions.count + Int(harness.handler.sessions.evicted)
                <= idle.count
            {
                await Task.yield()
            }
        }
        harness.upstream.release()
        #expect(try await ListeningSessionTests.read(1, from: first).count == 1)
    }

    @Test
    @ServiceLoop
    func `new sessions are served if many clients occupy all sessions with unanswered queries`()
        async throws
    {
        let table = try SessionTableHarness()
        defer { table.close() }
        for number in 0..<TCPLimits.connections {
            let holder = try await table.connect(from: UInt32(number))
            try await holder.write(
                framed(query("slow.n\(number).example.com")),
                deadline: Clock.now + Self.patience
            )
        }
        await table.harness.upstream.crowd(of: TCPLimits.connections)
        var newcomers: [StreamConnection] = []
        for number in 0..<32 {
            table.clock.advance(by: .milliseconds(5))
            newcomers.append(try await table.connect(from: 1_000 + UInt32(number) / 2))
        }
        for (number, newcomer) in newcomers.enumerated() {
            try await newcomer.write(
                framed(query("n\(number).example.com")),
                deadline: Clock.now + Self.patience
            )
            #expect(try await ListeningSessionTests.read(1, from: newcomer).count == 1)
        }
        #expect(table.harness.handler.sessions.evicted == 32)
    }

    @Test
    @ServiceLoop
    func `clients that allow excludes share 16 sessions, and lose these sessions first`()
        async throws
    {
        let table = try SessionTableHarness()
        defer { table.close() }
        let count = TCPLimits.excludedConnections
        for number in 0..<2 * UInt32(count) {
            _ = try await table.connect(from: 2_000 + number, isAllowed: false)
        }
        let sessions = table.harness.handler.sessions
        #expect((sessions.count, sessions.evicted) == (count, UInt64(count)))
        var holders: [StreamConnection] = []
        for number in 0..<TCPLimits.connections {
            let holder = try await table.connect(from: UInt32(number))
            try await holder.write(
                framed(query("slow.n\(number).example.com")),
                deadline: Clock.now + Self.patience
            )
            holders.append(holder)
        }
        await table.harness.upstream.crowd(of: TCPLimits.connections)
        #expect(sessions.count == TCPLimits.connections)
        _ = try await table.connect(from: 3_000, isAllowed: false)
        #expect(sessions.evicted == 2 * UInt64(count) + 1)
        table.harness.upstream.release()
        for holder in holders {
            #expect(try await ListeningSessionTests.read(1, from: holder).count == 1)
        }
    }

    @Test
    @ServiceLoop
    func `sessions that stay silent or only query cached names are closed before others`()
        async throws
    {
        let table = try SessionTableHarness()
        defer { table.close() }
        try table.harness.store("www.example.com")
        let slow = try await table.connect(from: 1)
        try await slow.write(framed(query("slow.example.com")), deadline: Clock.now + Self.patience)
        await table.harness.upstream.crowd(of: 1)
        for number in 1..<TCPLimits.connections {
            table.clock.advance(by: .milliseconds(5))
            let other = try await table.connect(from: 1 + UInt32(number))
            guard !number.isMultiple(of: 2) else { continue }
            try await other.write(
                framed(query("www.example.com")),
                deadline: Clock.now + Self.patience
            )
            #expect(try await ListeningSessionTests.read(1, from: other).count == 1)
        }
        table.clock.advance(by: TCPLimits.firstMessageTime)
        for number in 1..<TCPLimits.connections {
            _ = try await table.connect(from: 1_000 + UInt32(number))
        }
        table.harness.upstream.release()
        #expect(try await ListeningSessionTests.read(1, from: slow).count == 1)
    }

    @Test(arguments: ["empty", "garbage", "malformed", "replies"])
    @ServiceLoop
    func `a session without valid queries is closed`(_ kind: String) async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let (server, client) = try await ListeningSessionTests.connect(harness)
        defer { server.stop() }
        let question = try query("www.example.com", id: 1)
        let frame =
            switch kind {
            case "empty": framed([])
            case "garbage": framed([1, 2, 3])
            case "malformed": framed(question.dropLast())
            default: framed(try query("www.example.com") { $0.header.isResponse = true })
            }
        let few = Array(repeating: frame, count: TCPLimits.malformed - 1).flatMap(\.self)
        for _ in 0..<2 {
            try await client.write(few + framed(question), deadline: Clock.now + Self.patience)
            var rcode: RCode?
            while rcode != .noError {
                rcode = try await ListeningSessionTests.read(1, from: client).last?.rcode
                try #require(rcode != nil)
            }
        }
        #expect(harness.handler.sessions.malformed == 0)
        try await client.write(few + frame, deadline: Clock.now + Self.patience)
        let replies = try await ListeningSessionTests.read(from: client)
        #expect(replies.allSatisfy { $0.rcode == .formErr })
        #expect(harness.handler.sessions.malformed == 1)
    }

    @Test
    @ServiceLoop
    func `sessions with too many buffered octets are closed, the client's largest first`()
        async throws
    {
        let harness = ListenerHarness()
        try harness.store("big.example.com", addresses: 4_000)
        let (server, first) = try await ListeningSessionTests.connect(harness)
        defer { server.stop() }
        var questions: [UInt8] = []
        for id in UInt16(0)..<60 {
            questions += framed(try query("big.example.com", id: id))
        }
        var clients = [first]
        while harness.handler.sessions.overfull == 0 {
            let last = clients[clients.count - 1]
            _ = try? await last.write(questions, deadline: Clock.now + Self.patience)
            clients.append(
                try await StreamConnection.connect(
                    to: server.address,
                    deadline: Clock.now + Self.patience
                )
            )
            #expect(harness.handler.sessions.octets <= TCPLimits.heldPerClient)
            try #require(clients.count < 100)
        }
        #expect(harness.handler.sessions.octets <= TCPLimits.heldPerClient)
        for client in clients { client.close() }
        while harness.handler.sessions.count > 0 { await Task.yield() }
        #expect(harness.handler.sessions.octets == 0)
    }

    @Test
    @ServiceLoop
    func `the octets of one answer for many queries are buffered once`() throws {
        let question = Question(name: try Name("big.example.com"), type: .a)
        let harness = ListenerHarness()
        let octets = try query("big.example.com")
        let clientContext = ClientContext(
            transport: .tcp,
            address: .v4(IPv4Address(value: 0xC000_0207)),
            isAllowed: true
        )
        let look = harness.handler.look(at: octets, from: clientContext, arrival: Clock.now)
        guard case .question(let open) = look else {
            Issue.record("the query needs no answer")
            return
        }
        let addresses = (0..<1_000).map { IPAddress.v4(IPv4Address(value: 0xC633_0000 + $0)) }
        let answer = {
            try Resolution(question, addresses: addresses, ttl: 60, provenance: .local)
        }
        let (big, other) = (try answer(), try answer())
        var ready = ReadyReplies()
        for _ in 0..<100 { ready.append(open, big) }
        let size = big.sections.octets.count
        #expect(ready.octets < 2 * size + 100 * TCPLimits.replyOverhead)
        ready.append(open, other)
        #expect(ready.octets > 2 * size)
        for _ in 0..<99 { _ = ready.pop() }
        #expect(ready.octets > 2 * size)
        _ = ready.pop()
        #expect(ready.octets < 2 * size)
        #expect(ready.pop() != nil)
        #expect(ready.octets == 0)
        #expect(ready.isEmpty)
    }
}

/// Sessions with chosen client addresses, because all loopback addresses count as one client.
@ServiceLoop
private final class SessionTableHarness {
    let harness = ListenerHarness()
    let clock = StandingClock()

    private let listener: StreamListener
    private let address: SocketAddress
    private var sessions: [TCPSession] = []

    /// Client ends of the connections, stored here because a released connection is closed.
    private var clients: [StreamConnection] = []

    init() throws {
        listener = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        address = try #require(listener.localAddress)
    }

    func connect(from client: UInt32, isAllowed: Bool = true) async throws -> StreamConnection {
        let connection = try await StreamConnection.connect(
            to: address,
            deadline: Clock.now + .seconds(300)
        )
        let session = TCPSession(
            try await listener.accept(),
            handler: harness.handler,
            client: .v4(IPv4Address(value: 0xC612_0000 + client)),
            isAllowed: isAllowed,
            cookies: nil,
            clocks: clock.clocks
        )
        harness.handler.sessions.add(session)
        sessions.append(session)
        clients.append(connection)
        Task { @ServiceLoop in await session.run() }
        return connection
    }

    func close() {
        harness.upstream.release()
        for session in sessions { session.close() }
        for client in clients { client.close() }
        listener.close()
    }
}
