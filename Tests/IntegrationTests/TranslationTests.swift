// SPDX-License-Identifier: Apache-2.0
import Testing

/// Machine without IPv4 on a network with DNS64 and servers at NAT64 addresses.
private final class IPv6OnlyNetwork: Sendable {
    static let router = "2001:db8:1::1"
    static let prefix = "2001:db8:64::/96"

    static let vendor = "2001:db8:64::cb00:7101"

    static let web = "2001:db8:64::cb00:714d"

    let machine: Namespace
    let emulator: TestEmulator
    let front: TestNginx
    let daemon: TestDaemon
    let authority: Authority
    private let resolver: Child
    private let network: Namespace
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
        (machine, network) = (try Namespace(), try Namespace())
        try machine.connect(to: network, "2001:db8:1::10/64 nodad", "\(Self.router)/64 nodad")
        try machine.ip("-6 route add default via \(Self.router)")
        try network.ip(
            "address add \(Self.vendor)/128 dev cable nodad",
            "address add \(Self.web)/128 dev cable nodad"
        )
        resolver = try .unbound(
            """
                interface: \(Self.router)
                access-control: ::/0 allow
                local-zone: "." static
                local-data: "ipv4only.arpa. 300 IN AAAA 2001:db8:64::c000:aa"
                local-data: "ipv4only.arpa. 300 IN AAAA 2001:db8:64::c000:ab"
            """,
            scratch: scratch,
            in: network
        )
        emulator = try TestEmulator(zone: "*.example.com 300 A 203.0.113.77\n", in: network)
        authority = try Authority()
        front = try TestNginx(
            [.front(for: ["IP:203.0.113.1", "DNS:vendor.example.net", "DNS:www.example.com"])],
            backend: emulator.address,
            authority: authority,
            listen: ["[\(Self.vendor)]:443", "[\(Self.web)]:443"],
            in: network
        )
        let text = try VendorText(
            .https,
            servers: ["203.0.113.1"],
            in: scratch,
            authority: authority.file
        )
        daemon = try TestDaemon(
            """
            \(text.text)
            routes: [{domains: [example.com], vendors: [tencent], fallback-after: off}]
            upstreams: [{name: network, url: "udp://[\(Self.router)]:53"}]
            """,
            listen: "127.0.0.1:53",
            in: machine
        )
    }
}

@Suite(
    "Networks without IPv4",
    .needs(.unshare, .ip, .nginx, .openssl, .curl, .dig, .unbound),
    .hangLimit
)
struct TranslationTests {
    @Test(
        "the network's NAT64 makes an IPv4-only name and an IPv4-only vendor reachable"
    )
    func translated() throws {
        let network = try IPv6OnlyNetwork()
        let daemon = network.daemon
        _ = try daemon.program.line(with: "NAT64 prefix: \(IPv6OnlyNetwork.prefix) (from network)")

        let reply = try daemon.dig("www.example.com", "AAAA")
        #expect(reply.data("AAAA") == [IPv6OnlyNetwork.web], "\(reply.text)")
        #expect(reply.text.contains("EDE: 29"), "\(reply.text)")
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["203.0.113.77"])
        #expect(try network.emulator.lookups() == 1)

        let page = try network.machine.run(
            "curl",
            [
                "--silent", "--show-error", "--fail", "--noproxy", "*", "--max-time", "10",
                "--cacert", network.authority.file, "https://www.example.com/_emulator/calls",
            ]
        )
        #expect(page.status == 0 && page.output.contains("lookups"), "\(page.errors)")

        let pointer = try daemon.dig("-x", IPv6OnlyNetwork.web)
        #expect(pointer.data("CNAME") == ["77.113.0.203.in-addr.arpa."], "\(pointer.text)")
        #expect(
            try daemon.dig("ipv4only.arpa", "AAAA").data("AAAA")
                == ["2001:db8:64::c000:aa", "2001:db8:64::c000:ab"]
        )

        let status = try JSON(try daemon.control("status", "--json").output)["network"]
        #expect(status["stack"].string == "v6")
        #expect(status["nat64"].string == IPv6OnlyNetwork.prefix)
        #expect(status["nat64-from"].string == "network")
        #expect(status["nat64-age-seconds"].int != nil)
        #expect(
            try daemon.cached("www.example.com", "AAAA").contains { $0["synthesized"].bool == true }
        )
        let text = try daemon.control("status").output
        #expect(text.contains("NAT64 \(IPv6OnlyNetwork.prefix) from network"), "\(text)")
        try daemon.stop()
    }

    @Test("when the network gets IPv4, the daemon stops DNS64 synthesis")
    func dual() throws {
        let network = try IPv6OnlyNetwork()
        let daemon = network.daemon
        _ = try daemon.program.line(with: "NAT64 prefix: \(IPv6OnlyNetwork.prefix)")
        #expect(try daemon.dig("www.example.com", "AAAA").data("AAAA") == [IPv6OnlyNetwork.web])
        try network.machine.ip(
            "address add 192.0.2.10/24 dev cable",
            "route add default via 192.0.2.1"
        )
        _ = try daemon.program.line(with: "NAT64 prefix: none")
        let status = try JSON(try daemon.control("status", "--json").output)["network"]
        #expect(status["stack"].string == "dual")
        #expect(status["nat64"].string == nil)
        #expect(try daemon.cached("www.example.com", "AAAA").isEmpty)
        try daemon.stop()
    }
}
