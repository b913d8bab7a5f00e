// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import Upstream

@Suite("Connections that stay open without replies", .timeLimit(.minutes(5)))
struct SilentConnectionTests {
    private typealias Client = SharedConnectionTests.Client

    private static let own = Query.probe.question.name

    /// Returns a server with a log of the queries on each connection.
    ///
    /// - Parameter isAnswered: returns false for a query that gets no reply.
    @ServiceLoop
    private static func server(
        _ log: Log,
        _ isAnswered: @escaping @Sendable @ServiceLoop (_ connection: Int, Name) -> Bool
    ) throws -> StreamServer {
        try StreamServer { client in
            while let query = await client.next() {
                guard let name = (try? Message(parsing: query))?.question?.name else { return }
                log.names[client.number, default: []].append(name)
                if isAnswered(client.number, name) { await client.write(framed(reply(to: query))) }
            }
        }
    }

    @ServiceLoop
    private final class Log {
        var names: [Int: [Name]] = [:]

        func wait(for count: Int, on connection: Int) async {
            while names[connection, default: []].count < count { await Task.yield() }
        }
    }

    @Test("if a connection becomes silent, its queries are repeated after 0.3 s")
    @ServiceLoop
    func frozen() async throws {
        let log = Log()
        let server = try Self.server(log) { connection, name in
            connection > 0 || name == "www.example"
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        let signal = SharedConnectionTests.signal
        #expect(await client.ask("www.example", of: signal(1)))
        let names: [Name] = ["n0.example", "n1.example", "n2.example"]
        let waiting = names.enumerated().map { number, name in
            ServiceLoop.task { await client.ask(name, of: signal(UInt32(number))) }
        }
        await log.wait(for: 4, on: 0)
        client.clock.advance(by: UpstreamLimits.silentWait)
        await log.wait(for: 5, on: 0)
        #expect(log.names[0]?.last == Self.own)
        client.clock.advance(by: UpstreamLimits.silentWait / 2)
        // The replies need no further time.
        for query in waiting { #expect(await query.value) }
        // The first name is possibly the cause, so it uses a connection that others do not use.
        #expect(client.opened == 3)
        #expect([log.names[1], log.names[2]].contains { $0 == [Self.own, "n0.example"] })
        #expect(await client.ask("n3.example", of: signal(3)))
        #expect(client.opened == 3)
    }

    @Test("a slow name opens no connection if the server answers the daemon's own query")
    @ServiceLoop
    func slowName() async throws {
        let log = Log()
        let server = try Self.server(log) { _, name in name != "slow.example" }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        let signal = SharedConnectionTests.signal
        #expect(await client.ask("www.example", of: signal(1)))
        let slow = ServiceLoop.task { await client.ask("slow.example", of: signal(1)) }
        defer { slow.cancel() }
        await log.wait(for: 2, on: 0)
        client.clock.advance(by: UpstreamLimits.silentWait)
        await log.wait(for: 3, on: 0)
        // The server sends this reply after the reply to its own query.
        #expect(await client.ask("n1.example", of: signal(2)))
        for _ in 1...20 { client.clock.advance(by: UpstreamLimits.silentWait / 2) }
        #expect(log.names[0]?.count { $0 == Self.own } == 1)
        #expect(client.opened == 1)
    }
}
