// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import Resolver
import Testing

@testable import Frontend

@Suite("TCP sessions (RFC 7766)", .timeLimit(.minutes(15)))
struct ListeningSessionTests {
    @ServiceLoop
    static func connect(
        _ harness: ListenerHarness,
        allow: [String] = ["127.0.0.0/8"],
        cookies: CookieJar? = nil,
        clocks: Clocks? = nil
    ) async throws -> (server: TCPServer, client: StreamConnection) {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let listener = try StreamListener(binding: any)
        let address = try #require(listener.localAddress)
        let server = TCPServer(
            listener,
            address: address,
            handler: harness.handler,
            rules: AccessPolicy(
                .init(access: AccessList(try allow.map { try #require(IPPrefix($0)) }))
            ),
            cookies: cookies,
            clocks: clocks ?? StandingClock().clocks
        )
        Task { @ServiceLoop in try await server.run() }
        return (
            server,
            try await StreamConnection.connect(to: address, deadline: Clock.now + .seconds(300))
        )
    }

    @ServiceLoop
    static func read(
        _ count: Int = .max,
        from client: StreamConnection
    ) async throws -> [Message] {
        var octets: [UInt8] = []
        var messages: [Message] = []
        while messages.count < count {
            let more = try await client.read(upTo: 65_536, deadline: Clock.now + .seconds(300))
            guard !more.isEmpty else { break }
            octets += more
            while octets.count >= 2 {
                let length = Int(octets[0]) << 8 | Int(octets[1])
                guard octets.count >= 2 + length else { break }
                messages.append(try Message(parsing: Array(octets[2..<2 + length])))
                octets.removeFirst(2 + length)
            }
        }
        #expect(octets.isEmpty)
        return messages
    }

    private static let patience: Duration = .seconds(300)

    @Test
    @ServiceLoop
    func `answers are sent out of order as they become available`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let (server, client) = try await Self.connect(harness)
        defer { server.stop() }
        try await client.write(
            framed(query("slow.example.com", id: 1)) + framed(query("www.example.com", id: 2))
                + framed(query("quick.example.com", id: 3)),
            deadline: Clock.now + Self.patience
        )
        let first = try await Self.read(2, from: client)
        #expect(Set(first.map(\.header.id)) == [2, 3])
        await harness.upstream.crowd(of: 1)
        harness.upstream.release()
        #expect(try await Self.read(1, from: client).map(\.header.id) == [1])
        #expect(harness.counted.byTransport["tcp"] == 3)
        client.close()
    }

    @Test
    @ServiceLoop
    func `queries that arrive octet by octet are read`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let (server, client) = try await Self.connect(harness)
        defer { server.stop() }
        for octet in try framed(query("www.example.com", id: 9)) {
            try await client.write([octet], deadline: Clock.now + Self.patience)
        }
        #expect(try await Self.read(1, from: client).map(\.header.id) == [9])
        client.close()
    }

    @Test
    @ServiceLoop
    func `all queries are answered, even if more arrive than may be in flight`() async throws {
        let harness = ListenerHarness()
        let (server, client) = try await Self.connect(harness)
        defer { server.stop() }
        var octets: [UInt8] = []
        for id in UInt16(0)..<350 {
            octets += framed(
                try query(id < 100 ? "slow.n\(id).example.com" : "n\(id).example.com", id: id)
            )
        }
        try await client.write(octets, deadline: Clock.now + Self.patience)
        await harness.upstream.crowd(of: TCPLimits.pending)
        #expect(harness.handler.inFlight == TCPLimits.pending)
        harness.upstream.release()
        let replies = try await Self.read(350, from: client)
        #expect(Set(replies.map(\.header.id)) == Set(0..<350))
        client.close()
    }

    @Test
    @ServiceLoop
    func `a client that closed its sending side gets its answers`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let (server, client) = try await Self.connect(harness)
        defer { server.stop() }
        try await client.write(
            framed(query("slow.example.com", id: 1)) + framed(query("www.example.com", id: 2)),
            deadline: Clock.now + Self.patience
        )
        try client.shutdownWrite()
        await harness.upstream.crowd(of: 1)
        harness.upstream.release()
        #expect(Set(try await Self.read(from: client).map(\.header.id)) == [1, 2])
    }

    @Test
    @ServiceLoop
    func `messages without a reply do not block other messages`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let (server, client) = try await Self.connect(harness)
        defer { server.stop() }
        let reply = try query("www.example.com", id: 1) { $0.header.isResponse = true }
        try await client.write(
            framed([]) + framed([1, 2, 3]) + framed(reply)
                + framed(query("www.example.com", id: 2)),
            deadline: Clock.now + Self.patience
        )
        #expect(try await Self.read(1, from: client).map(\.header.id) == [2])
        #expect(harness.counted.ignored == 3)
        client.close()
    }

    @Test
    @ServiceLoop
    func `a client without access is refused`() async throws {
        let harness = ListenerHarness()
        let (server, client) = try await Self.connect(harness, allow: ["192.0.2.0/24"])
        defer { server.stop() }
        try await client.write(
            framed(query("www.example.com")),
            deadline: Clock.now + Self.patience
        )
        #expect(try await Self.read(1, from: client).map(\.rcode) == [.refused])
        client.close()
    }

    @Test
    @ServiceLoop
    func `a stopped server closes its connections`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let (server, client) = try await Self.connect(harness)
        try await client.write(
            framed(query("www.example.com")),
            deadline: Clock.now + Self.patience
        )
        #expect(try await Self.read(1, from: client).count == 1)
        #expect(server.sessions.count == 1)
        server.stop()
        server.finish()
        #expect(try await Self.read(from: client).isEmpty)
    }

    @Test
    @ServiceLoop
    func `if a client has too many connections, the longest idle one is closed`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let clock = StandingClock()
        let (server, first) = try await Self.connect(
            harness,
            clocks: clock.clocks
        )
        defer { server.stop() }
        var clients = [first]
        for _ in 0..<TCPLimits.connectionsPerClient {
            clock.advance(by: .milliseconds(1))
            let last = clients[clients.count - 1]
            try await last.write(
                framed(query("www.example.com")),
                deadline: Clock.now + Self.patience
            )
            _ = try await Self.read(1, from: last)
            clients.append(
                try await StreamConnection.connect(
                    to: server.address,
                    deadline: Clock.now + Self.patience
                )
            )
        }
        let last = clients[clients.count - 1]
        try await last.write(framed(query("www.example.com")), deadline: Clock.now + Self.patience)
        #expect(try await Self.read(1, from: last).count == 1)
        #expect(harness.handler.sessions.evicted == 1)
        #expect(server.sessions.count == TCPLimits.connectionsPerClient)
        #expect(try await Self.read(from: first).isEmpty)
    }
}
