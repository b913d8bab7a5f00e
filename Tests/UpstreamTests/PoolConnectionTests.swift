// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Synchronization
import Testing

@testable import Upstream

@Suite("Connections to a pool of hosts behind one address", .timeLimit(.minutes(5)))
struct PoolConnectionTests {
    private typealias Client = SharedConnectionTests.Client

    @ServiceLoop
    private static func name(of query: [UInt8]) -> Name? {
        (try? Message(parsing: query))?.question?.name
    }

    /// Advances the clock in steps of 1 ms, at most by `time`, until `isDone` returns true.
    @ServiceLoop
    private static func advance(
        _ client: Client,
        by time: Duration,
        until isDone: () -> Bool
    ) async {
        let start = client.clock.now
        while !isDone(), client.clock.now - start < time {
            client.clock.advance(by: .milliseconds(1))
            for _ in 1...20 { await Task.yield() }
        }
    }

    @Test("if a host accepts a connection and stays silent, another connection is used")
    @ServiceLoop
    func silentHost() async throws {
        let server = try StreamServer { client in
            while let query = await client.next() {
                if client.number != 1 { await client.write(framed(reply(to: query))) }
                if client.number == 0 { return }
            }
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        #expect(await client.ask(.query))
        let waiting = ServiceLoop.task { await client.ask(.query) }
        await Self.advance(client, by: UpstreamLimits.fairWait) { client.opened == 3 }
        #expect(client.opened == 3)
        #expect(await waiting.value)
        #expect(await client.ask(.query))
        #expect(client.opened == 3)
    }

    @Test("a server that answers one query on each connection answers the client's query")
    @ServiceLoop
    func oneQueryPerConnection() async throws {
        let server = try StreamServer { client in
            guard let query = await client.next() else { return }
            await client.write(framed(reply(to: query)))
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        for count in 1...4 {
            #expect(await client.ask(.query))
            #expect(client.opened == count)
        }
    }

    @Test("a slow name on a new connection delays no other client, if the server answers in order")
    @ServiceLoop
    func slowFirstName() async throws {
        let server = try StreamServer { client in
            var isStuck = false
            while let query = await client.next() {
                if Self.name(of: query) == "slow.example" { isStuck = true }
                if !isStuck { await client.write(framed(reply(to: query))) }
                if client.number == 0 { return }
            }
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        let (one, other) = (SharedConnectionTests.signal(1), SharedConnectionTests.signal(2))
        #expect(await client.ask("www.example", of: other))
        let slow = ServiceLoop.task { await client.ask("slow.example", of: one) }
        defer { slow.cancel() }
        await Task.yield()
        var isAnswered = false
        ServiceLoop.task { isAnswered = await client.ask("n0.example", of: other) }
        await Self.advance(client, by: UpstreamLimits.longestPatience) { isAnswered }
        #expect(isAnswered)
        #expect(await client.ask("n1.example", of: other))
        #expect(client.opened <= 4)
    }

    @Test("if the server closes each connection after three replies, it answers queries in order")
    @ServiceLoop
    func threeReplies() async throws {
        let server = try StreamServer { client in
            for _ in 1...3 {
                guard let query = await client.next() else { return }
                await client.write(framed(reply(to: query)))
            }
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        var answered: [Int] = []
        let waiting = (1...12).map { number in
            ServiceLoop.task {
                guard await client.ask(.query) else { return }
                answered.append((number - 1) / 3)
            }
        }
        for query in waiting { await query.value }
        #expect(answered == (1...12).map { ($0 - 1) / 3 })
    }

    @Test("if hosts do not complete the handshake, a query is repeated up to three times")
    @ServiceLoop
    func resetHosts() async throws {
        let server = try StreamServer { client in
            guard let query = await client.next() else { return }
            await client.write(framed(reply(to: query)))
        }
        defer { server.stop() }
        let client = Client(of: server.address, untrusted: Set(2...4).union(6...9))
        defer { client.stop() }
        #expect(await client.ask(.query))
        #expect(await client.ask(.query))
        #expect(client.opened == 5)
        #expect(await !client.ask(.query))
        #expect(client.opened == 9)
    }

    @Test(
        "a name for which the server closes each connection costs at most four connections",
        arguments: [false, true]
    )
    @ServiceLoop
    func fatalName(isGreetingAnswered: Bool) async throws {
        let server = try StreamServer { client in
            while let query = await client.next() {
                let isFatal = Self.name(of: query) == "fatal.example"
                if !isFatal { await client.write(framed(reply(to: query))) }
                guard isFatal else { continue }
                if isGreetingAnswered, let next = await client.next() {
                    await client.write(framed(reply(to: next)))
                }
                return
            }
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        let signal = SharedConnectionTests.signal(1)
        #expect(await client.ask("www.example", of: signal))
        if isGreetingAnswered {
            // Ends the first connection, on which no greeting follows the name.
            let first = ServiceLoop.task { await client.ask("fatal.example", of: signal) }
            #expect(await client.ask("www.example", of: signal))
            #expect(await !first.value)
        } else {
            #expect(await !client.ask("fatal.example", of: signal))
        }
        #expect(server.connections <= 1 + UpstreamLimits.repetitions)
    }

    private enum BadReply: CaseIterable { case error, otherName }

    /// Returns the RCODE of the reply; nil if there is no reply that matches.
    @ServiceLoop
    private static func ask(_ client: Client, _ name: Name = "n.example") async -> RCode? {
        let query = Query(question: Question(name: name, type: .a))
        return try? await client.reply(to: query).get().rcode
    }

    @Test(
        "a connection to a host that returns errors to all queries is replaced",
        arguments: BadReply.allCases
    )
    @ServiceLoop
    private func failingHost(_ bad: BadReply) async throws {
        let server = try StreamServer { client in
            var count = 0
            while let query = await client.next() {
                count += 1
                let isBad = client.number == 0 && count > 1
                await client.write(
                    framed(
                        reply(to: query) {
                            guard isBad else { return }
                            switch bad {
                            case .error: ($0.rcode, $0.answers) = (.servFail, [])
                            case .otherName:
                                $0.questions = [Question(name: "other.example", type: .a)]
                            }
                        }
                    )
                )
            }
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        #expect(await Self.ask(client) == .noError)
        #expect(await Self.ask(client) != .noError)
        // The server replies to the check before it replies to this query.
        _ = await Self.ask(client)
        for _ in 1...2 { #expect(await Self.ask(client) == .noError) }
        #expect(client.opened == 2)
    }

    @Test("names that get errors do not end the connection to a healthy server")
    @ServiceLoop
    func failingNames() async throws {
        let samples = Count()
        let server = try StreamServer { client in
            while let query = await client.next() {
                let name = Self.name(of: query)
                if name?.description.hasSuffix("root-servers.net.") == true {
                    samples.value.add(1, ordering: .relaxed)
                }
                await client.write(
                    framed(
                        reply(to: query) {
                            if name == "bad.example" { ($0.rcode, $0.answers) = (.servFail, []) }
                        }
                    )
                )
            }
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        for _ in 1...20 {
            #expect(await Self.ask(client, "bad.example") == .servFail)
            client.clock.advance(by: .milliseconds(500))
        }
        #expect(await Self.ask(client) == .noError)
        #expect(client.opened == 1)
        #expect((1...40).contains(samples.value.load(ordering: .relaxed)))
    }

    @Test("after an invalid reply to a probe, the next probe uses a new connection")
    @ServiceLoop
    func faultyHostOfProbes() async throws {
        let server = try StreamServer { client in
            while let query = await client.next() {
                await client.write(
                    framed(
                        reply(to: query) {
                            if client.number == 0 { $0.questions[0].name = "other.example" }
                        }
                    )
                )
            }
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        #expect(await !client.ask(.probe))
        #expect(await client.ask(.probe))
        #expect(await client.ask(.probe))
        #expect(client.opened == 2)
    }

    @Test("if all hosts return errors, connections are replaced at increasing intervals")
    @ServiceLoop
    func failingServer() async throws {
        let server = try StreamServer { client in
            while let query = await client.next() {
                await client.write(
                    framed(reply(to: query) { ($0.rcode, $0.answers) = (.servFail, []) })
                )
            }
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        for _ in 1...300 {
            #expect(await Self.ask(client) == .servFail)
            client.clock.advance(by: .milliseconds(100))
        }
        // The intervals are 0.1, 0.2, 0.4 s and so on.
        #expect((8...11).contains(client.opened))
    }
}
