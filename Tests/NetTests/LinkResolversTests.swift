// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Net

@Suite("DNS settings of links")
struct LinkResolversTests {
    private static func server(_ text: String, tls: String? = nil) throws -> LinkResolvers.Server {
        LinkResolvers.Server(
            try #require(SocketAddress(text, defaultPort: tls == nil ? 53 : 853)),
            tlsName: tls
        )
    }

    // MARK: - resolv.conf

    @Test("only `nameserver` lines of resolv.conf are servers; invalid lines are reported")
    func resolvConf() throws {
        let (entry, unreadable) = LinkResolvers.reading(
            resolvConf: """
                # nameserver 192.0.2.9
                search example.com ~corp.example.com
                nameserver 192.0.2.1
                nameserver\t2001:db8::1  ; a comment
                nameserver dns.example
                nameserver
                options edns0
                """,
            .resolvconf,
            link: "eth0"
        )
        #expect(entry.servers == [try Self.server("192.0.2.1"), try Self.server("2001:db8::1")])
        #expect(entry.domains.isEmpty)
        #expect(entry.isDefault)
        #expect(unreadable == ["nameserver dns.example", "nameserver"])
    }

    @Test("the servers of a private interface get only the names in its domains")
    func privateInterface() {
        let (entry, _) = LinkResolvers.reading(
            resolvConf: "domain corp.example.com\nnameserver 192.0.2.1\n",
            .resolvconf,
            link: "tun0",
            isPrivate: true
        )
        #expect(entry.domains == ["corp.example.com"])
        #expect(!entry.isDefault)
    }

    @Test("a link has at most 8 servers")
    func bounded() {
        let text = (1...20).map { "nameserver 192.0.2.\($0)\n" }.joined()
        let (entry, _) = LinkResolvers.reading(resolvConf: text, .file, link: "")
        #expect(entry.servers.count == LinkResolvers.maximumServers)
    }

    @Test(
        "the interface of a resolvconf file is the longest interface name in the file's name",
        arguments: [
            ("eth0", "eth0"), ("eth0.dhclient", "eth0"), ("eth0.100.dhcp", "eth0.100"),
            ("tun9.openvpn", "tun9.openvpn"), ("NetworkManager", ""), ("tun.wg0", "wg0"),
            ("tun-tailscale.inet", "tailscale0"), ("tailscale", "tailscale0"),
        ]
    )
    func interface(_ file: String, _ link: String) {
        #expect(ResolverFiles.link(of: file, ["eth0", "eth0.100", "wg0", "tailscale0"]) == link)
    }

    private static func read(
        _ directory: String,
        _ files: [(path: String, host: Int)],
        _ interfaces: Set<String>
    ) throws -> [LinkResolvers] {
        let root = FileManager.default.temporaryDirectory.path + "/net-tests-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: root) }
        for (path, host) in files {
            let file = URL(fileURLWithPath: "\(root)/run/resolvconf/\(path)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try "domain corp.example.com\nnameserver 192.0.2.\(host)\n"
                .write(to: file, atomically: false, encoding: .utf8)
        }
        let all = ResolverFiles(root: root)
        let found = try #require(all.directories.first { $0.path.hasSuffix("/" + directory) })
        return all.read(found, interfaces).links
    }

    @Test(
        "the servers of a VPN precede the servers of the network through which the VPN connects",
        arguments: ["interface", "interfaces"]
    )
    func order(_ directory: String) throws {
        let links = try Self.read(
            directory,
            [
                ("\(directory)/eth0.dhclient", 1), ("\(directory)/tun0.openvpn", 2),
                ("\(directory)/usb0", 3), ("\(directory)/wlan0", 4), ("metrics/000303 wlan0", 0),
            ],
            ["eth0", "tun0", "usb0", "wlan0"]
        )
        #expect(links.map(\.link).first == "tun0")
        #expect(links.map(\.link).last == (directory == "interface" ? "usb0" : "wlan0"))
        #expect(links.count == 4)
    }

    @Test("the servers of an IPsec VPN come first", arguments: ["interface", "interfaces"])
    func strongSwan(_ directory: String) throws {
        let links = try Self.read(
            directory,
            [
                ("\(directory)/NetworkManager", 1), ("\(directory)/eth0.dhclient", 2),
                ("\(directory)/lo.inet", 3), ("\(directory)/lo.inet.ipsec.192.0.2.4", 4),
                ("\(directory)/lo.ipsec.192.0.2.5", 5),
            ],
            ["eth0", "lo"]
        )
        #expect(links.prefix(2).map(\.link) == ["lo", ""])
        #expect(links.map(\.isTunnel) == [false, true, false, false])
        #expect(links[1].servers == [try Self.server("192.0.2.4"), try Self.server("192.0.2.5")])
        let merged = LinkResolvers.merged([links], running: Self.up, isOwn: { _ in false })
        #expect(merged.filter(\.isTunnel).flatMap(\.servers).map(\.address.link) == [0, 0])
    }

    @Test(
        "the servers in the private file of an interface get only the names in the file's domains"
    )
    func privateFile() throws {
        let links = try Self.read(
            "interfaces",
            [("interfaces/tun0.a", 1), ("interfaces/tun0.b", 2), ("private/tun0.b", 0)],
            ["tun0"]
        )
        #expect(links.map(\.isDefault) == [true, false])
        #expect(links.map(\.domains) == [[], ["corp.example.com"]])
        let servers = try ["192.0.2.1", "192.0.2.2"].map { [try Self.server($0)] }
        #expect(links.map(\.servers) == servers)
    }

    @Test("the servers of an exclusive interface get all names")
    func exclusiveFile() throws {
        let links = try Self.read(
            "interfaces",
            [("interfaces/eth0", 1), ("interfaces/wg0", 2), ("exclusive/000 wg0", 0)],
            ["eth0", "wg0"]
        )
        #expect(links.map(\.link) == ["wg0"])
        #expect(links.map(\.takesAll) == [true])
    }

    // MARK: - systemd-resolved

    private static func resolved(
        _ servers: [(Int64, [UInt8], Int64, String)],
        _ domains: [(Int64, String, Bool)]
    ) -> BusValue {
        .table([
            "DNSEx": .list(
                servers.map { index, octets, port, name in
                    .list([.number(index), .number(2), .octets(octets), .number(port), .text(name)])
                }
            ),
            "Domains": .list(
                domains.map { .list([.number($0.0), .text($0.1), .boolean($0.2)]) }
            ),
        ])
    }

    @Test("route-only domains of systemd-resolved are routing domains, others are not")
    func resolvedDomains() throws {
        let manager = Self.resolved(
            [(2, [192, 0, 2, 1], 0, ""), (3, [198, 51, 100, 1], 5353, "")],
            [(2, "lan.example", false), (3, "corp.example.com", true)]
        )
        #expect(LinkResolvers.indexes(inResolved: manager) == [2, 3])
        let links = LinkResolvers.reading(
            resolved: manager,
            links: [:],
            names: [2: "eth0", 3: "tun0"]
        )
        #expect(links.map(\.link) == ["eth0", "tun0"])
        #expect(links.map(\.domains) == [[], ["corp.example.com"]])
        #expect(links.map(\.isDefault) == [true, false])
        #expect(links[1].servers == [try Self.server("198.51.100.1:5353")])
    }

    @Test("the search domains of a VPN are routing domains; those of other links are not")
    func searchDomains() throws {
        let manager = Self.resolved(
            [(2, [192, 0, 2, 1], 0, ""), (3, [198, 51, 100, 1], 0, "")],
            [(2, "lan.example", false), (3, "corp.example", false), (3, "x.example", true)]
        )
        let resolved = LinkResolvers.reading(
            resolved: manager,
            links: [3: .table(["DefaultRoute": .boolean(false)])],
            names: [2: "eth0", 3: "tun0"]
        )
        let (networkManager, _) = LinkResolvers.reading(
            networkManager: .table([
                "Configuration": .list([
                    Self.entry("eth1", ["198.51.100.2"], ["ipsec.example"], isVPN: true),
                    Self.entry("eth1", ["198.51.100.3"], ["other.example"], isVPN: true),
                    Self.entry("eth1", ["192.0.2.2"], ["lan.example"]),
                ])
            ])
        )
        let file = "domain a.example\nsearch b.example . \nnameserver 198.51.100.4\n"
        let files = ["proton0", "eth2"].map {
            LinkResolvers.reading(resolvConf: file, .resolvconf, link: $0).0
        }
        let links = LinkResolvers.merged(
            [resolved, networkManager, files],
            running: Self.up,
            isOwn: { _ in false }
        )
        #expect(
            links.map { "\($0.link) \($0.domains.joined(separator: ","))" } == [
                "eth0 ", "tun0 x.example,corp.example", "eth1 ipsec.example",
                "eth1 other.example", "eth1 ", "proton0 a.example,b.example", "eth2 ",
            ]
        )
        #expect(links.map(\.isDefault) == [true, false, true, true, true, true, true])
    }

    @Test("a VPN is a full tunnel if packets to the Internet are sent through the VPN")
    func fullTunnel() throws {
        let servers = [try Self.server("198.51.100.1")]
        let links = ["tun0", "eth0"].map { LinkResolvers(.resolved, link: $0, servers: servers) }
        func full(_ interface: UInt32) -> [Bool] {
            LinkResolvers.merged(
                [links],
                running: Self.up,
                isOwn: { _ in false },
                isReached: { $1 == interface || $0.host.hasPrefix("198.51.") }
            ).map(\.isFullTunnel)
        }
        #expect(full(5) == [true, false])
        #expect(full(2) == [false, false])
    }

    @Test(
        "DefaultRoute=false limits a link to its routing domains; `~.` sends all names to a link"
    )
    func defaultRoute() {
        let manager = Self.resolved(
            [(2, [192, 0, 2, 1], 0, ""), (3, [198, 51, 100, 1], 0, "")],
            [(3, ".", true)]
        )
        let links = LinkResolvers.reading(
            resolved: manager,
            links: [2: .table(["DefaultRoute": .boolean(false)])],
            names: [2: "eth0", 3: "tun0"]
        )
        #expect(links.map(\.isDefault) == [false, true])
        #expect(links.map(\.takesAll) == [false, true])
    }

    @Test("a server is queried over TLS if the link requires TLS and the server has a name")
    func overTLS() throws {
        let manager = Self.resolved([(2, [192, 0, 2, 1], 0, "dns.example")], [])
        let strict: BusValue = .table(["DNSOverTLS": .text("yes")])
        func servers(_ link: BusValue?) -> [LinkResolvers.Server] {
            LinkResolvers.reading(
                resolved: manager,
                links: link.map { [2: $0] } ?? [:],
                names: [2: "eth0"]
            ).flatMap(\.servers)
        }
        #expect(servers(strict) == [try Self.server("192.0.2.1:853", tls: "dns.example")])
        let unnamed = Self.resolved([(2, [192, 0, 2, 1], 0, "")], [])
        let links = LinkResolvers.reading(
            resolved: unnamed,
            links: [2: strict],
            names: [2: "eth0"]
        )
        #expect(links.flatMap(\.servers) == [try Self.server("192.0.2.1:853", tls: "192.0.2.1")])
        #expect(
            servers(.table(["DNSOverTLS": .text("opportunistic")])) == [
                try Self.server("192.0.2.1")
            ]
        )
        #expect(servers(nil) == [try Self.server("192.0.2.1")])
    }

    @Test("D-Bus properties of unexpected types result in no link and no server")
    func unexpected() {
        for manager in [BusValue.text("x"), .table(["DNSEx": .number(1)]), .table([:])] {
            #expect(LinkResolvers.reading(resolved: manager, links: [:], names: [:]).isEmpty)
        }
        let short: BusValue = .table(["DNS": .list([.list([.number(2)])])])
        let links = LinkResolvers.reading(resolved: short, links: [:], names: [2: "eth0"])
        #expect(links.flatMap(\.servers).isEmpty)
    }

    // MARK: - NetworkManager

    private static func entry(
        _ link: String,
        _ servers: [String],
        _ domains: [String] = [],
        priority: Int64 = 100,
        isVPN: Bool = false
    ) -> BusValue {
        .table([
            "interface": .text(link), "priority": .number(priority), "vpn": .boolean(isVPN),
            "nameservers": .list(servers.map(BusValue.text)),
            "domains": .list(domains.map(BusValue.text)),
        ])
    }

    @Test("NetworkManager's entries of a link are joined; only `~` domains are routing domains")
    func networkManager() throws {
        let (links, unreadable) = LinkResolvers.reading(
            networkManager: .table([
                "Configuration": .list([
                    Self.entry("tun0", ["198.51.100.1"], ["~corp.example.com", "example.com"]),
                    Self.entry("eth0", ["192.0.2.1", "x"], ["lan.example"]),
                    Self.entry("eth0", ["2001:db8::1", "dns+tls://192.0.2.2#dns.example"]),
                    Self.entry("eth0", ["dns+tls://192.0.2.3"]),
                ])
            ])
        )
        #expect(links.map(\.link) == ["tun0", "eth0"])
        #expect(links.map(\.domains) == [["corp.example.com"], []])
        #expect(links.map(\.isDefault) == [false, true])
        #expect(
            links[1].servers == [
                try Self.server("192.0.2.1"), try Self.server("2001:db8::1"),
                try Self.server("192.0.2.2:853", tls: "dns.example"),
                try Self.server("192.0.2.3:853", tls: "192.0.2.3"),
            ]
        )
        #expect(unreadable == ["x"])
    }

    @Test("entries that NetworkManager marks as VPN are VPNs, also on ordinary interfaces")
    func networkManagerVPN() throws {
        let (links, _) = LinkResolvers.reading(
            networkManager: .table([
                "Configuration": .list([
                    Self.entry("ppp0", ["198.51.100.1"], ["~l2tp.example"], isVPN: true),
                    Self.entry("eth0", ["198.51.100.2"], ["~corp.example"], isVPN: true),
                    Self.entry("eth0", ["198.51.100.3"], ["~other.example"], isVPN: true),
                    Self.entry("eth0", ["2001:db8::3"], ["~other.example"], isVPN: true),
                    Self.entry("eth0", ["192.0.2.1"]),
                    Self.entry("ppp1", ["192.0.2.2"]),
                ])
            ])
        )
        #expect(links.map(\.link) == ["ppp0", "eth0", "eth0", "eth0", "ppp1"])
        #expect(links.map(\.isTunnel) == [true, true, true, false, false])
        #expect(links.map(\.isDefault) == [false, false, false, true, true])
        #expect(
            links.map(\.domains) == [["l2tp.example"], ["corp.example"], ["other.example"], [], []]
        )
        #expect(links.map(\.servers.count) == [1, 1, 2, 1, 1])
        var running = Self.up
        running["ppp0"] = .init(index: 7, isTunnel: false)
        running["ppp1"] = .init(index: 8, isTunnel: false)
        let merged = LinkResolvers.merged([links], running: running, isOwn: { _ in false })
        // An IPsec VPN has no interface, so its server is bound to no link.
        #expect(merged.flatMap(\.servers).map(\.address.link) == [7, 0, 0, 0, 0, 0])
    }

    @Test("servers of systemd-resolved that NetworkManager marks as VPN count as VPN servers")
    func resolvedVPN() throws {
        let resolved = LinkResolvers.reading(
            resolved: Self.resolved(
                [
                    (2, [198, 51, 100, 1], 0, ""), (2, [192, 0, 2, 1], 0, ""),
                    (3, [198, 51, 100, 2], 0, ""),
                ],
                [(2, "corp.example", true), (2, "lan.example", true)]
            ),
            links: [2: .table(["DefaultRoute": .boolean(true)])],
            names: [2: "eth0", 3: "ppp0"]
        )
        let (networkManager, _) = LinkResolvers.reading(
            networkManager: .table([
                "Configuration": .list([
                    Self.entry("eth0", ["198.51.100.1"], ["~corp.example"], isVPN: true),
                    Self.entry("ppp0", ["198.51.100.2"], isVPN: true),
                    Self.entry("eth0", ["192.0.2.1"], ["~lan.example"]),
                ])
            ])
        )
        var running = Self.up
        running["ppp0"] = .init(index: 7, isTunnel: false)
        let links = LinkResolvers.merged(
            [resolved, networkManager],
            running: running,
            isOwn: { _ in false }
        )
        #expect(links.map(\.link) == ["eth0", "eth0", "ppp0"])
        #expect(links.map(\.source) == [.resolved, .resolved, .resolved])
        #expect(links.map(\.isTunnel) == [true, false, true])
        #expect(links.map(\.isDefault) == [false, true, true])
        #expect(links.map(\.domains) == [["corp.example"], ["lan.example"], []])
        let hosts = links.map { $0.servers.map(\.address.host) }
        #expect(hosts == [["198.51.100.1"], ["192.0.2.1"], ["198.51.100.2"]])
        #expect(links.flatMap(\.servers).allSatisfy { $0.address.link == 0 })
    }

    @Test("an entry with a negative priority excludes the entries with higher priorities")
    func exclusive() {
        let (links, _) = LinkResolvers.reading(
            networkManager: .table([
                "Configuration": .list([
                    Self.entry("tun0", ["198.51.100.1"], priority: -50),
                    Self.entry("eth0", ["192.0.2.1"]),
                ])
            ])
        )
        #expect(links.map(\.link) == ["tun0"])
        #expect(links.map(\.takesAll) == [true])
    }

    // MARK: - Merging

    private static let up: [String: LinkResolvers.Interface] = [
        "eth0": .init(index: 2, isTunnel: false), "eth1": .init(index: 3, isTunnel: false),
        "eth2": .init(index: 4, isTunnel: false), "tun0": .init(index: 5, isTunnel: true),
        "proton0": .init(index: 6, isTunnel: true),
    ]

    @Test("if a link has more routing domains than the maximum, all names go to the link")
    func manyDomains() throws {
        func links(_ count: Int) -> [LinkResolvers] {
            let manager = Self.resolved(
                [(2, [192, 0, 2, 1], 0, "")],
                (1...count).map { (2, "d\($0).example", true) }
            )
            return LinkResolvers.reading(resolved: manager, links: [:], names: [2: "tun0"])
        }
        #expect(links(LinkResolvers.maximumDomains).map(\.takesAll) == [false])
        #expect(links(LinkResolvers.maximumDomains + 1).map(\.takesAll) == [true])
    }

    @Test("a link with only routing domains does not replace the servers in /etc/resolv.conf")
    func lastSource() throws {
        let vpn = LinkResolvers(
            .resolvconf,
            link: "tun0",
            servers: [try Self.server("192.0.2.1")],
            domains: ["corp.example"],
            isDefault: false
        )
        let file = LinkResolvers(.file, link: "", servers: [try Self.server("192.0.2.9")])
        let all = LinkResolvers.merged([[vpn], [file]], running: Self.up, isOwn: { _ in false })
        #expect(all.map(\.source) == [.resolvconf, .file])
    }

    @Test("the administrator's servers replace the servers of the network, but not those of VPNs")
    func chosen() throws {
        let links = [
            LinkResolvers(.resolved, link: "", servers: [try Self.server("127.0.0.1")]),
            LinkResolvers(.resolved, link: "eth0", servers: [try Self.server("192.0.2.53")]),
            LinkResolvers(.dhclient, link: "eth1", servers: [try Self.server("192.0.2.54")]),
            LinkResolvers(.resolved, link: "wg0", servers: [try Self.server("10.9.0.53")]),
        ]
        func defaults(_ text: String) throws -> [String] {
            let saved = LinkResolvers.reading(saved: text)
            let sources = [saved.map { [$0] } ?? [], [links[0], links[1], links[3]], [links[2]]]
            return LinkResolvers.merged(sources, running: nil) { $0.description.hasPrefix("127.") }
                .filter(\.isDefault).map { $0.takesAll ? $0.link + "~." : $0.link }
        }
        let server = "nameserver 192.0.2.55:5353\n"
        #expect(try defaults(server) == ["eth0", "wg0", "eth1"], "no priority")
        #expect(try defaults(server + "options httpdnsd-chosen\n") == ["", "wg0"])
        let resolved = "options httpdnsd-resolved\n"
        #expect(try defaults(server + resolved) == ["", "eth0", "wg0"])
        #expect(
            try defaults(server + "search lan ~.\n" + resolved) == ["~.", "eth0", "wg0"]
        )
    }

    @Test("packets to a VPN's DNS servers are sent through the VPN's interface")
    func bound() throws {
        let server = try Self.server("192.0.2.1")
        func link(_ name: String, _ source: LinkResolvers.Source, takesAll: Bool = false)
            -> LinkResolvers
        {
            let domains = takesAll ? [] : ["corp.example"]
            var link = LinkResolvers(source, link: name, servers: [server], domains: domains)
            link.takesAll = takesAll
            return link
        }
        func bound(_ link: LinkResolvers, isReached: Bool = true) -> UInt32? {
            let found = LinkResolvers.merged(
                [[link]],
                running: Self.up,
                isOwn: { _ in false },
                isReached: { _, _ in isReached }
            )
            return found.first?.servers.first?.address.link
        }
        #expect(bound(link("tun0", .resolvconf)) == 5)
        #expect(bound(link("proton0", .resolvconf, takesAll: true)) == 6)
        // A server is not bound to an ordinary interface, because the route to the server may go
        // through a VPN.
        #expect(bound(link("eth0", .resolved, takesAll: true)) == 0)
        #expect(bound(link("eth0", .resolved)) == 0)
        // If the route to the server does not use the interface of the VPN, only a server from
        // systemd-resolved is bound to the interface.
        #expect(bound(link("tun0", .resolvconf), isReached: false) == 0)
        #expect(bound(link("tun0", .resolved), isReached: false) == 5)
    }

    @Test(
        "a loopback address counts as an address of this machine, also without a route",
        arguments: ["127.0.0.1", "127.9.0.1", "::1", "::ffff:127.0.0.9", "::", "::ffff:0.0.0.0"]
    )
    func loopback(_ text: String) throws {
        #expect(try Self.server(text).address.isOwn)
    }

    @Test("each link uses its first source; links that are down and local servers are ignored")
    func merged() throws {
        func link(_ source: LinkResolvers.Source, _ name: String, _ server: String) throws
            -> LinkResolvers
        {
            LinkResolvers(source, link: name, servers: [try Self.server(server)])
        }
        let sources = [
            [try link(.resolved, "eth0", "192.0.2.1"), try link(.resolved, "tun0", "192.0.2.2")],
            [
                try link(.resolvconf, "eth0", "192.0.2.3"),
                try link(.resolvconf, "eth1", "127.0.0.53"),
                try link(.resolvconf, "eth2", "192.0.2.4"),
            ],
            [try link(.file, "", "192.0.2.5")],
        ]
        let isOwn: (SocketAddress) -> Bool = { $0.octets[0] == 127 }
        var running = Self.up
        running["tun0"] = nil
        let found = LinkResolvers.merged(sources, running: running, isOwn: isOwn)
        #expect(found.map(\.link) == ["eth0", "eth2"])
        #expect(found.map(\.source) == [.resolved, .resolvconf])
        let last = LinkResolvers.merged(sources, running: [:], isOwn: isOwn)
        #expect(last.map(\.source) == [.file])
    }

    private static func beside(_ resolved: LinkResolvers) throws -> [LinkResolvers] {
        let server = try server("192.0.2.1")
        var office = LinkResolvers(.networkManager, link: "eth1", servers: [server])
        office.route(["corp.example"], isDefault: true)
        let others = ["eth0", "tun0"].map {
            LinkResolvers(.networkManager, link: $0, servers: [server])
        }
        return LinkResolvers.merged(
            [[resolved], [office] + others],
            running: nil,
            isOwn: { _ in false }
        )
    }

    @Test(
        "a global or TLS server of systemd-resolved replaces servers of other sources, except VPNs",
        arguments: [("", nil, true), ("eth2", "dns.example", true), ("eth2", nil, false)]
    )
    func exclusive(_ link: String, _ tls: String?, _ isExclusive: Bool) throws {
        let server = try Self.server("192.0.2.2", tls: tls)
        let all = try Self.beside(LinkResolvers(.resolved, link: link, servers: [server]))
        let used = all.filter(\.isDefault).map(\.link)
        #expect(used == (isExclusive ? [link, "tun0"] : [link, "eth1", "eth0", "tun0"]))
        let office = all.filter { $0.link == "eth1" }
        #expect(office.map(\.domains) == [["corp.example"]])
    }

    @Test(
        "a link keeps its domains if its only server has a non-loopback address of this machine",
        arguments: [("192.0.2.1", "tun0", 1), ("127.0.0.1", "tun0", 0), ("192.0.2.1", "", 0)]
    )
    func ownServer(_ server: String, _ link: String, _ count: Int) throws {
        let entry = LinkResolvers(
            .resolved,
            link: link,
            servers: [try Self.server(server)],
            domains: ["corp.example.com"],
            isDefault: false
        )
        let found = LinkResolvers.merged([[entry]], running: Self.up, isOwn: { _ in true })
        #expect(found.count == count)
        #expect(found.allSatisfy { $0.servers.isEmpty && $0.domains == ["corp.example.com"] })

        var taker = LinkResolvers(.resolved, link: "tun0", servers: entry.servers)
        taker.takesAll = true
        let takers = LinkResolvers.merged([[taker]], running: Self.up, isOwn: { _ in true })
        #expect(takers.map(\.takesAll) == Array(repeating: true, count: link.isEmpty ? 1 : count))

        taker.link = "eth0"
        taker.isTunnel = false
        #expect(LinkResolvers.merged([[taker]], running: Self.up, isOwn: { _ in true }).isEmpty)

        let whole = LinkResolvers(.file, link: "", servers: [try Self.server("192.0.2.9")])
        let all = LinkResolvers.merged(
            [[entry], [whole]],
            running: Self.up,
            isOwn: { $0.octets.last == 1 }
        )
        #expect(all.last?.servers == whole.servers)
    }
}
