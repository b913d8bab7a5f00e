// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Attacks use bounded resources", .needs(.nsd, .curl, .python3), .hangLimit)
struct AbuseTests {
    private static func check(_ daemon: TestDaemon) throws {
        let query = RawMessage.query("localhost", id: 0xABCD)
        let datagram = try Socket(.datagram, to: daemon.port)
        try datagram.send(query)
        #expect(RawMessage.answers(try datagram.receive()) == 1)
        let stream = try Socket(.stream, to: daemon.port)
        try stream.sendFramed([query])
        #expect(RawMessage.answers(try stream.receiveFramed()) == 1)
    }

    // MARK: - Clients

    private static func crowd(_ daemon: TestDaemon) throws -> (descriptors: Int, rssOctets: Int) {
        let crowd = try Child(
            "python3",
            [
                "-c",
                """
                import resource, socket, struct, sys
                hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
                port, kept = int(sys.argv[1]), []
                for number in range(min(10_000, hard - 100)):
                    link = socket.socket()
                    # Several client addresses, because each address has a connection limit.
                    link.bind((f"127.0.0.{2 + number % 50}", 0))
                    link.settimeout(20)
                    link.connect(("127.0.0.1", port))
                    kept.append(link)
                message = struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + b"\\x09localhost\\0\\0\\1\\0\\1"
                link.sendall(struct.pack(">H", len(message)) + message)
                print("answered", len(link.recv(512)) > 12, flush=True)
                sys.stdin = open("/dev/null")
                import signal
                signal.pause()
                """, "\(daemon.port)",
            ]
        )
        #expect(try crowd.line(with: "answered").contains("True"))
        try check(daemon)
        let process = try daemon.stats()["process"]
        try crowd.stop()
        return (try #require(process["descriptors"].int), try #require(process["rss-octets"].int))
    }

    @Test("the daemon keeps at most 257 of 10,000 idle TCP connections open")
    func connections() throws {
        let daemon = try TestDaemon(unusedUpstream)
        let before = try daemon.stats()["process"]
        let first = try Self.crowd(daemon)
        let second = try Self.crowd(daemon)
        for crowded in [first, second] {
            let kept = crowded.descriptors - (before["descriptors"].int ?? 0)
            #expect(kept <= 257, "\(kept)")
        }
        let grown = first.rssOctets - (before["rss-octets"].int ?? 0)
        expectGrowth(grown, below: 8 << 20)
        expectGrowth(second.rssOctets - first.rssOctets, below: 4 << 20)
        try daemon.stop()
    }

    @Test("the daemon disconnects a TCP client that never reads")
    func unread() throws {
        let harness = try ProgramHarness()
        let before = try harness.daemon.stats()["process", "rss-octets"].int ?? 0
        let client = try Socket(.stream, to: harness.daemon.port)
        let batch = (0..<500).map { RawMessage.query("forty.example.org", id: UInt16($0)) }
        var sent = 0
        #expect(throws: (any Error).self) {
            while sent < 64 << 20 {
                try client.sendFramed(batch)
                sent += batch.count * 37
            }
        }
        try Self.check(harness.daemon)
        let grown = try #require(try harness.daemon.stats()["process", "rss-octets"].int) - before
        expectGrowth(grown, below: 8 << 20, "after \(sent)")
        try harness.daemon.stop()
    }

    @Test("a query with an OPT record of 60 KB gets an answer or FORMERR")
    func options() throws {
        let daemon = try TestDaemon(unusedUpstream)
        let client = try Socket(.stream, to: daemon.port)
        let cookie: [UInt8] = [0, 10, 0, 8] + Array("cookie/8".utf8)
        for option in [
            [0, 12, 0, 0], cookie, [0, 3, 0, 0], [0, 11, 0, 0], [0xFF, 0xFE, 0, 1, 9],
        ] as [[UInt8]] {
            let options = Array((0..<60_000 / option.count).map { _ in option }.joined())
            var query = RawMessage.query("localhost", edns: 0)
            query.removeLast(2)
            query += [UInt8(options.count >> 8), UInt8(options.count & 0xFF)] + options
            try client.sendFramed([query])
            let reply = try client.receiveFramed()
            #expect(RawMessage.rcode(reply) == 0 || RawMessage.rcode(reply) == 1)
            #expect(reply.count < 200, "\(reply.count)")
        }
        try Self.check(daemon)
        try daemon.stop()
    }

    private static func answer(_ query: [UInt8], _ name: String, _ last: UInt8) -> [UInt8] {
        var reply = Array(query[..<(12 + name.utf8.count + 2 + 4)])
        reply[2] = 0x81
        reply[3] = 0x80
        reply.replaceSubrange(4..<12, with: [0, 1, 0, 1, 0, 0, 0, 0])
        return reply + [0xC0, 12, 0, 1, 0, 1, 0, 0, 1, 0, 0, 4, 192, 0, 2, last]
    }

    @Test("the daemon ignores forged answers from an address or port that is not the upstream's")
    func otherSources() throws {
        let upstream = try Socket(.datagram, bound: true)
        let daemon = try TestDaemon(
            "upstreams: [{name: real, url: \"udp://127.0.0.1:\(upstream.port)\"}]"
        )
        let strangers = [
            try Socket(datagramAt: 0x7F00_0002, port: upstream.port),
            try Socket(.datagram, bound: true),
        ]
        for round in 0..<8 {
            let client = try Socket(.datagram, to: daemon.port)
            let name = "vault\(round).example.org"
            try client.send(RawMessage.query(name, id: 0x7777))
            let (query, port) = try upstream.receiveWithPort()
            for stranger in strangers {
                for _ in 0..<100 {
                    var forged = Self.answer(query, name, 66)
                    try stranger.send(forged, to: port)
                    forged[3] = 0x82
                    try stranger.send(forged, to: port)
                }
                try stranger.send([], to: port)
            }
            try upstream.send(Self.answer(query, name, 1), to: port)
            let reply = try client.receive()
            #expect(RawMessage.id(reply) == 0x7777)
            #expect(Array(reply.suffix(4)) == [192, 0, 2, 1], "\(reply)")
        }
        let shown = try #require(try daemon.stats()["upstreams"].array.first)
        #expect(shown["failures"].sum == 0, "\(shown.value ?? "")")
        try daemon.stop()
    }

    @Test("the daemon ignores forged answers with a wrong ID or question")
    func forgeries() throws {
        let upstream = try Socket(.datagram, bound: true)
        let daemon = try TestDaemon(
            "upstreams: [{name: real, url: \"udp://127.0.0.1:\(upstream.port)\"}]"
        )
        var generator = Seeded(6)
        for round in 0..<8 {
            let client = try Socket(.datagram, to: daemon.port)
            let name = "bank\(round).example.org"
            try client.send(RawMessage.query(name, id: 0x7777))
            _ = try upstream.serveOne { query in
                // After 8 foreign replies, the daemon would retry over TCP, so the test sends only
                // 7.
                var forged = (0..<3).map { _ in
                    var reply = Self.answer(query, name, 66)
                    let number = UInt16.random(in: 1...0xFFFF, using: &generator)
                    reply[0] ^= UInt8(number >> 8)
                    reply[1] ^= UInt8(number & 0xFF)
                    return reply
                }
                for (offset, octet) in [(13, 0x58), (query.count, 0), (12, 3)] as [(Int, UInt8)] {
                    var reply = Self.answer(query, name, 66)
                    if offset < reply.count { reply[offset] = octet }
                    if offset != query.count { forged.append(reply) }
                }
                var question = Self.answer(query, name, 66)
                question[2] = 0x01
                forged.append(question)
                forged.append(Array(query.prefix(2)))
                return forged + [Self.answer(query, name, 1)]
            }
            let reply = try client.receive()
            #expect(RawMessage.id(reply) == 0x7777)
            #expect(Array(reply.suffix(4)) == [192, 0, 2, 1], "\(reply)")
        }
        for round in 0..<8 {
            let held = try daemon.control("lookup", "bank\(round).example.org")
            #expect(held.output.contains("192.0.2.1") && !held.output.contains("192.0.2.66"))
        }
        try daemon.stop()
    }

    @Test("queries for random names cause at most `calls-per-second` vendor calls")
    func randomNames() throws {
        let harness = try ProgramHarness(vendor: "calls-per-second: 5")
        let clock = ContinuousClock()
        let start = clock.now
        let client = try Socket(.datagram, to: harness.daemon.port)
        for number in 0..<300 {
            try client.send(RawMessage.query("r\(number).example.com", id: UInt16(number)))
            #expect(RawMessage.rcode(try client.receive()) == 3)
        }
        let seconds = Int((clock.now - start).components.seconds) + 1
        let calls = try harness.emulator.lookups()
        #expect(calls >= 5 && calls <= 5 + 5 * seconds && calls < 300)
        let vendor = try #require(try harness.daemon.stats()["vendors"].array.first)
        #expect(vendor["billable-calls"].int == calls)
        #expect(vendor["failures", "pace"].int == 300 - calls)
        try harness.daemon.stop()
    }

    @Test("the daemon sends no name with line ends, NUL or markup to a vendor")
    func splitting() throws {
        let harness = try ProgramHarness()
        let client = try Socket(.datagram, to: harness.daemon.port)
        let labels = ["a\r\nX-Evil: 1", "a\0b", "a&ip=192.0.2.1", "a b", "%0d%0a", "<a>", "a\"b"]
        for label in labels {
            var query: [UInt8] = [1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
            for part in [label, "example", "com"] {
                query += [UInt8(part.utf8.count)] + Array(part.utf8)
            }
            try client.send(query + [0, 0, 1, 0, 1])
            #expect(RawMessage.rcode(try client.receive()) == 3)
        }
        #expect(try harness.emulator.lookups() == 0)
        try harness.daemon.stop()
    }

    @Test("1,000 control connections do not block httpdnsctl")
    func control() throws {
        let daemon = try TestDaemon(unusedUpstream)
        var clients: [Socket] = []
        for _ in 0..<1_000 {
            guard let client = try? Socket(unixPath: daemon.socket) else { break }
            try? client.send(Array("{\"method\":".utf8))
            clients.append(client)
        }
        try Self.check(daemon)
        clients = []
        #expect(try daemon.control("version").status == 0)
        try daemon.stop()
    }

    @Test("the daemon rejects a settings file of 17 MB")
    func settings() throws {
        let scratch = try Scratch()
        let file = try scratch.write(
            String(repeating: "# nothing at all\n", count: 1_050_000),
            to: "large.yaml"
        )
        let end = try run(Product.daemon, ["--check", "--config", file])
        #expect(end.status == 2)
        #expect(end.errors.contains("longer than 16 MiB"), "\(end.errors.prefix(200))")
    }
}
