// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Hostile input does not stop the daemon", .needs(.nsd, .curl), .hangLimit)
struct HostileTests {
    private struct Holding {
        let rssOctets: Int
        let descriptors: Int

        init(_ daemon: TestDaemon) throws {
            let process = try daemon.stats()["process"]
            rssOctets = try #require(process["rss-octets"].int)
            descriptors = try FileManager.default
                .contentsOfDirectory(atPath: "/proc/\(daemon.program.pid)/fd").count
        }
    }

    private static func settle(_ daemon: TestDaemon, to descriptors: Int) throws -> Holding {
        for _ in 0..<300 {
            let now = try Holding(daemon)
            if now.descriptors <= descriptors { return now }
        }
        return try Holding(daemon)
    }

    private func survives(_ nastiness: (TestDaemon) throws -> Void) throws {
        for mode in Kernel.runsPrograms ? ["off", "required"] : ["off"] {
            try survives(accelerated: mode, nastiness)
        }
    }

    private func survives(
        accelerated mode: String,
        _ nastiness: (TestDaemon) throws -> Void
    ) throws {
        let harness = try ProgramHarness(settings: "accelerate: {loopback: \(mode)}")
        let daemon = harness.daemon
        try Self.check(daemon)
        let first = try Holding(daemon)
        try nastiness(daemon)
        try Self.check(daemon)
        let warm = try Self.settle(daemon, to: first.descriptors)
        try nastiness(daemon)
        try Self.check(daemon)
        let last = try Self.settle(daemon, to: first.descriptors)
        #expect(last.descriptors <= first.descriptors, "\(first) \(warm) \(last)")
        expectGrowth(warm.rssOctets - first.rssOctets, below: 8 << 20)
        expectGrowth(last.rssOctets - warm.rssOctets, below: 4 << 20)
        try daemon.stop()
    }

    private static func check(_ daemon: TestDaemon) throws {
        let query = RawMessage.query("www.example.com", id: 0xABCD)
        let datagram = try Socket(.datagram, to: daemon.port)
        try datagram.send(query)
        #expect(RawMessage.answers(try datagram.receive()) == 2)
        let stream = try Socket(.stream, to: daemon.port)
        try stream.sendFramed([query])
        #expect(RawMessage.answers(try stream.receiveFramed()) == 2)
        stream.finishSending()
        #expect(try stream.receive().isEmpty)
    }

    /// Sends messages with pauses, so that the socket buffer of the daemon does not overflow.
    private static func flood(_ daemon: TestDaemon, _ messages: some Sequence<[UInt8]>) throws {
        let socket = try Socket(.datagram, to: daemon.port)
        let marker = try Socket(.datagram, to: daemon.port)
        for (number, message) in messages.enumerated() {
            try socket.send(message)
            guard number % 32 == 31 else { continue }
            try marker.send(RawMessage.query("www.example.com"))
            _ = try marker.receive()
        }
    }

    /// Returns mutated queries for names that have no route to the vendor.
    ///
    /// For names with a route, the daemon would open connections to the vendor, and the tests would
    /// count these connections as leaked descriptors.
    private static func mutants(_ count: Int, seed: UInt64) -> [[UInt8]] {
        var generator = Seeded(seed)
        let seeds = [
            RawMessage.query("www.example.org", edns: 0),
            RawMessage.query("a.b.c.d.e.f.invalid", type: 255, edns: 1),
            RawMessage.query("localhost", type: 28), RawMessage.query("x.test", flags: 0x7FFF),
            RawMessage.query("www.example.org", class: 255),
        ]
        return (0..<count).map { _ in
            var message = seeds.randomElement(using: &generator) ?? []
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let index = Int.random(in: message.indices, using: &generator)
                message[index] = UInt8.random(in: 0...255, using: &generator)
            }
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: message.removeLast(Int.random(in: 0..<message.count, using: &generator))
            case 1:
                message += (0..<Int.random(in: 1...64, using: &generator))
                    .map { _ in UInt8.random(in: 0...255, using: &generator) }
            default: break
            }
            return message.isEmpty ? [0] : message
        }
    }

    @Test("the daemon survives mutated queries over UDP")
    func mutated() throws { try survives { try Self.flood($0, Self.mutants(2_000, seed: 1)) } }

    @Test("the daemon survives random datagrams of 1 to 65,507 octets")
    func random() throws {
        try survives { daemon in
            var generator = Seeded(2)
            let lengths = Array(1...64) + [511, 512, 513, 1_232, 4_096, 16_384, 65_506, 65_507]
            try Self.flood(
                daemon,
                (0..<6).flatMap { _ in lengths }.map { length in
                    (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
                }
            )
        }
    }

    @Test("the daemon survives compression loops and names without an end")
    func names() throws {
        let header: [UInt8] = [0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        let names: [[UInt8]] = [
            [0xC0, 0x0C], [0xC0, 0x0E, 0xC0, 0x0C], [1, 0x61, 0xC0, 0x0C], [0xFF, 0xFF], [0x40],
            [0x80, 0, 0], [63], Array(repeating: 1, count: 300),
            Array((0..<5).map { _ in [63] + [UInt8](repeating: 0x61, count: 63) }.joined()) + [0],
            Array((0..<200).map { _ in [0xC0, 0x0C] }.joined()),
        ]
        try survives { daemon in
            let messages = names.map { header + $0 + [0, 1, 0, 1] }
            try Self.flood(daemon, (0..<20).flatMap { _ in messages })
        }
    }

    @Test("the daemon survives mutated messages over TCP with wrong lengths")
    func framed() throws {
        try survives { daemon in
            var generator = Seeded(3)
            for message in Self.mutants(100, seed: 4) {
                let client = try Socket(.stream, to: daemon.port)
                let length = UInt16.random(in: 0...80, using: &generator)
                try? client.send([UInt8(length >> 8), UInt8(length & 0xFF)] + message)
                client.finishSending()
                while let octets = try? client.receive(), !octets.isEmpty {}
            }
        }
    }

    @Test("the daemon survives empty and truncated TCP messages")
    func empty() throws {
        try survives { daemon in
            let client = try Socket(.stream, to: daemon.port)
            try client.send([UInt8](repeating: 0, count: 14))
            try client.sendFramed([RawMessage.query("www.example.com", id: 9)])
            #expect(RawMessage.id(try client.receiveFramed()) == 9)
            try client.send([UInt8](repeating: 0, count: 2_000))
            #expect(try client.receive().isEmpty)
            for octets in [[0], [0, 5], [0xFF, 0xFF, 1, 2, 3], [0, 12, 0, 0]] as [[UInt8]] {
                let client = try Socket(.stream, to: daemon.port)
                try client.send(octets)
                client.finishSending()
                #expect(try client.receive().isEmpty)
            }
        }
    }

    @Test("a client with 300 TCP connections gets an answer on the newest connection")
    func connections() throws {
        try survives { daemon in
            let clients = try (0..<300).map { _ in try Socket(.stream, to: daemon.port) }
            let last = try #require(clients.last)
            try last.sendFramed([RawMessage.query("www.example.com", id: 300)])
            #expect(RawMessage.id(try last.receiveFramed()) == 300)
            for client in clients { client.finishSending() }
            for client in clients { while let octets = try? client.receive(), !octets.isEmpty {} }
        }
    }

    @Test("a client that reads late gets the answers to all 500 queries")
    func pipeline() throws {
        try survives { daemon in
            let client = try Socket(.stream, to: daemon.port)
            for batch in 0..<10 {
                try client.sendFramed(
                    (0..<50).map { number in
                        RawMessage.query("forty.example.org", id: UInt16(batch * 50 + number))
                    }
                )
            }
            client.finishSending()
            var ids = Set<UInt16>()
            for _ in 0..<500 { ids.insert(RawMessage.id(try client.receiveFramed())) }
            #expect(ids.count == 500)
            #expect(try client.receive().isEmpty)
        }
    }

    @Test("a slow reader that pipelines queries with large answers gets all answers")
    func slowReader() throws {
        let server = try TestUpstream()
        let daemon = try TestDaemon(
            "upstreams: [{name: one, url: \"udp://127.0.0.1:\(server.port)\"}]"
        )
        #expect(try daemon.dig("big.example.org", "TXT").answers.count == TestUpstream.big.count)
        let client = try Socket(.stream, receiving: 8 << 10, to: daemon.port)
        let count = 10_000
        let sender = Thread {
            for batch in 0..<100 {
                let queries = (0..<count / 100).map { number in
                    RawMessage.query(
                        "big.example.org",
                        type: 16,
                        id: UInt16(batch * count / 100 + number)
                    )
                }
                guard (try? client.sendFramed(queries)) != nil else { return }
            }
            client.finishSending()
        }
        sender.start()
        var octets = 0
        while case let piece = try client.receive(upTo: 3_000), !piece.isEmpty {
            octets += piece.count
        }
        #expect(octets > count * TestUpstream.big.count * 240)
        #expect(try daemon.dig("localhost", "A", "+tcp").data("A") == ["127.0.0.1"])
        try daemon.stop()
    }

    @Test("the daemon survives clients that reset connections with pending answers")
    func resets() throws {
        try survives { daemon in
            for number in 0..<100 {
                let client = try Socket(.stream, to: daemon.port)
                try client.sendFramed([
                    RawMessage.query("n\(number).example.org"),
                    RawMessage.query("www.example.com"),
                ])
                client.resetAtEnd()
            }
        }
    }

    @Test("the daemon survives invalid messages on the control socket")
    func control() throws {
        try survives { daemon in
            var generator = Seeded(5)
            for text in [
                "", "{}", "[]", "null", "{\"method\":1}", "{\"method\":\"x\"}",
                String(repeating: "[", count: 10_000), String(repeating: "a", count: 200_000),
                "{\"method\":\"io.httpdnsd.Control.Lookup\",\"parameters\":{\"name\":7}}",
            ] {
                let client = try Socket(unixPath: daemon.socket)
                try? client.send(Array(text.utf8) + [0])
                try? client.send((0..<50).map { _ in UInt8.random(in: 0...255, using: &generator) })
                client.finishSending()
                while let octets = try? client.receive(), !octets.isEmpty {}
            }
            #expect(try daemon.control("status").status == 0)
        }
    }
}
