// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Listening", .needs(.dig, .nsd, .curl), .hangLimit)
struct ListeningTests {
    @Test("the daemon answers queries over IPv6 as over IPv4", arguments: ["+notcp", "+tcp"])
    func loopback6(transport: String) throws {
        let daemon = try TestDaemon(unusedUpstream, listen: "[::1]:0")
        let reply = try daemon.dig("localhost", "AAAA", transport, server: "::1")
        #expect(reply.data("AAAA") == ["::1"], "\(reply.text)")
        try daemon.stop()
    }

    @Test("the daemon has at most 128 workers for all addresses together, also after a reload")
    func workers() throws {
        let settings = "workers: 256\n\(unusedUpstream)"
        let listen = ["127.0.0.1:0", "127.0.0.2:0", "127.0.0.3:0", "127.0.0.4:0"]
        let daemon = try TestDaemon(settings, listen: listen[0], listen[1], listen[2])
        _ = try daemon.program.line(with: "each address gets 42")
        let workers = {
            let process = "/proc/\(daemon.program.pid)"
            let open = try FileManager.default.contentsOfDirectory(atPath: "\(process)/fd")
                .compactMap {
                    try? FileManager.default.destinationOfSymbolicLink(
                        atPath: "\(process)/fd/\($0)"
                    )
                }
            let file = try #require(FileHandle(forReadingAtPath: "\(process)/net/udp"))
            return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
                .split(separator: "\n").dropFirst()
                .map { $0.split(separator: " ") }
                .filter { $0[3] == "07" && open.contains("socket:[\($0[9])]") }.count
        }
        var count = try workers()
        #expect(count == 126)
        try daemon.rewrite(settings, listen: listen[0], listen[1], listen[2], listen[3])
        #expect(try daemon.control("reload").status == 0)
        count = try workers()
        #expect(count == 128)
        try daemon.stop()
    }

    private struct Poor {
        let namespace: Namespace
        let scratch: Scratch
        let daemon: Child

        init(after script: String, listen: String = "") throws {
            namespace = try Namespace()
            scratch = try Scratch()
            let end = try namespace.run("sh", ["-c", script])
            try #require(end.status == 0, "\(end.errors)")
            let file = try scratch.write(
                "\(listen)control: {socket: \(scratch.file("c"))}\n\(unusedUpstream)\n",
                to: "httpdnsd.yaml"
            )
            daemon = try Child(Product.daemon, ["--config", file], in: namespace)
        }
    }

    private static let removals = [
        ("[::1]:53", "127.0.0.1", "echo 1 >/proc/sys/net/ipv6/conf/lo/disable_ipv6"),
        ("127.0.0.1:53", "::1", "ip address del 127.0.0.1/8 dev lo"),
    ]

    @Test(
        "if a machine has no IPv4 or no IPv6 loopback address, the daemon starts with a warning",
        .needs(.unshare, .ip),
        arguments: removals
    )
    func family(_ missing: String, _ server: String, _ removal: String) throws {
        let host = try Poor(after: removal)
        let warning = try host.daemon.line(with: "not listening on ")
        #expect(warning.contains("\(missing): bind: Cannot assign requested address, ignoring"))
        _ = try host.daemon.line(with: "answering on ")
        let reply = try Dig(port: 53, ["localhost", "A"], server: server, in: host.namespace)
        #expect(reply.data("A") == ["127.0.0.1"], "\(reply.text)")
        #expect(try host.daemon.stop().status == 0)
    }

    @Test("without IPv6 in the kernel, the daemon skips a configured IPv6 address")
    func withoutIPv6() throws {
        let scratch = try Scratch()
        let file = try scratch.write(
            """
            listen: ["127.0.0.1:0", "[::1]:0"]
            control: {socket: \(scratch.file("c"))}
            \(unusedUpstream)
            """,
            to: "httpdnsd.yaml"
        )
        let launcher = repositoryPath("scripts/without-ipv6")
        let daemon = try Child(launcher, [Product.daemon, "--config", file])
        let warning = try daemon.line(with: "not listening on [::1]:0")
        #expect(warning.contains("Address family not supported by protocol, ignoring"))
        _ = try daemon.line(with: "answering on 127.0.0.1:")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        _ = try scratch.write(text.replacing("127.0.0.1:0\", \"", with: ""), to: "httpdnsd.yaml")
        for verb in ["check", "reload"] {
            let end = try run(Product.control, ["--socket", scratch.file("c"), verb])
            #expect(end.status == 1, "no address would be left: \(end.output)\(end.errors)")
        }
        #expect(try daemon.stop().status == 0)
    }

    @Test(
        "the daemon reports a listen address that no interface has, and serves the address later",
        .needs(.unshare, .ip)
    )
    func laterAddress() throws {
        let namespace = try Namespace()
        let settings =
            unusedUpstream + "\nallow: [127.0.0.0/8, 192.0.2.0/24, \"2001:db8::/64\"]"
        let daemon = try TestDaemon(
            settings,
            listen: "127.0.0.1:53",
            "192.0.2.6:53",
            "192.0.2.7:53",
            "[2001:db8::7]:53",
            in: namespace
        )
        #expect(try daemon.dig("localhost", "A").data("A") == ["127.0.0.1"])
        try daemon.rewrite(
            settings,
            listen: "127.0.0.1:53",
            "192.0.2.7:53",
            "[2001:db8::7]:53"
        )
        #expect(try daemon.control("reload").status == 0)
        let problems = [
            "listener 192.0.2.7:53: no interface has this address",
            "listener [2001:db8::7]:53: no interface has this address",
        ]
        let status = try daemon.control("status", "--json")
        #expect(status.status == 4)
        #expect(try JSON(status.output)["problems"].array.compactMap(\.string) == problems)

        try namespace.ip(
            "link add late type veth peer name peer",
            "link set peer up",
            "link set late up",
            "address add 192.0.2.6/24 dev late",
            "address add 192.0.2.7/24 dev late",
            "address add 2001:db8::7/64 dev late nodad"
        )
        _ = try daemon.program.line(
            with: "listener 192.0.2.7:53: an interface has the address now, answering"
        )
        for (server, transport) in [
            ("192.0.2.7", "+notcp"), ("192.0.2.7", "+tcp"), ("2001:db8::7", "+notcp"),
        ] {
            let reply = try daemon.dig("localhost", "A", transport, server: server)
            #expect(reply.data("A") == ["127.0.0.1"], "\(server) \(transport) \(reply.text)")
        }
        let later = try daemon.control("status", "--json")
        #expect(later.status == 0, "\(later.output)")
        let end = try daemon.program.stop()
        #expect(end.status == 0)
        #expect(!end.errors.contains("192.0.2.6:53: an interface has the address"))
    }

    private static func add(_ address: String, on interface: String, in machine: Namespace) throws {
        try machine.ip(
            "link add \(interface) type veth peer name peer",
            "link set peer up",
            "link set \(interface) up",
            "address add \(address)/64 dev \(interface) nodad"
        )
    }

    @Test(
        "the daemon serves a link-local address after each creation of the address's interface",
        .needs(.unshare, .ip)
    )
    func laterInterface() throws {
        let namespace = try Namespace()
        let settings = """
            allow: [127.0.0.0/8, "fe80::/10"]
            metrics: {listen: "[fe80::7%late]:9353"}
            upstreams: [{name: unused, url: "udp://[fe80::9%late]"}]
            """
        let (listen, problem) = ("[fe80::7%late]:53", "no interface has this address")
        let daemon = try TestDaemon(settings, listen: "127.0.0.1:53", listen, in: namespace)
        #expect(try daemon.dig("localhost", "A").data("A") == ["127.0.0.1"])
        func problems() throws -> [String] {
            let status = try daemon.control("status", "--json")
            return try JSON(status.output)["problems"].array.compactMap(\.string)
        }
        let absent = [
            "metrics: no interface has the address [fe80::7%late]:9353",
            "listener \(listen): \(problem)",
        ]
        #expect(try problems() == absent)
        #expect(try daemon.control("check").status == 0)
        #expect(try daemon.control("reload").status == 0)
        for round in 1...2 {
            try Self.add("fe80::7", on: "late", in: namespace)
            _ = try daemon.program.line(
                with: "listener \(listen): the interface exists now, answering",
                number: round
            )
            for transport in ["+notcp", "+tcp"] {
                let reply = try daemon.dig("localhost", "A", transport, server: "fe80::7%late")
                #expect(reply.data("A") == ["127.0.0.1"], "\(transport) \(reply.text)")
            }
            let url = "http://[fe80::7%25late]:9353/metrics"
            let curl = ["--silent", "--globoff", "--fail", "--noproxy", "*", url]
            let scrape = try namespace.run("curl", curl)
            #expect(scrape.output.contains("\nhttpdnsd_build_info{"), "\(scrape.errors)")
            #expect(try problems() == [])
            guard round == 1 else { break }
            try namespace.ip("link del late")
            _ = try daemon.program.line(with: "metrics: the interface of [fe80::7%late]:9353")
            #expect(try problems() == absent)
        }
        try daemon.stop()
    }

    @Test(
        "an upstream with a link-local address answers after its interface was created again",
        .needs(.unshare, .ip)
    )
    func interfaceOfUpstream() throws {
        let (machine, network) = (try Namespace(), try Namespace())
        let server = try TestDaemon(
            """
            hosts: {records: {one.example.com: [192.0.2.1], two.example.com: [192.0.2.2]}}
            allow: [127.0.0.0/8, "fe80::/10"]
            \(unusedUpstream)
            """,
            listen: "127.0.0.1:53",
            "[fe80::9%cable]:53",
            in: network
        )
        let daemon = try TestDaemon(
            "upstreams: [{name: link, url: \"udp://[fe80::9%cable]\"}]",
            listen: "127.0.0.1:53",
            in: machine
        )
        for (round, name, address) in [(1, "one", "192.0.2.1"), (2, "two", "192.0.2.2")] {
            try machine.connect(to: network, "fe80::1/64 nodad", "fe80::9/64 nodad")
            _ = try server.program.line(with: "the interface exists now, answering", number: round)
            let reply = try daemon.dig("\(name).example.com", "A")
            #expect(reply.data("A") == [address], "\(reply.text)")
            guard round == 1 else { break }
            try machine.ip("link del cable")
            _ = try server.program.line(with: "the interface was deleted")
        }
        try daemon.stop()
        try server.stop()
    }

    @Test(
        "if a machine lacks the family of a listen address, the daemon serves the other addresses",
        .needs(.unshare, .ip),
        arguments: removals
    )
    func namedFamily(_ missing: String, _ server: String, _ removal: String) throws {
        let listen = "listen: [\"127.0.0.1:53\", \"[::1]:53\"]\n"
        let host = try Poor(after: removal, listen: listen)
        _ = try host.daemon.line(with: "listener \(missing): no interface has this address")
        _ = try host.daemon.line(with: "answering on ")
        let reply = try Dig(port: 53, ["localhost", "A"], server: server, in: host.namespace)
        #expect(reply.data("A") == ["127.0.0.1"], "\(reply.text)")
        #expect(try host.daemon.stop().status == 0)
    }

    @Test(
        "if a listen address is in use, the daemon does not start, and prints a hint",
        .needs(.dig)
    )
    func occupied() throws {
        let first = try TestDaemon(unusedUpstream)
        let scratch = try Scratch()
        let file = try scratch.write(
            """
            listen: ["127.0.0.1:\(first.port)"]
            control: {socket: \(scratch.file("c"))}
            \(unusedUpstream)

            """,
            to: "httpdnsd.yaml"
        )
        let end = try run(Product.daemon, ["--config", file])
        #expect(end.status == 1)
        #expect(
            end.errors.contains(
                "cannot listen on 127.0.0.1:\(first.port): address already in use; "
                    + "`sudo ss -tulpn 'sport = :\(first.port)'` shows the program"
            )
        )
        try first.stop()
    }

    @Test("if another program uses a new listen address, the error of the reload names the cause")
    func occupiedByAnother() throws {
        let other = try TestDaemon(unusedUpstream)
        let daemon = try TestDaemon(unusedUpstream, listen: "127.0.0.2:\(other.port)")
        try daemon.rewrite(
            unusedUpstream,
            listen: "127.0.0.2:\(other.port)",
            "127.0.0.1:\(other.port)"
        )
        let reload = try daemon.control("reload")
        #expect(reload.status == 1)
        #expect(reload.errors.contains("127.0.0.1:\(other.port): address already in use"))
        #expect(!reload.errors.contains("this daemon listens"), "\(reload.errors)")
        try daemon.stop()
        try other.stop()
    }

    @Test(
        "if no default listen address is available, the daemon does not start",
        .needs(.unshare, .ip)
    )
    func noFamily() throws {
        let removals = Self.removals.map(\.2).joined(separator: "; ")
        let host = try Poor(after: removals)
        let end = try host.daemon.end()
        #expect(end.status == 1 && end.errors.contains("cannot listen on "))
    }

    @Test("the daemon answers on every listen address")
    func several() throws {
        let daemon = try TestDaemon(unusedUpstream, listen: "127.0.0.1:0", "127.0.0.2:0", "[::1]:0")
        let listeners = try JSON(daemon.control("status", "--json").output)["listeners"].array
        #expect(listeners.count == 6)
        for listener in listeners {
            let address = try #require(listener["address"].string)
            let split = try #require(address.lastIndex(of: ":"))
            let port = try #require(UInt16(address[split...].dropFirst()))
            let host = address[..<split].trimmingPrefix("[").prefix { $0 != "]" }
            let transport = listener["transport"].string == "tcp" ? "+tcp" : "+notcp"
            let reply = try Dig(port: port, ["localhost", "A", transport], server: String(host))
            #expect(reply.data("A") == ["127.0.0.1"], "\(address) \(reply.text)")
        }
        try daemon.stop()
    }

    @Test("with the listen address 0.0.0.0, a reply comes from the queried address")
    func unspecified() throws {
        let daemon = try TestDaemon(unusedUpstream + "\nallow: [127.0.0.0/8]", listen: "0.0.0.0:0")
        for server in ["127.0.0.1", "127.0.0.2", "127.3.2.1"] {
            let local = try daemon.dig("localhost", "A", "+notcp", server: server)
            #expect(local.data("A") == ["127.0.0.1"], "\(local.text)")
            let miss = try daemon.dig("x.invalid", "A", "+notcp", server: server)
            #expect(miss.status == "NXDOMAIN", "\(miss.text)")
        }
        try daemon.stop()
    }

    @Test("a client outside `allow` gets REFUSED", arguments: ["+notcp", "+tcp"])
    func refused(transport: String) throws {
        let upstream = try Socket(.datagram, bound: true)
        let daemon = try TestDaemon(
            """
            allow: [127.0.0.2/32]
            upstreams: [{name: recorder, url: "udp://127.0.0.1:\(upstream.port)"}]
            """
        )
        let reply = try daemon.dig("www.example.org", "A", transport)
        #expect(reply.status == "REFUSED", "\(reply.text)")
        let friend = try daemon.dig("localhost", "A", transport, "-b", "127.0.0.2")
        #expect(friend.status == "NOERROR", "\(friend.text)")
        #expect(upstream.isSilent)
        #expect(try daemon.stats()["queries", "by-source", "refused"].int == 1)
        try daemon.stop()
    }
}
