// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("Rate limit for remote clients", .needs(.ip, .python3, .unshare), .hangLimit)
struct AmplificationTests {
    private static let flood = """
        import socket, struct, sys
        server, count, proves = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "proves"
        client = b"\\0\\x0a\\0\\x08" + b"cookie/8"
        def query(number, option):
            opt = b"\\0" + struct.pack(">HHIH", 41, 1232, 0, len(option)) + option
            return (struct.pack(">6H", number, 0x0100, 1, 0, 0, 1)
                + b"\\x09localhost\\0" + struct.pack(">HH", 1, 1) + opt)
        link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        link.connect((server, 53))
        link.settimeout(20)
        option = b""
        if proves:
            link.send(query(0, client))
            cookie = link.recv(4096)[-24:]
            option = b"\\0\\x0a\\0\\x18" + cookie
        for number in range(count):
            link.send(query(number, option))
        whole = cut = odd = 0
        try:
            while whole + cut + odd < count:
                reply = link.recv(4096)
                flags, _, answers = struct.unpack(">3H", reply[2:8])
                if flags & 0x020F == 0 and answers == 1: whole += 1
                elif flags & 0x020F == 0x0200 and answers == 0: cut += 1
                else: odd += 1
                # After the first reply, 2 s without a reply mean that the rest was dropped.
                link.settimeout(2)
        except TimeoutError:
            pass
        stream = socket.create_connection((server, 53), 20)
        message = query(7, b"")
        stream.sendall(struct.pack(">H", len(message)) + message)
        length, = struct.unpack(">H", stream.recv(2, socket.MSG_WAITALL))
        reply = stream.recv(length, socket.MSG_WAITALL)
        print(whole, cut, odd, struct.unpack(">H", reply[6:8])[0])
        """

    private struct Flood {
        let whole, cut, odd, overTCP: Int

        init(_ count: Int, at server: String, proves: Bool = false, in network: Namespace) throws {
            let end = try network.run(
                "python3",
                ["-c", AmplificationTests.flood, server, "\(count)", proves ? "proves" : "hides"]
            )
            let numbers = end.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
            try #require(numbers.count == 4, "\(end.output) \(end.errors)")
            (whole, cut, odd, overTCP) = (numbers[0], numbers[1], numbers[2], numbers[3])
        }
    }

    private static func daemon(_ limit: String, at server: String, _ network: Namespace) throws
        -> TestDaemon
    {
        try TestDaemon(
            """
            allow: [0.0.0.0/0]
            \(limit)
            \(unusedUpstream)
            """,
            listen: "\(server):53",
            in: network
        )
    }

    @Test(
        "above the limit, half of the UDP queries get truncated replies; TCP queries get answers"
    )
    func limited() throws {
        let network = try Namespace(addresses: ["192.0.2.53/24"])
        let daemon = try Self.daemon(
            "rate-limit: {queries-per-second: 5}",
            at: "192.0.2.53",
            network
        )
        let flood = try Flood(60, at: "192.0.2.53", in: network)
        #expect(flood.whole >= 5 && flood.odd == 0 && flood.overTCP == 1)
        let stats = try daemon.stats()
        let limited = try #require(stats["packets", "rate-limited"].int)
        #expect(limited == 60 - flood.whole && limited > 0)
        #expect(flood.cut == (limited + 1) / 2)
        #expect(stats["packets", "truncated-replies"].int == flood.cut)
        #expect(stats["queries", "by-source", "refused"].int == flood.cut)

        let proven = try Flood(60, at: "192.0.2.53", proves: true, in: network)
        #expect(proven.whole == 60, "a valid cookie removes the limit")
        try daemon.stop()
    }

    @Test(
        "without a limit, or on loopback, the daemon answers every query",
        arguments: [
            ("rate-limit: off", "192.0.2.53"), ("rate-limit: {queries-per-second: 1}", "127.0.0.1"),
        ]
    )
    func unlimited(limit: String, server: String) throws {
        let network = try Namespace(addresses: ["192.0.2.53/24"])
        let daemon = try Self.daemon(limit, at: server, network)
        let flood = try Flood(60, at: server, in: network)
        #expect(flood.whole == 60)
        #expect(try daemon.stats()["packets", "rate-limited"].int == 0)
        try daemon.stop()
    }

    @Test("a reload changes the rate limit")
    func reload() throws {
        let network = try Namespace(addresses: ["192.0.2.53/24"])
        let daemon = try Self.daemon("rate-limit: off", at: "192.0.2.53", network)
        try daemon.rewrite(
            """
            allow: [0.0.0.0/0]
            rate-limit: {queries-per-second: 1}
            \(unusedUpstream)
            """,
            listen: "192.0.2.53:53"
        )
        #expect(try daemon.control("reload").status == 0)
        #expect(try Flood(60, at: "192.0.2.53", in: network).whole < 60)
        try daemon.stop()
    }
}
