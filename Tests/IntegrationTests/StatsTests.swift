// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("Counters of stats", .needs(.dig, .nsd, .curl), .hangLimit)
struct StatsTests {
    private struct Sample {
        let message: [UInt8]
        let rcode: UInt8
        let source: String
        let outcome: String

        init(_ message: [UInt8], _ rcode: UInt8, _ source: String, _ outcome: String) {
            self.message = message
            self.rcode = rcode
            self.source = source
            self.outcome = outcome
        }
    }

    private static let samples = [
        Sample(RawMessage.query("www.example.com"), 0, "vendor", "noerror"),
        Sample(RawMessage.query("www.example.com"), 0, "cache", "noerror"),
        Sample(RawMessage.query("www.example.com", edns: 0), 0, "cache", "noerror"),
        Sample(RawMessage.query("four.example.com", type: 28), 0, "vendor", "nodata"),
        Sample(RawMessage.query("four.example.com", type: 28), 0, "cache", "nodata"),
        Sample(RawMessage.query("three.example.org"), 0, "upstream", "noerror"),
        Sample(RawMessage.query("nowhere.example.org"), 3, "upstream", "nxdomain"),
        Sample(RawMessage.query("nowhere.example.org"), 3, "cache", "nxdomain"),
        Sample(RawMessage.query("host.invalid"), 3, "local", "nxdomain"),
        Sample(RawMessage.query("version.bind", type: 16, class: 3), 5, "refused", "refused"),
        // For a name outside its zones, NSD answers REFUSED.
        Sample(RawMessage.query("www.example.net"), 2, "failed", "servfail"),
        Sample(RawMessage.query("www.example.com", edns: 1), 0, "invalid", "badvers"),
        Sample(RawMessage.query("www.example.com", flags: 0x2000), 4, "invalid", "notimp"),
        Sample(Array(RawMessage.query("www.example.com").dropLast(2)), 1, "invalid", "formerr"),
    ]

    @Test("each group of counters (by source, RCODE or transport) counts every query once")
    func partition() throws {
        let harness = try ProgramHarness()
        var sources: [String: Int] = [:]
        var outcomes: [String: Int] = [:]
        let sockets = try [
            Socket(.datagram, to: harness.daemon.port), Socket(.stream, to: harness.daemon.port),
        ]
        for (number, socket) in sockets.enumerated() {
            for (id, sample) in Self.samples.enumerated() {
                var message = sample.message
                message[1] = UInt8(id)
                let isStream = number == 1
                if isStream {
                    try socket.sendFramed([message])
                } else {
                    try socket.send(message)
                }
                let reply = try isStream ? socket.receiveFramed() : socket.receive()
                #expect(reply[0..<2] == message[0..<2])
                #expect(RawMessage.rcode(reply) == sample.rcode, "\(sample)")
                let wasKept = ["vendor", "upstream", "failed"].contains(sample.source)
                let source = isStream && wasKept ? "cache" : sample.source
                sources[source, default: 0] += 1
                outcomes[sample.outcome, default: 0] += 1
            }
        }
        try sockets[0].send([1, 2, 3])
        try sockets[0].send(RawMessage.query("www.example.com", flags: 0x8100))
        try sockets[0].send(RawMessage.query("www.example.com"))
        _ = try sockets[0].receive()
        sources["cache", default: 0] += 1
        outcomes["noerror", default: 0] += 1

        let stats = try harness.daemon.stats()
        let queries = stats["queries"]
        let total = 2 * Self.samples.count + 1
        #expect(queries["total"].int == total)
        for table in ["by-source", "by-rcode", "by-transport"] {
            #expect(queries[table].sum == total, "\(table)")
        }
        for (source, count) in sources {
            #expect(queries["by-source", source].int == count, "\(source)")
        }
        for (outcome, count) in outcomes {
            #expect(queries["by-rcode", outcome].int == count, "\(outcome)")
        }
        #expect(queries["by-transport", "udp"].int == Self.samples.count + 1)
        #expect(queries["by-transport", "tcp"].int == Self.samples.count)
        #expect(stats["packets", "ignored"].int == 2)
        #expect(stats["cache", "hits"].int == queries["by-source", "cache"].int)
        try harness.daemon.stop()
    }

    @Test("the counters include every query of concurrent clients")
    func load() throws {
        let harness = try ProgramHarness()
        let clients = try (0..<2).map { _ in try Socket(.datagram, to: harness.daemon.port) }
        for client in clients { try client.send(RawMessage.query("www.example.com")) }
        for client in clients { _ = try client.receive() }
        var generator = Seeded(7)
        let rounds = 200
        for _ in 0..<rounds {
            for client in clients {
                let name =
                    ["www.example.com", "WWW.EXAMPLE.COM", "nowhere.example.org"]
                    .randomElement(using: &generator) ?? ""
                try client.send(RawMessage.query(name))
            }
            for client in clients { _ = try client.receive() }
        }
        let stats = try harness.daemon.stats()
        let total = 2 + 2 * rounds
        #expect(stats["queries", "total"].int == total)
        for table in ["by-source", "by-rcode", "by-transport"] {
            #expect(stats["queries", table].sum == total, "\(table)")
        }
        #expect(stats["latency", "client", "count"].int == total)
        #expect(try harness.emulator.lookups() == 1)
        try harness.daemon.stop()
    }
}
