// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import Resolver
import Testing

@testable import Server

@Suite("Queries that no worker answers", .timeLimit(.minutes(1)))
struct ListeningDeskTests {
    init() { ServiceLoop.start() }

    /// The reply to a query, waited for if need be.
    @ServiceLoop
    private static func reply(
        _ octets: [UInt8],
        at office: Office,
        over transport: QueryTransport = .udp,
        isAllowed: Bool = true
    ) async throws -> Message? {
        switch office.desk.look(
            at: octets,
            over: transport,
            isAllowed: isAllowed,
            arrival: Clock.now
        )
        {
        case .nothing: nil
        case .reply(let reply): try Message(parsing: reply)
        case .question(let open): try Message(parsing: await office.desk.resolve(open))
        }
    }

    @Test
    @ServiceLoop
    func `a miss is resolved, and the next one is a hit`() async throws {
        let office = Office()
        for _ in 0..<2 {
            let message = try #require(
                try await Self.reply(query("wWw.example.com", id: 77), at: office)
            )
            #expect(message.header.id == 77)
            #expect(message.questions[0].name.octets == (try Name("wWw.example.com")).octets)
            #expect(message.answers.count == 1)
        }
        #expect(office.counted.bySource["upstream"] == 1)
        #expect(office.counted.bySource["cache"] == 1)
        #expect(office.counted.total == 2)
        #expect(office.desk.inFlight == 0)
    }

    @Test
    @ServiceLoop
    func `a query of a rare shape is answered like a plain one`() async throws {
        let office = Office()
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
        let message = try #require(try await Self.reply(octets, at: office))
        #expect(message.header.id == 5)
        #expect(message.answers.count == 1)
        #expect(message.edns?.dnssecOK == true)
        #expect(message.additionals.isEmpty)
    }

    @Test
    @ServiceLoop
    func `a rare shape that is broken is a malformed query`() async throws {
        let office = Office()
        var octets = try query("www.example.com")
        octets[7] = 1
        let message = try #require(try await Self.reply(octets, at: office))
        #expect(message.rcode == .formErr)
        #expect(office.counted.byOutcome["formerr"] == 1)
    }

    @Test
    @ServiceLoop
    func `over TCP an answer is whole, over UDP it is cut`() async throws {
        let office = Office()
        try office.store("big.example.com", addresses: 100)
        let octets = try query("big.example.com")
        let cut = try #require(try await Self.reply(octets, at: office))
        #expect(cut.header.isTruncated)
        #expect(cut.answers.isEmpty)
        let whole = try #require(try await Self.reply(octets, at: office, over: .tcp))
        #expect(!whole.header.isTruncated)
        #expect(whole.answers.count == 100)
        #expect(office.counted.truncated == 1)
        #expect(office.counted.byTransport == ["udp": 1, "tcp": 1])
    }

    @Test
    @ServiceLoop
    func `who may not ask is refused, whatever is in the cache`() async throws {
        let office = Office()
        try office.store("www.example.com")
        let message = try #require(
            try await Self.reply(query("www.example.com"), at: office, isAllowed: false)
        )
        #expect(message.rcode == .refused)
        #expect(office.counted.bySource["refused"] == 1)
    }

    @Test
    @ServiceLoop
    func `what is no query is counted apart`() async throws {
        let office = Office()
        #expect(try await Self.reply([1, 2, 3], at: office) == nil)
        #expect(office.counted.ignored == 1)
        #expect(office.counted.total == 0)
    }

    @Test
    @ServiceLoop
    func `when too many wait, one more is told so at once`() async throws {
        let office = Office()
        let tasks = try (0..<ResolverLimits.inFlight).map { index in
            let octets = try query("slow.n\(index).example.com")
            return Task { @ServiceLoop in _ = try await Self.reply(octets, at: office) }
        }
        await office.upstream.crowd(of: ResolverLimits.inFlight)
        #expect(office.desk.inFlight == ResolverLimits.inFlight)
        let octets = try query("one.more.example.com") { $0.edns = EDNS() }
        let message = try #require(try await Self.reply(octets, at: office))
        #expect(message.rcode == .servFail)
        #expect(message.edns?.extendedErrors.first?.text == "too many queries wait")
        #expect(office.desk.overflowed == 1)
        office.upstream.release()
        for task in tasks { try await task.value }
        await office.desk.drained(by: Clock.now + .seconds(30))
        #expect(office.desk.inFlight == 0)
    }

    @Test
    @ServiceLoop
    func `draining ends when the last answer is there, or at its deadline`() async throws {
        let office = Office()
        await office.desk.drained(by: Clock.now + .seconds(60))
        let octets = try query("slow.example.com")
        let task = Task { @ServiceLoop in _ = try await Self.reply(octets, at: office) }
        await office.upstream.crowd(of: 1)
        await office.desk.drained(by: Clock.now + .milliseconds(20))
        #expect(office.desk.inFlight == 1)
        let drained = Task { @ServiceLoop in
            await office.desk.drained(by: Clock.now + .seconds(120))
        }
        await Task.yield()
        office.upstream.release()
        await drained.value
        try await task.value
        #expect(office.desk.inFlight == 0)
    }
}

@Suite("A TCP client (RFC 7766)", .timeLimit(.minutes(1)))
struct ListeningSessionTests {
    init() { ServiceLoop.start() }

    /// A server of `office` and a client of it.
    @ServiceLoop
    private static func connect(
        _ office: Office,
        allow: [String] = ["127.0.0.0/8"]
    ) async throws -> (server: TCPServer, client: StreamConnection) {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let listener = try StreamListener(binding: any)
        let address = try #require(listener.localAddress)
        let server = TCPServer(
            listener,
            address: address,
            desk: office.desk,
            access: AccessList(try allow.map { try #require(IPPrefix($0)) })
        )
        Task { @ServiceLoop in try await server.run() }
        return (
            server,
            try await StreamConnection.connect(to: address, deadline: Clock.now + .seconds(20))
        )
    }

    /// Reads so many replies, or to the end.
    @ServiceLoop
    private static func read(
        _ count: Int = .max,
        from client: StreamConnection
    ) async throws -> [Message] {
        var octets: [UInt8] = []
        var messages: [Message] = []
        while messages.count < count {
            let more = try await client.read(upTo: 4096, deadline: Clock.now + .seconds(20))
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

    private static let patience: Duration = .seconds(20)

    @Test
    @ServiceLoop
    func `answers overtake each other`() async throws {
        let office = Office()
        try office.store("www.example.com")
        let (server, client) = try await Self.connect(office)
        defer { server.stop() }
        try await client.write(
            framed(query("slow.example.com", id: 1)) + framed(query("www.example.com", id: 2))
                + framed(query("quick.example.com", id: 3)),
            deadline: Clock.now + Self.patience
        )
        let first = try await Self.read(2, from: client)
        #expect(Set(first.map(\.header.id)) == [2, 3])
        await office.upstream.crowd(of: 1)
        office.upstream.release()
        #expect(try await Self.read(1, from: client).map(\.header.id) == [1])
        #expect(office.counted.byTransport["tcp"] == 3)
        client.close()
    }

    @Test
    @ServiceLoop
    func `queries that come octet by octet are read`() async throws {
        let office = Office()
        try office.store("www.example.com")
        let (server, client) = try await Self.connect(office)
        defer { server.stop() }
        for octet in try framed(query("www.example.com", id: 9)) {
            try await client.write([octet], deadline: Clock.now + Self.patience)
        }
        #expect(try await Self.read(1, from: client).map(\.header.id) == [9])
        client.close()
    }

    @Test
    @ServiceLoop
    func `more queries than may wait are answered all the same`() async throws {
        let office = Office()
        let (server, client) = try await Self.connect(office)
        defer { server.stop() }
        var octets: [UInt8] = []
        for id in UInt16(0)..<350 {
            octets += framed(
                try query(id < 100 ? "slow.n\(id).example.com" : "n\(id).example.com", id: id)
            )
        }
        try await client.write(octets, deadline: Clock.now + Self.patience)
        await office.upstream.crowd(of: TCPLimits.pending)
        #expect(office.desk.inFlight == TCPLimits.pending)
        office.upstream.release()
        let replies = try await Self.read(350, from: client)
        #expect(Set(replies.map(\.header.id)) == Set(0..<350))
        client.close()
    }

    @Test
    @ServiceLoop
    func `a client that has said all still gets its answers`() async throws {
        let office = Office()
        try office.store("www.example.com")
        let (server, client) = try await Self.connect(office)
        defer { server.stop() }
        try await client.write(
            framed(query("slow.example.com", id: 1)) + framed(query("www.example.com", id: 2)),
            deadline: Clock.now + Self.patience
        )
        try client.shutdownWrite()
        await office.upstream.crowd(of: 1)
        office.upstream.release()
        #expect(Set(try await Self.read(from: client).map(\.header.id)) == [1, 2])
    }

    @Test
    @ServiceLoop
    func `what is not answered does not stop what is`() async throws {
        let office = Office()
        try office.store("www.example.com")
        let (server, client) = try await Self.connect(office)
        defer { server.stop() }
        let reply = try query("www.example.com", id: 1) { $0.header.isResponse = true }
        try await client.write(
            framed([]) + framed([1, 2, 3]) + framed(reply)
                + framed(query("www.example.com", id: 2)),
            deadline: Clock.now + Self.patience
        )
        #expect(try await Self.read(1, from: client).map(\.header.id) == [2])
        #expect(office.counted.ignored == 3)
        client.close()
    }

    @Test
    @ServiceLoop
    func `a client that may not ask is refused`() async throws {
        let office = Office()
        let (server, client) = try await Self.connect(office, allow: ["192.0.2.0/24"])
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
    func `a server that has finished closes its connections`() async throws {
        let office = Office()
        try office.store("www.example.com")
        let (server, client) = try await Self.connect(office)
        try await client.write(
            framed(query("www.example.com")),
            deadline: Clock.now + Self.patience
        )
        #expect(try await Self.read(1, from: client).count == 1)
        #expect(server.connections == 1)
        server.stop()
        server.finish()
        #expect(try await Self.read(from: client).isEmpty)
    }

    @Test
    @ServiceLoop
    func `a client with too many connections loses the idlest`() async throws {
        let office = Office()
        try office.store("www.example.com")
        let (server, first) = try await Self.connect(office)
        defer { server.stop() }
        var clients = [first]
        for _ in 0..<TCPLimits.connectionsPerClient {
            // An answer tells that the connection was accepted, in this order.
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
        #expect(server.evictedConnections == 1)
        #expect(server.connections == TCPLimits.connectionsPerClient)
        #expect(try await Self.read(from: first).isEmpty)
    }
}

@Suite("A worker over real sockets", .timeLimit(.minutes(1)))
struct ListeningWorkerTests {
    init() { ServiceLoop.start() }

    @Test
    @ServiceLoop
    func `hits are answered in place, misses are handed over, replies are ignored`() async throws {
        let office = Office()
        try office.store("www.example.com", addresses: 2)
        try office.store("big.example.com", addresses: 100)
        let listener = try DatagramListener(
            binding: #require(SocketAddress("127.0.0.1:0")),
            shared: false
        )
        let misses = try MissDesk { miss in
            let look = office.desk.look(
                at: miss.datagram.octets,
                over: .udp,
                isAllowed: true,
                arrival: miss.arrival
            )
            switch look {
            case .nothing: break
            case .reply(let reply): _ = miss.listener.send(reply, inReplyTo: miss.datagram)
            case .question(let open):
                Task { @ServiceLoop in
                    _ = miss.listener.send(
                        await office.desk.resolve(open),
                        inReplyTo: miss.datagram
                    )
                }
            }
        }
        let worker = UDPWorker(
            listener,
            cache: office.cache,
            access: AccessList([try #require(IPPrefix("127.0.0.1/32"))]),
            desk: misses
        )
        let thread = try WorkerThread(named: "worker") { worker.run() }
        let client = try DatagramSocket(connectedTo: listener.address)

        func ask(_ octets: [UInt8]) async throws -> Message {
            try client.send(octets)
            return try Message(parsing: await client.receive(deadline: Clock.now + .seconds(20)))
        }
        let hit = try await ask(query("WWW.example.com", id: 1))
        #expect(hit.answers.count == 2)
        #expect(hit.questions[0].name.octets == (try Name("WWW.example.com")).octets)
        let cut = try await ask(query("big.example.com", id: 2))
        #expect(cut.header.isTruncated)
        let miss = try await ask(query("other.example.com", id: 3))
        #expect(miss.answers.count == 1)
        #expect(miss.header.id == 3)
        let notImp = try await ask(
            query("x.example.com") { $0.header.opcode = Opcode(rawValue: 5) }
        )
        #expect(notImp.rcode == .notImp)
        let second = try await ask(query("other.example.com", id: 4))
        #expect(second.header.id == 4)
        // Not answered; the one after it is.
        try client.send(query("www.example.com", id: 5) { $0.header.isResponse = true })
        try client.send([])
        let last = try await ask(query("www.example.com", id: 6))
        #expect(last.header.id == 6)

        // Before the worker is woken for its end, which looks like an empty datagram.
        var sums = QuerySums()
        worker.counters.add(to: &sums)
        worker.stop()
        thread.join()
        #expect(sums.bySource["cache"] == 4)
        #expect(sums.bySource["invalid"] == 1)
        #expect(sums.total == 5)
        #expect(sums.ignored == 2)
        #expect(sums.truncated == 1)
        #expect(sums.unsent == 0)
        #expect(office.counted.bySource["upstream"] == 1)
        client.close()
    }

    @Test
    @ServiceLoop
    func `who may not ask is refused by the worker`() async throws {
        let office = Office()
        try office.store("www.example.com")
        let listener = try DatagramListener(
            binding: #require(SocketAddress("127.0.0.1:0")),
            shared: false
        )
        let misses = try MissDesk { _ in Issue.record("handed over") }
        let worker = UDPWorker(
            listener,
            cache: office.cache,
            access: AccessList([]),
            desk: misses
        )
        let thread = try WorkerThread(named: "worker") { worker.run() }
        let client = try DatagramSocket(connectedTo: listener.address)
        try client.send(query("www.example.com", id: 8))
        let reply = try Message(parsing: await client.receive(deadline: Clock.now + .seconds(20)))
        #expect(reply.rcode == .refused)
        #expect(reply.header.id == 8)
        worker.stop()
        thread.join()
        client.close()
    }
}
