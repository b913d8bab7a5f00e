// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Synchronization
import Testing

@testable import Upstream

@Suite("An upstream on one connection", .timeLimit(.minutes(15)))
struct StreamTransportTests {
    @ServiceLoop
    private func upstream(
        _ server: StreamServer,
        _ clocks: Clocks = .system,
        isLearned: Bool = false
    ) -> Forwarder {
        upstream(server.address, clocks, isLearned: isLearned)
    }

    @ServiceLoop
    private func upstream(
        _ server: SocketAddress,
        _ clocks: Clocks = .system,
        isLearned: Bool = false
    ) -> Forwarder {
        Forwarder(
            name: "tcp",
            url: "tcp://\(server)",
            timeout: .seconds(20),
            isLearned: isLearned,
            over: StreamTransport(to: server, clocks: clocks),
            clocks: clocks
        )
    }

    @ServiceLoop
    private final class ServerSelectionClock {
        var now = Clock.now

        var clocks: Clocks {
            Clocks(
                now: { ServiceLoop.assumeIsolated { self.now } },
                wallSeconds: { 0 },
                timer: { Clocks.system.timer(Clock.now + ($0 - self.now), $1) }
            )
        }
    }

    /// Returns a server that answers on its first connection, and closes all others.
    @ServiceLoop
    private static func serverOfOneConnection() throws -> StreamServer {
        try StreamServer { client in
            guard client.number == 0 else { return }
            while let query = await client.next() {
                await client.write(framed(reply(to: query)))
            }
        }
    }

    @Test
    @ServiceLoop
    func `a probe uses the query connection if the server refuses another connection`() async throws
    {
        let server = try Self.serverOfOneConnection()
        defer { server.stop() }
        let upstream = upstream(server)
        let deadline = Clock.now + .seconds(20)
        _ = await ask(upstream, ["www.example.com"])
        for query in [Query.otherProbe, Query.probe] {
            let message = try await upstream.exchange(query, deadline: deadline)
            #expect(message.question == query.question)
        }
        #expect(server.connections > 1)
        await #expect(throws: Never.self) {
            try await askOfBusyClient(upstream, "other.example.com")
        }
    }

    @Test
    @ServiceLoop
    func `queries of a busy client do not delay the replies for other clients`() async throws {
        let server = try StreamServer { client in
            var isStuck = false
            while let query = await client.next() {
                let name = try? Message(parsing: query).questions.first?.name
                if name == "busy.example.com" { isStuck = true }
                if !isStuck { await client.write(framed(reply(to: query))) }
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        let busy = ServiceLoop.task {
            _ = try? await askOfBusyClient(upstream, "busy.example.com")
        }
        defer { busy.cancel() }
        #expect(await ask(upstream, ["www.example.com"]) == [.success("www.example.com")])
        #expect(server.connections == 2)
    }

    @Test
    @ServiceLoop
    func `if the server refuses another connection, clients share the connection of a busy client`()
        async throws
    {
        let server = try Self.serverOfOneConnection()
        defer { server.stop() }
        let upstream = upstream(server)
        try await askOfBusyClient(upstream, "busy.example.com")
        #expect(await ask(upstream, ["www.example.com"]) == [.success("www.example.com")])
    }

    @ServiceLoop
    private func askOfBusyClient(_ upstream: Forwarder, _ name: Name) async throws {
        let query = Query(question: Question(name: name, type: .a))
        let outcome = await withCheckedContinuation { continuation in
            let attempt = Attempt(
                query,
                deadline: Clock.now + .seconds(20),
                isOfBusyClient: true,
                Completion { continuation.resume(returning: $0.outcome) }
            )
            upstream.ask(attempt)
        }
        _ = try outcome.get()
    }

    @ServiceLoop
    private func ask(
        _ upstream: Forwarder,
        _ names: [Name],
        within time: Duration = .seconds(20)
    ) async -> [Result<Name, UpstreamError>] {
        let deadline = Clock.now + time
        let tasks = names.map { name in
            ServiceLoop.task { () -> Result<Name, UpstreamError> in
                do throws(UpstreamError) {
                    let query = Query(
                        question: Question(name: name, type: .a),
                        dnssecOK: false,
                        checkingDisabled: false
                    )
                    let message = try await upstream.exchange(query, deadline: deadline)
                    return .success(message.answers.first?.name ?? name)
                } catch {
                    return .failure(error)
                }
            }
        }
        var results: [Result<Name, UpstreamError>] = []
        for task in tasks { results.append(await task.value) }
        return results
    }

    @Test
    @ServiceLoop
    func `queries are pipelined, and replies are accepted in any order`() async throws {
        let server = try StreamServer { client in
            var queries: [[UInt8]] = []
            while let query = await client.next() {
                queries.append(query)
                guard queries.count == 50 else { continue }
                #expect(Set(queries.map { [$0[0], $0[1]] }).count == 50)
                for query in queries.shuffled() {
                    for octet in framed(reply(to: query)) { await client.write([octet]) }
                }
                queries = []
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        let names = try (0..<50).map { try Name("n\($0).example.com") }
        #expect(await ask(upstream, names) == names.map { .success($0) })
        #expect(await ask(upstream, names) == names.map { .success($0) })
        #expect(server.connections == 1)
        #expect(upstream.numbers.queries == 100)
        #expect(upstream.numbers.successes == 100)
        #expect(upstream.numbers.connectionsOpened == 1)
        #expect(upstream.numbers.connectionsReused == 99)
    }

    @Test
    @ServiceLoop
    func `queries lost with their connection are sent once more on a new connection`()
        async throws
    {
        let server = try StreamServer { client in
            while let query = await client.next() {
                if client.number == 0 { return }
                await client.write(framed(reply(to: query)))
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        let names = try (0..<10).map { try Name("n\($0).example.com") }
        #expect(await ask(upstream, names) == names.map { .success($0) })
        #expect(server.connections == 2)
        #expect(upstream.numbers.failures == [:])
    }

    @Test
    @ServiceLoop
    func `a server that closes each connection gets the query twice`() async throws {
        let server = try StreamServer { client in _ = await client.next() }
        defer { server.stop() }
        let upstream = upstream(server)
        #expect(
            await ask(upstream, ["www.example.com"])
                == [.failure(.broken("closed the connection before the reply"))]
        )
        #expect(server.connections == 2)
    }

    @Test
    @ServiceLoop
    func `a server that closes each connection gets the query of a busy client once`() async throws
    {
        let server = try StreamServer { client in _ = await client.next() }
        defer { server.stop() }
        let upstream = upstream(server)
        await #expect(throws: UpstreamError.broken("closed the connection before the reply")) {
            try await askOfBusyClient(upstream, "busy.example.com")
        }
        #expect(server.connections == 1)
    }

    @Test
    @ServiceLoop
    func `a server that closes a connection after replies gets the query of a busy client again`()
        async throws
    {
        let server = try StreamServer { client in
            var replies = 0
            while let query = await client.next() {
                if client.number == 0, replies == 1 { return }
                replies += 1
                await client.write(framed(reply(to: query)))
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        try await askOfBusyClient(upstream, "one.example.com")
        try await askOfBusyClient(upstream, "two.example.com")
        #expect(server.connections == 2)
    }

    @Test
    @ServiceLoop
    func `a port without a listener is reported immediately`() async throws {
        // The port of a connected client has no listener, and no other program can bind it.
        let server = try StreamServer { _ in }
        defer { server.stop() }
        let client = try await StreamConnection.connect(to: server.address, deadline: nil)
        defer { client.close() }
        let upstream = upstream(try #require(client.localAddress))
        let result = await ask(upstream, ["www.example.com"])
        guard case .failure(.unreachable(let why)) = result[0] else {
            Issue.record("\(result)")
            return
        }
        #expect(why.contains("refused"))
        #expect(upstream.numbers.connectionsOpened == 0)
    }

    @Test
    @ServiceLoop
    func `a connection on which the server does not respond is not used again`() async throws {
        let server = try StreamServer { client in
            while let query = await client.next() {
                if client.number > 0 { await client.write(framed(reply(to: query))) }
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        var lost = 0
        while await ask(upstream, ["www.example.com"], within: UpstreamLimits.fairWait * 2)
            != [.success("www.example.com")]
        {
            lost += 1
        }
        #expect(lost > 0)
        #expect(server.connections > 1)
    }

    @Test
    @ServiceLoop
    func `a repeated query uses a new connection; the old connection stays open`() async throws {
        let server = try StreamServer { client in
            while let query = await client.next() {
                if client.number > 0 { await client.write(framed(reply(to: query))) }
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        let query = Query(
            question: Question(name: "www.example.com", type: .a),
            dnssecOK: false,
            checkingDisabled: false
        )
        let start = Clock.now
        let first = ServiceLoop.throwingTask {
            try await upstream.exchange(query, deadline: start + .seconds(20))
        }
        while server.connections == 0 { await Task.yield() }
        _ = try await upstream.exchange(
            query,
            repeating: Clock.now,
            deadline: start + .seconds(20)
        )
        #expect(server.connections == 2)
        upstream.networkChanged()
        upstream.networkChanged()
        first.cancel()
        _ = try? await first.value
    }

    @Test
    @ServiceLoop
    func `a late answer neither delays other answers nor closes the connection`() async throws {
        let server = try StreamServer { client in
            while let query = await client.next() {
                let isSlow = (try? Message(parsing: query))?.question?.name == "slow.example.com"
                if !isSlow { await client.write(framed(reply(to: query))) }
            }
        }
        defer { server.stop() }
        let clock = ServerSelectionClock()
        let upstream = upstream(server, clock.clocks)
        let slow = ServiceLoop.task {
            await ask(upstream, ["slow.example.com"], within: .milliseconds(300))
        }
        // The age of the slow query exceeds `fairWait`, but the time since the last reply does not.
        let most = UpstreamLimits.fairWait - .milliseconds(1)
        clock.now += most
        #expect(await ask(upstream, ["www.example.com"]) == [.success("www.example.com")])
        clock.now += most
        #expect(await slow.value == [.failure(.timedOut)])
        #expect(await ask(upstream, ["www.example.com"]) == [.success("www.example.com")])
        #expect(server.connections == 1)
    }

    @Test
    @ServiceLoop
    func `messages that match no query are counted; a reply with a wrong question is a failure`()
        async throws
    {
        let server = try StreamServer { client in
            while let query = await client.next() {
                await client.write(framed([query[0] ^ 1] + reply(to: query)[1...]))
                await client.write(framed([1]))
                await client.write(
                    framed(
                        reply(to: query) {
                            if $0.question?.name == "other.example.com" {
                                $0.questions = [Question(name: "www.example.com", type: .a)]
                            }
                        }
                    )
                )
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        #expect(await ask(upstream, ["www.example.com"]) == [.success("www.example.com")])
        #expect(upstream.numbers.foreignReplies == 2)
        #expect(
            await ask(upstream, ["other.example.com"])
                == [.failure(.broken("the reply does not match the query"))]
        )
    }

    @Test
    @ServiceLoop
    func `a keepalive timeout of 0 closes the connection after the reply`() async throws {
        let server = try StreamServer { client in
            while let query = await client.next() {
                await client.write(
                    framed(reply(to: query) { $0.edns?.options = [.keepalive(timeout: 0)] })
                )
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        for count in 1...3 {
            #expect(await ask(upstream, ["www.example.com"]) == [.success("www.example.com")])
            #expect(server.connections == count)
        }
    }

    @Test
    @ServiceLoop
    func `keepalive timeouts of 0 leave at most four connections that wait for replies`()
        async throws
    {
        let most = 1 + UpstreamLimits.retiredConnections
        let server = try StreamServer { client in
            while let query = await client.next() {
                let isDead = (try? Message(parsing: query))?.question?.name == "dead.example.com"
                guard !isDead || client.number >= most else { continue }
                await client.write(
                    framed(reply(to: query) { $0.edns?.options = [.keepalive(timeout: 0)] })
                )
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        var dead: [Task<[Result<Name, UpstreamError>], Never>] = []
        for _ in 0..<20 {
            dead.append(ServiceLoop.task { await ask(upstream, ["dead.example.com"]) })
            await Task.yield()
            #expect(await ask(upstream, ["www.example.com"]) == [.success("www.example.com")])
        }
        #expect(server.connections == most)
        upstream.networkChanged()
        for query in dead { #expect(await query.value == [.success("dead.example.com")]) }
    }

    @Test
    @ServiceLoop
    func `the oldest of five replaced connections is closed, and its query is repeated`()
        async throws
    {
        let last = 1 + UpstreamLimits.retiredConnections
        let received = Count()
        let server = try StreamServer { client in
            var isFirst = true
            while let query = await client.next() {
                if isFirst { received.value.add(1, ordering: .relaxed) }
                isFirst = false
                if client.number >= last { await client.write(framed(reply(to: query))) }
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        let query = Query(
            question: Question(name: "www.example.com", type: .a),
            dnssecOK: false,
            checkingDisabled: false
        )
        let end = Clock.now + .seconds(20)
        var tasks: [Task<Bool, Never>] = []
        for number in 0...last {
            let task = ServiceLoop.task {
                let reply = try? await upstream.exchange(
                    query,
                    repeating: Clock.now,
                    deadline: end
                )
                return reply != nil
            }
            tasks.append(task)
            // Waits until the server has this query, so that the next query opens a new connection.
            while received.value.load(ordering: .relaxed) <= number { await Task.yield() }
        }
        #expect(await tasks[last].value)
        #expect(await tasks[1].value)
        #expect(server.connections == last + 1)
        upstream.networkChanged()
        for task in tasks { #expect(await task.value) }
    }

    @Test
    @ServiceLoop
    func `if a new connection is refused, the silent connection answers`() async throws {
        let server = try StreamServer { client in
            while let query = await client.next() { await client.write(framed(reply(to: query))) }
        }
        let upstream = upstream(server)
        #expect(await ask(upstream, ["www.example.com"]) == [.success("www.example.com")])
        server.stop()
        let end = Clock.now + .seconds(20)
        let query = Query(
            question: Question(name: "other.example.com", type: .a),
            dnssecOK: false,
            checkingDisabled: false
        )
        _ = try await upstream.exchange(query, repeating: Clock.now, deadline: end)
        #expect(server.connections == 1)
    }

    @Test
    @ServiceLoop
    func `if the server closes each new connection, the silent connection answers`() async throws {
        let accepted = Count()
        let server = try StreamServer { client in
            accepted.value.add(1, ordering: .relaxed)
            guard client.number == 0 else { return }
            while let query = await client.next() {
                let isFirst = try? Message(parsing: query).question?.name == "www.example.com"
                while isFirst != true, accepted.value.load(ordering: .relaxed) < 3 {
                    await Task.yield()
                }
                await client.write(framed(reply(to: query)))
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        #expect(await ask(upstream, ["www.example.com"]) == [.success("www.example.com")])
        let query = Query(
            question: Question(name: "other.example.com", type: .a),
            dnssecOK: false,
            checkingDisabled: false
        )
        let end = Clock.now + .seconds(20)
        _ = try await upstream.exchange(query, repeating: Clock.now, deadline: end)
        #expect(server.connections == 3)
    }

    @Test
    @ServiceLoop
    func `a network change moves queries to a new connection`() async throws {
        let server = try StreamServer { client in
            while let query = await client.next() {
                if client.number > 0 { await client.write(framed(reply(to: query))) }
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        let waiting = ServiceLoop.task { await ask(upstream, ["www.example.com"]) }
        while server.connections == 0 { await Task.yield() }
        upstream.networkChanged()
        #expect(await waiting.value == [.success("www.example.com")])
        #expect(server.connections == 2)
    }

    @Test
    @ServiceLoop
    func `a query in flight is not sent again to a withdrawn server`() async throws {
        let server = try StreamServer { client in
            while let query = await client.next() {
                if client.number > 0 { await client.write(framed(reply(to: query))) }
            }
        }
        defer { server.stop() }
        let withdrawn = upstream(server, isLearned: true)
        let waiting = ServiceLoop.task { await ask(withdrawn, ["www.example.com"]) }
        while server.connections == 0 { await Task.yield() }
        withdrawn.withdraw()
        #expect(await waiting.value == [.failure(.withdrawn)])
        #expect(await ask(upstream(server), ["www.example.com"]) == [.success("www.example.com")])
        #expect(server.connections == 2)
    }

    @Test
    @ServiceLoop
    func `if a new connection for a repetition is refused, the open connection stays in use`()
        async throws
    {
        let server = try StreamServer { client in
            while let query = await client.next() {
                guard client.number == 0 else { return }
                if (try? Message(parsing: query))?.question?.name != "dead.example.com" {
                    await client.write(framed(reply(to: query)))
                }
            }
        }
        defer { server.stop() }
        let upstream = upstream(server)
        let name: Name = "www.example.com"
        #expect(await ask(upstream, [name]) == [.success(name)])
        let dead = Query(question: Question(name: "dead.example.com", type: .a))
        // This time is shorter than `fairWait`, after which a silent connection is closed.
        let end = Clock.now + .milliseconds(300)
        let repeated = try? await upstream.exchange(dead, repeating: Clock.now, deadline: end)
        #expect(repeated == nil && server.connections >= 2)
        let before = server.connections
        #expect(await ask(upstream, [name]) == [.success(name)])
        #expect(server.connections == before)
    }

    @Test
    @ServiceLoop
    func `queries are padded over TLS, but not over TCP (RFC 7830, RFC 8467)`() throws {
        var random = Seeded(seed: 1)
        let query = Query(
            question: Question(name: "www.example.com", type: .a),
            dnssecOK: true,
            checkingDisabled: false
        )
        let clear = UpstreamExchange(query, over: .stream, random: &random).message
        let encrypted = UpstreamExchange(query, over: .encrypted, random: &random).message
        #expect(clear.count == 44)
        #expect(encrypted.count == 128)
        let message = try Message(parsing: encrypted)
        #expect(message.header.id == 0)
        #expect(message.edns?.options.map(\.code) == [EDNSOption.Code.padding])
    }
}
