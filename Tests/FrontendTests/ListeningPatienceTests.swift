// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import Frontend

@Suite(
    "Timeouts of TCP connections (RFC 7766 §6.2.3, RFC 9210 §4.4, RFC 7828)",
    .timeLimit(.minutes(15))
)
struct ListeningPatienceTests {
    private static let patience: Duration = .seconds(300)

    @ServiceLoop
    private final class TCPHarness {
        let harness = ListenerHarness()
        let clock = StandingClock()
        let server: TCPServer
        let client: StreamConnection

        init(cookies: CookieJar? = nil) async throws {
            try harness.store("www.example.com")
            (server, client) = try await ListeningSessionTests.connect(
                harness,
                cookies: cookies,
                clocks: clock.clocks
            )
        }

        func send(_ octets: [UInt8]) async throws {
            try await client.write(octets, deadline: Clock.now + patience)
        }

        @discardableResult
        func ask(
            _ id: UInt16 = 1,
            _ change: (inout Message) -> Void = { _ in }
        ) async throws -> Message {
            try await send(framed(query("www.example.com", id: id, change)))
            let reply = try #require(try await ListeningSessionTests.read(1, from: client).first)
            #expect(reply.header.id == id)
            return reply
        }

        func settle() async {
            for _ in 0..<200 { await Task.yield() }
        }

        func isEnded() async throws -> Bool {
            try await ListeningSessionTests.read(from: client).isEmpty
        }

        func finish() {
            client.close()
            server.stop()
        }
    }

    @Test
    @ServiceLoop
    func `an idle connection is closed after the announced timeout`()
        async throws
    {
        let tcp = try await TCPHarness()
        defer { tcp.finish() }
        for id in UInt16(1)...4 {
            try await tcp.ask(id)
            await tcp.settle()
            tcp.clock.advance(by: TCPLimits.idleTime - .milliseconds(1))
            await tcp.settle()
        }
        #expect(tcp.server.sessions.count == 1)
        tcp.clock.advance(by: .milliseconds(1))
        #expect(try await tcp.isEnded())
    }

    @Test
    @ServiceLoop
    func `a connection without any query is closed after the idle timeout`() async throws {
        let tcp = try await TCPHarness()
        defer { tcp.finish() }
        while tcp.server.sessions.isEmpty { await Task.yield() }
        await tcp.settle()
        tcp.clock.advance(by: TCPLimits.idleTime)
        #expect(try await tcp.isEnded())
    }

    @Test
    @ServiceLoop
    func `a connection is closed if a message is not complete within a fixed time`()
        async throws
    {
        let tcp = try await TCPHarness()
        defer { tcp.finish() }
        try await tcp.ask()
        let octets = try framed(query("www.example.com", id: 2))
        for octet in octets.prefix(4) {
            try await tcp.send([octet])
            await tcp.settle()
            tcp.clock.advance(by: TCPLimits.messageTime / 4)
            await tcp.settle()
        }
        #expect(try await tcp.isEnded())
    }

    @Test
    @ServiceLoop
    func `a timely message is answered, and the next message has its own timeout`() async throws {
        let tcp = try await TCPHarness()
        defer { tcp.finish() }
        for id in UInt16(1)...3 {
            let octets = try framed(query("www.example.com", id: id))
            try await tcp.send(Array(octets.prefix(5)))
            await tcp.settle()
            tcp.clock.advance(by: TCPLimits.messageTime - .milliseconds(1))
            await tcp.settle()
            try await tcp.send(Array(octets.dropFirst(5)))
            let replies = try await ListeningSessionTests.read(1, from: tcp.client)
            #expect(replies.map(\.header.id) == [id])
        }
    }

    @Test
    @ServiceLoop
    func `a connection that waits for an answer is not idle`() async throws {
        let tcp = try await TCPHarness()
        defer { tcp.finish() }
        try await tcp.send(framed(query("slow.example.com", id: 1)))
        await tcp.harness.upstream.crowd(of: 1)
        tcp.clock.advance(by: TCPLimits.idleTime * 3)
        await tcp.settle()
        tcp.harness.upstream.release()
        let replies = try await ListeningSessionTests.read(1, from: tcp.client)
        #expect(replies.map(\.header.id) == [1])
        await tcp.settle()
        tcp.clock.advance(by: TCPLimits.idleTime - .milliseconds(1))
        await tcp.settle()
        try await tcp.ask(2)
    }

    @Test
    @ServiceLoop
    func `a query is answered although the next message never completes`() async throws {
        let tcp = try await TCPHarness()
        defer { tcp.finish() }
        try await tcp.send(framed(query("slow.example.com", id: 1)) + [0])
        await tcp.harness.upstream.crowd(of: 1)
        await tcp.settle()
        tcp.clock.advance(by: TCPLimits.messageTime)
        await tcp.settle()
        tcp.harness.upstream.release()
        let replies = try await ListeningSessionTests.read(from: tcp.client)
        #expect(replies.map(\.header.id) == [1])
    }

    @Test
    @ServiceLoop
    func `a client that does not read its replies is disconnected`() async throws {
        let tcp = try await TCPHarness()
        defer { tcp.finish() }
        try tcp.harness.store("big.example.com", addresses: 1_000)
        let question = try framed(query("big.example.com"))
        let client = tcp.client
        let sending = Task { @ServiceLoop in
            for _ in 0..<8_000 {
                try await client.write(question, deadline: Clock.now + Self.patience)
            }
        }
        while !tcp.server.sessions.values.contains(where: \.session.isBlocked) {
            await Task.yield()
        }
        await tcp.settle()
        tcp.clock.advance(by: TCPLimits.writeTime)
        while !tcp.server.sessions.isEmpty {
            await Task.yield()
        }
        client.close()
        _ = await sending.result
    }

    @Test
    @ServiceLoop
    func `a query with the keepalive option gets the timeout in units of 100 ms`() async throws {
        let tcp = try await TCPHarness()
        defer { tcp.finish() }
        let asked = try await tcp.ask {
            $0.edns = EDNS(options: [.keepalive(timeout: nil)])
        }
        #expect(asked.edns?.options == [.keepalive(timeout: 200)])
        #expect(Duration.milliseconds(100) * Int(TCPLimits.keepalive) == TCPLimits.idleTime)
        let silent = try await tcp.ask { $0.edns = EDNS() }
        #expect(silent.edns?.options == [])
    }

    @Test
    @ServiceLoop
    func `cookies work over TCP if they are enabled`() async throws {
        let tcp = try await TCPHarness(cookies: CookieJar(now: Clock.now))
        defer { tcp.finish() }
        let client = Array("cookie/8".utf8)
        let reply = try await tcp.ask {
            $0.edns = EDNS(options: [.cookie(client: client, server: [])])
        }
        #expect(reply.edns?.cookie?.client == client)
        #expect(reply.edns?.cookie?.server.count == 16)
    }
}
