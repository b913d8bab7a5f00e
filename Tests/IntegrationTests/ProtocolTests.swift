// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Replies to every kind of message (RFC 1035, RFC 8906, RFC 9619)", .needs(.dig), .hangLimit)
struct ProtocolTests {
    /// Both transports are required (RFC 1123 §6.1.3.2).
    private static let transports = [Socket.Kind.datagram, .stream]

    private static func reply(
        to message: [UInt8],
        _ kind: Socket.Kind,
        at daemon: TestDaemon
    ) throws -> [UInt8] {
        let socket = try Socket(kind, to: daemon.port)
        guard kind == .stream else {
            try socket.send(message)
            return try socket.receive()
        }
        try socket.sendFramed([message])
        return try socket.receiveFramed()
    }

    private static func header(_ flags: UInt16) -> [UInt8] {
        [0x12, 0x34, UInt8(flags >> 8), UInt8(flags & 0xFF)] + [UInt8](repeating: 0, count: 8)
    }

    @Test("a malformed query gets FORMERR with the query's ID and with EDNS", arguments: transports)
    func malformed(kind: Socket.Kind) throws {
        let daemon = try TestDaemon(unusedUpstream)
        let good = RawMessage.query("localhost", edns: 0)
        func changed(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
            var message = good
            change(&message)
            return message
        }
        let messages: [(String, [UInt8])] = [
            ("no question", Self.header(0x0100)),
            ("no question, but EDNS", changed { $0[5] = 0 }),
            ("two questions", changed { $0[5] = 2 }),
            ("a question that is cut", Array(good.prefix(20))),
            ("an OPT that is cut", Array(good.dropLast(3))),
            ("octets after the end", good + [0]),
            (
                "two OPTs",
                changed {
                    $0[11] = 2; $0 += good.suffix(11)
                }
            ),
            (
                "options that overrun",
                changed {
                    $0[$0.count - 1] = 4; $0 += [0, 3, 0, 1]
                }
            ),
            ("a pointer for a name", changed { $0.replaceSubrange(12..<23, with: [0xC0, 0x0C]) }),
            ("an obsolete label type", changed { $0[12] = 0x41 }),
            ("more records than are there", changed { $0[7] = 1 }),
        ]
        for (label, message) in messages {
            let reply = try Self.reply(to: message, kind, at: daemon)
            var header = Self.header(0x8181)
            if reply.count > header.count {
                // RFC 6891 §6.1.1: ARCOUNT is 1, for an OPT without options (11 octets).
                header[11] = 1
                #expect(reply.count == 23 && reply[12...14] == [0, 0, 41], "\(label): \(reply)")
            }
            #expect(Array(reply.prefix(12)) == header, "\(label): \(reply)")
        }
        try daemon.stop()
    }

    @Test("an unknown opcode gets NOTIMP", arguments: transports)
    func opcodes(kind: Socket.Kind) throws {
        let daemon = try TestDaemon(unusedUpstream)
        // The opcodes include NOTIFY (RFC 1996) and UPDATE (RFC 2136).
        for opcode in UInt16(1)...15 {
            let message = RawMessage.query("localhost", flags: opcode << 11 | 0x0100)
            let reply = try Self.reply(to: message, kind, at: daemon)
            #expect(reply == Self.header(0x8104 | opcode << 11), "\(opcode): \(reply)")
        }
        try daemon.stop()
    }

    @Test(
        "the daemon does not answer a message with the QR bit set (RFC 1035 §7.3)",
        arguments: transports
    )
    func replies(kind: Socket.Kind) throws {
        let daemon = try TestDaemon(unusedUpstream)
        let socket = try Socket(kind, to: daemon.port)
        for flags in [UInt16(0x8000), 0x8180, 0xF800, 0x8183] {
            let reply = RawMessage.query("localhost", id: 1, flags: flags)
            try kind == .stream ? socket.sendFramed([reply]) : socket.send(reply)
        }
        let query = RawMessage.query("localhost", id: 2)
        try kind == .stream ? socket.sendFramed([query]) : socket.send(query)
        let first = try kind == .stream ? socket.receiveFramed() : socket.receive()
        #expect(RawMessage.id(first) == 2)
        try daemon.stop()
    }

    @Test("a reply copies RD and CD, and clears AD and the reserved bits (RFC 6840 §5.7)")
    func flags() throws {
        let daemon = try TestDaemon(unusedUpstream)
        for (flags, expected) in [
            (UInt16(0), UInt16(0x8080)), (0x0100, 0x8180), (0x0010, 0x8090), (0x0020, 0x8080),
            (0x0040, 0x8080), (0x0600, 0x8080), (0x07FF, 0x8190),
        ] {
            let message = RawMessage.query("localhost", flags: flags)
            let reply = try Self.reply(to: message, .datagram, at: daemon)
            #expect(reply.prefix(4).suffix(2) == [UInt8(expected >> 8), UInt8(expected & 0xFF)])
        }
        try daemon.stop()
    }
}

@Suite("EDNS is hop-by-hop (RFC 6891 §6.1.1)", .needs(.dig), .hangLimit)
struct HopByHopTests {
    private static func settings(_ upstream: Socket) -> String {
        "upstreams: [{name: recorder, url: \"udp://127.0.0.1:\(upstream.port)\"}]"
    }

    private static let options = [
        "+nsid", "+subnet=192.0.2.0/24", "+expire", "+padding=128", "+keepalive",
        "+cookie=0102030405060708", "+ednsopt=65001:deadbeef", "+ednsopt=20000",
    ]

    @Test("the daemon neither forwards nor returns the EDNS options of a query")
    func options() throws {
        let upstream = try Socket(.datagram, bound: true)
        let daemon = try TestDaemon(Self.settings(upstream))
        let dig = try Child(
            "dig",
            [
                "-r", "@127.0.0.1", "-p", "\(daemon.port)", "+tries=1", "+time=6", "+qr",
                "www.example.org", "A",
            ] + Self.options
        )
        let query = try upstream.serveOne { RawMessage.denial(of: $0) }
        // The upstream receives an OPT with payload size 1,232, no DO and no options.
        #expect(query.suffix(11) == [0, 0, 41, 4, 0xD0, 0, 0, 0, 0, 0, 0])
        let whole = try dig.end().output
        let reply = try #require(whole.components(separatedBy: "Got answer:").last)
        #expect(reply.contains("status: NXDOMAIN"), "\(reply)")
        #expect(reply.contains("; EDNS: version: 0, flags:; udp: 1232\n"), "\(reply)")
        for word in ["NSID", "CLIENT-SUBNET", "EXPIRE", "PAD", "KEEPALIVE", "COOKIE", "OPT="] {
            #expect(!reply.contains("; \(word)"), "\(reply)")
        }
        try daemon.stop()
    }

    @Test("the daemon ignores a malformed client subnet option (RFC 7871)")
    func brokenSubnet() throws {
        let upstream = try Socket(.datagram, bound: true)
        let daemon = try TestDaemon(Self.settings(upstream))
        let reply = try daemon.dig("localhost", "A", "+ednsopt=8:0009ff00aa")
        #expect(reply.status == "NOERROR", "\(reply.text)")
        #expect(!reply.text.contains("CLIENT-SUBNET"))
        try daemon.stop()
    }

    @Test("if no upstream can be reached, SERVFAIL has EDE 23", arguments: ["+notcp", "+tcp"])
    func reasons(transport: String) throws {
        let daemon = try TestDaemon("\(unusedUpstream)\nallow: [127.0.0.1/32]")
        let failed = try daemon.dig("www.example.org", "A", transport)
        #expect(failed.status == "SERVFAIL", "\(failed.text)")
        #expect(failed.text.contains("EDE: 23 (Network Error): (no upstream could be reached)"))
        let refused = try daemon.dig("www.example.org", "A", transport, "-b", "127.0.0.2")
        #expect(refused.status == "REFUSED", "\(refused.text)")
        #expect(refused.text.contains("EDE: 18 (Prohibited)"), "\(refused.text)")
        let silent = try daemon.dig("other.example.org", "A", transport, "+noedns")
        #expect(silent.status == "SERVFAIL" && !silent.text.contains("OPT PSEUDOSECTION"))
        try daemon.stop()
    }
}

@Suite("Cookies beyond loopback (RFC 7873 §5.2, RFC 9018)", .needs(.dig), .hangLimit)
struct CookieTests {
    private static let settings = """
        \(unusedUpstream)
        allow: [127.0.0.0/8]
        """

    private static func cookies(_ reply: Dig) -> String? {
        let line = reply.text.split(separator: "\n").first { $0.hasPrefix("; COOKIE: ") }
        return line.map { String($0.dropFirst("; COOKIE: ".count).prefix { $0 != " " }) }
    }

    @Test("dig accepts the daemon's DNS cookie and answer", arguments: ["+notcp", "+tcp"])
    func good(transport: String) throws {
        let daemon = try TestDaemon(Self.settings, listen: "0.0.0.0:0")
        for attempt in ["miss", "hit"] {
            let first = try daemon.dig("name.invalid", "A", transport, "+cookie=0102030405060708")
            #expect(first.status == "NXDOMAIN", "\(attempt): \(first.text)")
            #expect(first.text.contains(" (good)"), "\(attempt): \(first.text)")
            let cookies = try #require(Self.cookies(first))
            #expect(cookies.hasPrefix("010203040506070801000000"), "\(attempt): \(cookies)")
            #expect(cookies.count == 48)
            let again = try daemon.dig("name.invalid", "A", transport, "+cookie=\(cookies)")
            #expect(Self.cookies(again) == cookies, "\(again.text)")
            let other = try daemon.dig(
                "name.invalid",
                "A",
                transport,
                "+cookie=\(cookies)",
                "-b",
                "127.0.0.2"
            )
            #expect(other.status == "NXDOMAIN", "\(other.text)")
            #expect(Self.cookies(other) != cookies && other.text.contains(" (good)"))
        }
        try daemon.stop()
    }
}
