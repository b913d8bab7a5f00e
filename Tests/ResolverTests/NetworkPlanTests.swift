// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import Resolver

@Suite("Servers and routing domains of links")
struct NetworkPlanTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private static func link(
        _ name: String,
        _ server: String,
        _ domains: [String] = []
    ) throws -> LinkResolvers {
        let address = try #require(SocketAddress(server, defaultPort: 53))
        return LinkResolvers(
            .resolved,
            link: name,
            servers: [LinkResolvers.Server(address)],
            domains: domains,
            isDefault: domains.isEmpty
        )
    }

    private static let corp = Name(literal: "corp.example.com")

    private static func hosts(_ servers: [LinkResolvers.Server]) -> [String] {
        servers.map(\.address.host)
    }

    @Test("names outside the routing domains of a VPN do not go to the VPN's server")
    func split() throws {
        var plan = NetworkPlan()
        let outcome = plan.use(
            [
                try Self.link("eth0", "192.0.2.1"),
                try Self.link("tun0", "198.51.100.1", ["corp.example.com"]),
            ],
            now: Self.start
        )
        #expect(outcome.domains == [Self.corp])
        #expect(Self.hosts(plan.servers) == ["192.0.2.1"])
        #expect(plan.routes.map(\.link) == ["tun0"])
        #expect(plan.wake == nil)
    }

    @Test("a link with the routing domain `~.` gets all names outside the domains of other links")
    func takesAll() throws {
        var plan = NetworkPlan()
        var vpn = try Self.link("tun0", "198.51.100.1")
        vpn.takesAll = true
        _ = plan.use([try Self.link("eth0", "192.0.2.1"), vpn], now: Self.start)
        #expect(Self.hosts(plan.servers) == ["198.51.100.1"])
    }

    @Test(
        "for 5 s after a VPN with `~.` went down, other links get only names in their own domains"
    )
    func heldNames() throws {
        var plan = NetworkPlan()
        let ether = try Self.link("eth0", "192.0.2.1")
        var vpn = try Self.link("tun0", "198.51.100.1")
        vpn.takesAll = true
        _ = plan.use([ether], now: Self.start)
        _ = plan.use([ether, vpn], now: Self.start)
        _ = plan.use([ether], now: Self.start + .seconds(4))
        #expect(plan.servers.isEmpty)
        #expect(plan.absence == "tun0: the link with `~.` is down")
        _ = plan.use([ether], now: Self.start + .seconds(6))
        _ = plan.expire(now: Self.start + .seconds(8))
        #expect(plan.servers.isEmpty)
        #expect(plan.wake == Self.start + .seconds(9))
        let outcome = plan.expire(now: Self.start + .seconds(9))
        #expect(Self.hosts(outcome.servers) == ["198.51.100.1"])
        #expect(Self.hosts(plan.servers) == ["192.0.2.1"])
        #expect(plan.absence == nil && plan.wake == nil)
        _ = plan.use([ether, vpn], now: Self.start + .seconds(10))
        _ = plan.use([ether], now: Self.start + .seconds(11))
        _ = plan.use([ether, vpn], now: Self.start + .seconds(12))
        #expect(Self.hosts(plan.servers) == ["198.51.100.1"])
        vpn.servers = []
        _ = plan.use([ether, vpn], now: Self.start + .seconds(13))
        #expect(plan.servers.isEmpty)
        #expect(plan.absence == "tun0: the DNS server of this link is an address of this machine")
    }

    @Test("for 5 s after a link went down, names in its routing domains go to no other link")
    func held() throws {
        var plan = NetworkPlan()
        let ether = try Self.link("eth0", "192.0.2.1")
        let vpn = try Self.link("tun0", "198.51.100.1", ["corp.example.com"])
        _ = plan.use([ether, vpn], now: Self.start)
        #expect(plan.use([ether], now: Self.start) == NetworkPlan.Outcome())
        #expect(plan.routes.map { $0.heldUntil } == [Self.start + .seconds(5)])
        #expect(Self.hosts(Array(plan.allServers)) == ["192.0.2.1"])
        #expect(plan.wake == Self.start + .seconds(5))
        _ = plan.use([ether], now: Self.start + .seconds(3))
        #expect(plan.expire(now: Self.start + .milliseconds(4_999)) == NetworkPlan.Outcome())
        let outcome = plan.expire(now: Self.start + .seconds(5))
        #expect(outcome.domains == [Self.corp])
        #expect(Self.hosts(outcome.servers) == ["198.51.100.1"])
        #expect(plan.routes.isEmpty)
        #expect(plan.wake == nil)
    }

    @Test("at most 1,024 domains are held; domains of VPNs do not count against this limit")
    func heldTotal() throws {
        var plan = NetworkPlan()
        let vpn = try Self.link("tun0", "198.51.100.1", ["corp.example.com"])
        for change in 0..<5 {
            let names = (0..<600).map { "n\(change)-\($0).example" }
            let ether = try Self.link("eth0", "192.0.2.1", names)
            let outcome = plan.use([ether, vpn], now: Self.start + .milliseconds(change))
            let held = plan.routes.filter { $0.heldUntil != nil }
            #expect(held.count == min(600 * change, ResolverLimits.heldDomains))
            let ended = outcome.domains.filter {
                $0 != Self.corp && !$0.text.hasPrefix("n\(change)-")
            }
            #expect(ended.allSatisfy { name in !plan.routes.contains { $0.domain == name } })
            #expect(
                ended.count
                    == (change < 2 ? 0 : change == 2 ? 176 : 600)
            )
        }
        _ = plan.use([], now: Self.start + .seconds(1))
        let corp = try #require(plan.routes.first { $0.domain == Self.corp })
        #expect(corp.heldUntil == Self.start + .seconds(6))
    }

    @Test("if a link comes up again with the same servers, its cached answers stay valid")
    func returning() throws {
        var plan = NetworkPlan()
        let vpn = try Self.link("tun0", "198.51.100.1", ["corp.example.com"])
        _ = plan.use([vpn], now: Self.start)
        _ = plan.use([], now: Self.start)
        #expect(plan.use([vpn], now: Self.start + .seconds(4)) == NetworkPlan.Outcome())
        #expect(plan.wake == nil)
        _ = plan.use([], now: Self.start + .seconds(5))
        let other = try Self.link("tun0", "198.51.100.2", ["corp.example.com"])
        let outcome = plan.use([other], now: Self.start + .seconds(6))
        #expect(outcome.domains == [Self.corp])
    }

    @Test("if a new link replaces a link and has the same domain, the domain is not held")
    func moved() throws {
        var plan = NetworkPlan()
        _ = plan.use(
            [try Self.link("tun0", "198.51.100.1", ["corp.example.com"])],
            now: Self.start
        )
        let outcome = plan.use(
            [try Self.link("tun1", "198.51.100.2", ["corp.example.com"])],
            now: Self.start
        )
        #expect(outcome.domains == [Self.corp])
        #expect(plan.routes.map(\.heldUntil) == [nil])
        #expect(plan.routes.map(\.link) == ["tun1"])
    }

    @Test("if a VPN goes down, its domain is held even if another link has the same domain")
    func heldAgainstOthers() throws {
        var plan = NetworkPlan()
        let ether = try Self.link("eth0", "192.0.2.1", ["corp.example.com"])
        let vpn = try Self.link("wg0", "198.51.100.1", ["corp.example.com"])
        _ = plan.use([ether, vpn], now: Self.start)
        _ = plan.use([ether], now: Self.start)
        #expect(plan.routes.map(\.link) == ["wg0"])
        #expect(plan.routes.map { $0.heldUntil } == [Self.start + .seconds(5)])
        _ = plan.use([ether, vpn], now: Self.start + .seconds(1))
        #expect(plan.routes.map { $0.heldUntil } == [nil])
        _ = plan.use([ether], now: Self.start + .seconds(2))
        let outcome = plan.expire(now: Self.start + .seconds(7))
        #expect(outcome.domains == [Self.corp])
        #expect(plan.routes.map(\.link) == ["eth0"])
        #expect(plan.routes.map { $0.heldUntil } == [nil])
        var all = try Self.link("eth1", "192.0.2.7")
        all.takesAll = true
        _ = plan.use([all], now: Self.start + .seconds(8))
        let other = try Self.link("eth2", "192.0.2.8")
        _ = plan.use([other], now: Self.start + .seconds(9))
        #expect(Self.hosts(plan.servers) == ["192.0.2.8"])
    }

    @Test(
        "while a split-tunnel VPN is up, other links get only names that the VPN's server declines"
    )
    func defaultVPN() throws {
        var plan = NetworkPlan()
        let ether = try Self.link("eth0", "192.0.2.1")
        var vpn = try Self.link("wg0", "198.51.100.1")
        _ = plan.use([ether], now: Self.start)
        _ = plan.use([ether, vpn], now: Self.start)
        #expect(Self.hosts(plan.servers) == ["198.51.100.1"])
        #expect(Self.hosts(plan.spares) == ["192.0.2.1"])
        _ = plan.use([ether, vpn], now: Self.start + .seconds(1))
        #expect(Self.hosts(plan.expire(now: Self.start + .seconds(5)).servers) == ["192.0.2.1"])
        #expect(plan.allServers == Set(ether.servers + vpn.servers))
        let other = try Self.link("eth0", "192.0.2.7")
        _ = plan.use([other, vpn], now: Self.start + .seconds(6))
        #expect(Self.hosts(plan.spares) == ["192.0.2.7"])
        #expect(Self.hosts(plan.expire(now: Self.start + .seconds(11)).servers) == ["192.0.2.1"])
        #expect(plan.wake == nil)
        vpn.isFullTunnel = true
        _ = plan.use([ether, vpn], now: Self.start)
        #expect(plan.spares.isEmpty)
        vpn.takesAll = true
        vpn.isFullTunnel = false
        _ = plan.use([ether, vpn], now: Self.start)
        #expect(Self.hosts(plan.servers) == ["198.51.100.1"] && plan.spares.isEmpty)
        plan = NetworkPlan()
        vpn.takesAll = false
        _ = plan.use([ether, vpn], now: Self.start)
        _ = plan.use([ether], now: Self.start)
        #expect(Self.hosts(plan.servers) == ["192.0.2.1"] && plan.spares.isEmpty)
    }

    @Test("a link does not get a domain that a VPN or another link already has")
    func takeover() throws {
        for (first, second, owner) in [
            ("eth0", "wg0", "wg0"), ("wg0", "eth0", "wg0"), ("eth1", "eth0", "eth1"),
        ] {
            var plan = NetworkPlan()
            let one = try Self.link(first, "192.0.2.1", ["corp.example.com"])
            let two = try Self.link(second, "198.51.100.1", ["corp.example.com"])
            _ = plan.use([one], now: Self.start)
            _ = plan.use([two, one], now: Self.start)
            #expect(plan.routes.map(\.link) == [owner])
            _ = plan.use([one, two], now: Self.start)
            #expect(plan.routes.map(\.link) == [owner])
        }
    }

    @Test("invalid routing domains, and `localhost` as a routing domain, are rejected")
    func rejected() throws {
        var plan = NetworkPlan()
        let outcome = plan.use(
            [
                try Self.link(
                    "tun0",
                    "198.51.100.1",
                    ["a..b", "localhost", "x.localhost", "ok.example"]
                )
            ],
            now: Self.start
        )
        #expect(outcome.rejected == ["a..b", "localhost", "x.localhost"])
        #expect(plan.routes.map(\.domain) == [Name(literal: "ok.example")])
    }
}
