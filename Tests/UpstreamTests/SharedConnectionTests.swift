// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Synchronization
import Testing

@testable import Upstream

@Suite(
    "Connections to a server that limits connections, or answers in order",
    .timeLimit(.minutes(5))
)
struct SharedConnectionTests {
    @ServiceLoop
    final class ManualClock {
        private final class Timer: Cancellable {
            let time: Instant
            var action: (@ServiceLoop () -> Void)?

            init(_ time: Instant, _ action: @escaping @ServiceLoop () -> Void) {
                self.time = time
                self.action = action
            }

            func cancel() { action = nil }
        }

        private(set) var now = Clock.now
        private var timers: [Timer] = []

        var timerCount: Int { timers.count }

        nonisolated var clocks: Clocks {
            Clocks(
                now: { ServiceLoop.assumeIsolated { self.now } },
                wallSeconds: { 0 },
                timer: { time, action in
                    let timer = Timer(time, action)
                    self.timers.append(timer)
                    return timer
                }
            )
        }

        func advance(by time: Duration) {
            now += time
            let due = timers.filter { $0.time <= now }
            timers.removeAll { $0.time <= now }
            for timer in due { timer.action?() }
        }
    }

    enum Purpose: CaseIterable, CustomTestStringConvertible {
        case query, queryOfBusyClient, probe

        var testDescription: String {
            switch self {
            case .query: "query"
            case .queryOfBusyClient: "query of a busy client"
            case .probe: "probe"
            }
        }
    }

    @ServiceLoop
    final class Client {
        let clock = ManualClock()
        private(set) var opened = 0
        private var exchanger: StreamExchanger?

        init(
            of server: SocketAddress,
            limit: Int = .max,
            silent: ClosedRange<Int>? = nil,
            untrusted: Set<Int> = []
        ) {
            exchanger = StreamExchanger(clock.clocks) {
                [unowned self] deadline async throws(UpstreamError) in
                opened += 1
                if untrusted.contains(opened) { throw .untrusted("expired") }
                if opened > limit || silent?.contains(opened) ?? false {
                    _ = await Waiter().wait(until: Clock.now + .seconds(20))
                    throw .timedOut
                }
                return try await StreamExchanger.connect(
                    to: server,
                    deadline: Clock.now + .seconds(20)
                )
            }
        }

        func ask(_ purpose: Purpose, since: Instant? = nil) async -> Bool {
            await ask(
                purpose == .probe ? .probe : Query(question: Question(name: "n.example", type: .a)),
                isOfBusyClient: purpose == .queryOfBusyClient,
                since: since
            )
        }

        func ask(_ name: Name, of client: CancellationSignal) async -> Bool {
            await ask(Query(question: Question(name: name, type: .a)), of: client)
        }

        private func ask(
            _ query: Query,
            of client: CancellationSignal? = nil,
            isOfBusyClient: Bool = false,
            since: Instant? = nil
        ) async -> Bool {
            let reply = await reply(
                to: query,
                of: client,
                isOfBusyClient: isOfBusyClient,
                since: since
            )
            return (try? reply.get()) != nil
        }

        func reply(
            to query: Query,
            of client: CancellationSignal? = nil,
            isOfBusyClient: Bool = false,
            since: Instant? = nil
        ) async -> Attempt.Outcome {
            var random = SystemRandomNumberGenerator()
            let exchange = UpstreamExchange(query, over: .stream, random: &random)
            return await withCheckedContinuation { continuation in
                let attempt = Attempt(
                    query,
                    deadline: clock.now + .seconds(20),
                    isOfBusyClient: isOfBusyClient,
                    cancellation: client,
                    Completion { continuation.resume(returning: $0.outcome) }
                )
                exchanger?.ask(exchange, for: attempt, since: since)
            }
        }

        func stop() { exchanger?.drop() }
    }

    /// Returns a server that answers queries in order.
    ///
    /// The server answers only on its first `limit` connections.
    /// After a query for slow.example, the server sends nothing more on that connection.
    @ServiceLoop
    private static func server(limit: Int = .max, slow: Count = Count()) throws -> StreamServer {
        try StreamServer { client in
            var isStuck = client.number >= limit
            while let query = await client.next() {
                if (try? Message(parsing: query))?.question?.name == "slow.example" {
                    isStuck = true
                    slow.value.add(1, ordering: .relaxed)
                }
                if !isStuck { await client.write(framed(reply(to: query))) }
            }
        }
    }

    @ServiceLoop
    static func signal(_ number: UInt32) -> CancellationSignal {
        let address = IPAddress.v4(IPv4Address(value: 0xC000_0200 + number))
        return CancellationSignal(client: ClientNetwork(of: address, isProven: true))
    }

    private static let pairs = [
        (Purpose.probe, Purpose.query), (.query, .probe), (.query, .queryOfBusyClient),
        (.probe, .queryOfBusyClient),
    ]

    @Test(
        arguments: [true, false].flatMap { isAccepted in pairs.map { ($0.0, $0.1, isAccepted) } }
    )
    @ServiceLoop
    private func `if a new connection gets no reply, the query uses the earlier connection`(
        first: Purpose,
        second: Purpose,
        isAccepted: Bool
    ) async throws {
        let server = try Self.server(limit: 1)
        defer { server.stop() }
        let client = Client(of: server.address, limit: isAccepted ? .max : 1)
        defer { client.stop() }
        #expect(await client.ask(first))
        let before = client.clock.timerCount
        let waiting = ServiceLoop.task { await client.ask(second) }
        while client.clock.timerCount == before { await Task.yield() }
        client.clock.advance(by: UpstreamLimits.fairWait)
        #expect(await waiting.value)
        #expect(client.opened == 2)
        #expect(await client.ask(second))
        #expect(client.opened == 2)
        client.clock.advance(by: UpstreamLimits.sharingTime)
        #expect(await client.ask(second))
        #expect(client.opened == 3)
    }

    @Test("if new connections stay silent, further connections are opened", arguments: 1...4)
    @ServiceLoop
    private func silentOpenings(silent: Int) async throws {
        let server = try Self.server()
        defer { server.stop() }
        for purpose in Purpose.allCases {
            let client = Client(of: server.address, silent: 1...silent)
            defer { client.stop() }
            let start = client.clock.now
            let waiting = ServiceLoop.task { await client.ask(purpose) }
            while client.opened < min(silent + 1, UpstreamLimits.openings) {
                client.clock.advance(by: .milliseconds(1))
                await Task.yield()
            }
            #expect(client.clock.now - start >= UpstreamLimits.fairWait * (client.opened - 1))
            guard silent < UpstreamLimits.openings else {
                for _ in 1...100 {
                    client.clock.advance(by: .milliseconds(100))
                    await Task.yield()
                }
                #expect(client.opened == UpstreamLimits.openings)
                continue
            }
            #expect(await waiting.value)
            #expect(await client.ask(purpose))
            #expect(client.opened == silent + 1)
        }
    }

    @Test("if connections usually open quickly, further ones are opened sooner", arguments: 1...3)
    @ServiceLoop
    private func silentAfterReply(silent: Int) async throws {
        let server = try StreamServer { client in
            guard let query = await client.next() else { return }
            await client.write(framed(reply(to: query)))
        }
        defer { server.stop() }
        let client = Client(of: server.address, silent: 2...(silent + 1))
        defer { client.stop() }
        #expect(await client.ask(.query))
        let start = client.clock.now
        let waiting = ServiceLoop.task { await client.ask(.query) }
        while client.opened < silent + 2 {
            client.clock.advance(by: .milliseconds(1))
            await Task.yield()
        }
        #expect(await waiting.value)
        let shortest = UpstreamLimits.openingWait * ((1 << silent) - 1)
        #expect(client.clock.now - start >= shortest)
        #expect(client.clock.now - start < UpstreamLimits.fairWait * silent)
    }

    @Test("a query is repeated after an invalid certificate, if the server has answered before")
    @ServiceLoop
    func untrustedConnection() async throws {
        let server = try StreamServer { client in
            guard let query = await client.next() else { return }
            await client.write(framed(reply(to: query)))
        }
        defer { server.stop() }
        let client = Client(of: server.address, untrusted: [1, 3, 5, 6, 7, 8])
        defer { client.stop() }
        for isAnswered in [false, true, true, false] {
            #expect(await client.ask(.query) == isAnswered)
        }
        #expect(client.opened == 8)
    }

    @Test("a connection on which half of the queries get no reply is replaced")
    @ServiceLoop
    func lossyConnection() async throws {
        let server = try StreamServer { client in
            var count = 0
            while let query = await client.next() {
                count += 1
                if client.number > 0 || count % 2 == 1 {
                    await client.write(framed(reply(to: query)))
                }
            }
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        #expect(await client.ask(.query))
        // The check sends queries 2 to 5, and the repetition is query 6.
        let since = client.clock.now
        let repetition = ServiceLoop.task { await client.ask(.query, since: since) }
        await Task.yield()
        #expect(await client.ask(.query))
        client.clock.advance(by: UpstreamLimits.fairWait)
        await Task.yield()
        #expect(await client.ask(.query))
        #expect(client.opened == 2)
        client.clock.advance(by: .seconds(20))
        _ = await repetition.value
    }

    @Test("a connection on which a message does not end is replaced")
    @ServiceLoop
    func endlessMessage() async throws {
        let server = try StreamServer { client in
            if client.number == 0 { await client.write([0xEA, 0x60]) }
            while let query = await client.next() {
                await client.write(client.number == 0 ? [0] : framed(reply(to: query)))
            }
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        let start = client.clock.now
        var waiting: [Task<Bool, Never>] = []
        while client.opened < 2, client.clock.now - start < .seconds(15) {
            waiting.append(ServiceLoop.task { await client.ask(.query) })
            for _ in 1...20 { await Task.yield() }
            client.clock.advance(by: .milliseconds(100))
        }
        for query in waiting { #expect(await query.value) }
        #expect(client.clock.now - start < UpstreamLimits.message * 2)
    }

    @Test("if the further connection ends after one reply, the other queries use a new one")
    @ServiceLoop
    func endedOpening() async throws {
        let server = try StreamServer { client in
            guard let query = await client.next() else { return }
            await client.write(framed(reply(to: query)))
        }
        defer { server.stop() }
        let client = Client(of: server.address, silent: 1...1)
        defer { client.stop() }
        let waiting = (1...3).map { _ in ServiceLoop.task { await client.ask(.query) } }
        while client.opened < 4 {
            client.clock.advance(by: .milliseconds(1))
            await Task.yield()
        }
        for query in waiting { #expect(await query.value) }
        #expect(client.opened == 4)
    }

    @Test(arguments: [false, true])
    @ServiceLoop
    func `if a server answers in order, an overdue query delays only its own client`(
        isCancelled: Bool
    ) async throws {
        let slow = Count()
        let server = try Self.server(slow: slow)
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        let (one, other) = (Self.signal(1), Self.signal(2))
        #expect(await client.ask("www.example", of: one))
        let delayed = ServiceLoop.task { await client.ask("slow.example", of: one) }
        while slow.value.load(ordering: .relaxed) < 1 { await Task.yield() }
        let behind = ServiceLoop.task { await client.ask("n0.example", of: other) }
        await Task.yield()
        if isCancelled { one.cancel() }
        client.clock.advance(by: UpstreamLimits.fairWait)
        #expect(await client.ask("n1.example", of: other))
        #expect(client.opened == 2)
        let next = ServiceLoop.task { await client.ask("slow.example", of: Self.signal(1)) }
        await Task.yield()
        #expect(await client.ask("n2.example", of: other))
        #expect(client.opened == 2)
        client.clock.advance(by: .seconds(20))
        #expect(await behind.value)
        client.stop()
        for task in [delayed, next] { task.cancel() }
    }

    @Test
    @ServiceLoop
    func `if a server answers in order, overdue queries of many clients delay no other client`()
        async throws
    {
        let server = try Self.server()
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        let other = Self.signal(100)
        #expect(await client.ask("www.example", of: other))
        var behind: [Task<Bool, Never>] = []
        let count = 3 * UpstreamLimits.retiredConnections
        for number in 1...count {
            ServiceLoop.task {
                _ = await client.ask("slow.example", of: Self.signal(UInt32(number)))
            }
            await Task.yield()
            behind.append(ServiceLoop.task { await client.ask("n0.example", of: other) })
            await Task.yield()
            client.clock.advance(by: UpstreamLimits.fairWait)
            #expect(await client.ask("n1.example", of: other))
        }
        client.clock.advance(by: .seconds(20))
        for query in behind { #expect(await query.value) }
        #expect(client.opened == 1 + count)
    }

    @Test
    @ServiceLoop
    func `an unanswered query to a server that answers in any order opens no connection`()
        async throws
    {
        let server = try StreamServer { client in
            while let query = await client.next() {
                let name = (try? Message(parsing: query))?.question?.name
                if name != "slow.example" { await client.write(framed(reply(to: query))) }
            }
        }
        defer { server.stop() }
        let client = Client(of: server.address)
        defer { client.stop() }
        let slow = ServiceLoop.task { await client.ask("slow.example", of: Self.signal(1)) }
        defer { slow.cancel() }
        await Task.yield()
        #expect(await client.ask("n1.example", of: Self.signal(2)))
        client.clock.advance(by: UpstreamLimits.longestPatience)
        for number in UInt32(1)...2 {
            #expect(await client.ask("n2.example", of: Self.signal(number)))
        }
        #expect(client.opened == 1)
    }
}
