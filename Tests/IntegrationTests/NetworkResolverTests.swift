// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// A machine with a link to a network and a link to a VPN; each has an unbound server.
private final class TwoLinks: Sendable {
    static let lan = "192.0.2.1"
    static let vpn = "198.51.100.1"

    let machine: Namespace
    let scratch: Scratch
    let servers: [Child]
    private let network: Namespace

    init() throws {
        let scratch = try Scratch()
        self.scratch = scratch
        (machine, network) = (try Namespace(), try Namespace())
        try machine.connect(to: network, "192.0.2.10/24", "\(Self.lan)/24")
        let resolvConf = try scratch.write("nameserver 127.0.0.1\n", to: "resolv.conf")
        try machine.connect(to: network, "10.9.0.2/24", "10.9.0.1/24", name: "tun0")
        try Self.shell(network, "ip address add \(Self.vpn)/32 dev lo")
        try Self.shell(
            machine,
            """
            ip route add default via \(Self.lan)
            ip route add \(Self.vpn) via 10.9.0.1
            # The kernel may report the carrier late.
            for link in cable tun0; do
                until ip -o link show $link | grep -q 'state UP'; do :; done
            done
            mount -t tmpfs tmpfs /run
            target=$(readlink -m /etc/resolv.conf)
            mkdir -p "${target%/*}"
            [ -e "$target" ] || : > "$target"
            mount --bind \(resolvConf) "$target"
            """
        )
        let network = network
        func unbound(_ address: String, _ lines: String) throws -> Child {
            let file = try scratch.write(
                """
                server:
                    interface: \(address)
                    access-control: 0.0.0.0/0 allow
                    do-ip6: no
                    username: ""
                    chroot: ""
                    directory: "\(scratch.path)"
                    pidfile: ""
                    use-syslog: no
                    logfile: ""
                    log-queries: yes
                    verbosity: 1
                    num-threads: 1
                    local-zone: "." static
                    \(lines)
                remote-control:
                    control-enable: no

                """,
                to: "\(address).conf"
            )
            let child = try Child("unbound", ["-d", "-c", file], in: network)
            _ = try child.line(with: "start of service")
            return child
        }
        servers = [
            try unbound(Self.lan, "local-data: \"www.example.com. 300 IN A 203.0.113.1\""),
            try unbound(Self.vpn, "local-data: \"app.corp.example.com. 300 IN A 203.0.113.2\""),
        ]
    }

    static func shell(_ namespace: Namespace, _ text: String) throws {
        let end = try namespace.run("sh", ["-ec", text])
        try #require(end.status == 0, "\(end.errors)")
    }

    func index(of link: String) throws -> String {
        let end = try machine.run("ip", ["-o", "link", "show", link])
        return String(end.output.prefix { $0 != ":" })
    }

    /// Stops the servers, and returns the names that each server received through its own link.
    ///
    /// `astray` has the names that a server received through the link of the other server.
    func queries() throws -> (lan: [String], vpn: [String], astray: [String]) {
        let logs = try servers.map { try $0.stop().errors.lowercased() }
        func names(_ log: String, from source: String) -> [String] {
            log.split(separator: "\n").compactMap { line in
                let parts = line.components(separatedBy: " info: \(source) ")
                return parts.count == 2 ? String(parts[1].prefix { $0 != " " }) : nil
            }
        }
        let (lan, vpn) = ("192.0.2.10", "10.9.0.2")
        return (
            names(logs[0], from: lan), names(logs[1], from: vpn),
            names(logs[0], from: vpn) + names(logs[1], from: lan)
        )
    }
}

/// Private system bus with a scripted systemd-resolved or NetworkManager.
private final class ScriptedBus: Sendable {
    enum Service {
        case resolved, networkManager

        var name: String {
            self == .resolved ? "org.freedesktop.resolve1" : "org.freedesktop.NetworkManager"
        }

        var path: String { "/" + name.split(separator: ".").joined(separator: "/") }

        var interface: String { self == .resolved ? name + ".Manager" : name }
    }

    private let scripted: Service
    let address: String
    private let machine: Namespace
    private let bus: Child
    private let service: Child

    init(_ scripted: Service, in machine: Namespace, _ scratch: Scratch) throws {
        self.machine = machine
        self.scripted = scripted
        address = "unix:path=\(scratch.file("bus"))"
        let file = try scratch.write(
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
              "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>system</type>
              <listen>\(address)</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow user="*"/><allow own="*"/><allow send_destination="*"/>
                <allow receive_sender="*"/><allow send_type="method_call"/>
              </policy>
            </busconfig>
            """,
            to: "bus.conf"
        )
        bus = try Child(
            "dbus-daemon",
            ["--config-file=\(file)", "--nofork", "--print-address=1"],
            in: machine
        )
        _ = try bus.line(with: "unix:")
        service = try Child(
            "/usr/bin/python3",
            ["-u", "-m", "dbusmock", "--system", scripted.name, scripted.path, scripted.interface],
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": address],
            in: machine
        )
        try TwoLinks.shell(
            machine,
            """
            until busctl --address=\(address) status \(scripted.name) >/dev/null 2>&1; do :; done
            """
        )
    }

    /// - Parameter links: interface index, DNS server and routing domain of each link.
    func set(_ links: [(index: String, address: String, domain: String?)], isNew: Bool = false)
        throws
    {
        let servers = links.flatMap { link in
            [link.index, "2", "4"] + link.address.split(separator: ".").map(String.init)
                + ["0", ""]
        }
        let routed = links.filter { $0.domain != nil }
        let domains = routed.flatMap { [$0.index, $0.domain ?? "", "true"] }
        let properties =
            ["2", "DNSEx", "a(iiayqs)", "\(links.count)"] + servers
            + ["Domains", "a(isb)", "\(routed.count)"] + domains
        try set(properties, isNew: isNew)
    }

    func pause(_ isOn: Bool) { kill(service.pid, isOn ? SIGSTOP : SIGCONT) }

    func stopService() throws { _ = try service.stop() }

    /// - Parameter properties: their number, then the name, type and value of each property.
    func set(_ properties: [String], isNew: Bool = false) throws {
        let member = isNew ? "AddProperties" : "UpdateProperties"
        try call([member, "sa{sv}", scripted.interface] + properties)
    }

    func add(_ links: [(link: String, address: String, domain: String)]) throws {
        let entries = links.flatMap { link in
            ["3", "interface", "s", link.link, "nameservers", "as", "1", link.address]
                + ["domains", "as", "1", link.domain]
        }
        try call(
            [
                "AddObject", "ssa{sv}a(ssss)", scripted.path + "/DnsManager",
                scripted.interface + ".DnsManager", "1", "Configuration", "aa{sv}",
                "\(links.count)",
            ] + entries + ["0"]
        )
    }

    private func call(_ arguments: [String]) throws {
        let object = [
            "--address=\(address)", "call", scripted.name, scripted.path,
            "org.freedesktop.DBus.Mock",
        ]
        let end = try machine.run("busctl", object + arguments)
        try #require(end.status == 0, "\(end.errors)")
    }
}

@Suite(
    "The network's resolvers as an upstream",
    .needs(.unshare, .ip, .dig, .unbound, .dbus, .dbusmock, .systemd),
    .hangLimit
)
struct NetworkResolverTests {
    private static let settings = "upstreams: [{name: network, from: network}]"

    @Test("a VPN's names go only to the VPN's servers, and to no server for 5 s after the VPN ends")
    func routing() throws {
        let links = try TwoLinks()
        let bus = try ScriptedBus(.resolved, in: links.machine, links.scratch)
        let lan = (index: try links.index(of: "cable"), address: TwoLinks.lan, domain: String?.none)
        let vpn = (
            index: try links.index(of: "tun0"), address: TwoLinks.vpn,
            domain: String?.some("corp.example.com")
        )
        try bus.set([lan], isNew: true)
        let daemon = try TestDaemon(
            Self.settings,
            listen: "127.0.0.1:53",
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address],
            in: links.machine
        )
        _ = try daemon.program.line(with: "network resolvers: \(TwoLinks.lan)")
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["203.0.113.1"])

        try bus.set([lan, vpn])
        _ = try daemon.program.line(with: "routing domains: corp.example.com (tun0)")
        #expect(try daemon.dig("app.corp.example.com", "A").data("A") == ["203.0.113.2"])
        let status = try JSON(try daemon.control("status", "--json").output)["network"]
        #expect(status["servers"].array.compactMap(\.string) == [TwoLinks.lan])
        let domain = status["domains"].array.first
        #expect(domain?["domain"].string == "corp.example.com")
        #expect(domain?["link"].string == "tun0")
        #expect(domain?["servers"].array.compactMap(\.string) == [TwoLinks.vpn])
        let explained = try daemon.control("explain", "app.corp.example.com").output
        #expect(explained.contains("link tun0 (systemd-resolved)"), "\(explained)")
        #expect(explained.contains("unprotected"), "\(explained)")

        // With DHCP option 121, a hostile network can get the packets for the VPN's server.
        try links.machine.ip("route replace \(TwoLinks.vpn) via \(TwoLinks.lan) dev cable")
        #expect(try daemon.dig("two.corp.example.com", "A").text.contains("NXDOMAIN"))

        try TwoLinks.shell(links.machine, "ip link del tun0")
        _ = try daemon.program.line(with: "corp.example.com (tun0, held)")
        #expect(try daemon.dig("new.corp.example.com", "A").text.contains("SERVFAIL"))
        _ = try daemon.program.line(with: "no longer held: corp.example.com")
        #expect(try daemon.dig("app.corp.example.com", "A").text.contains("NXDOMAIN"))
        try daemon.stop()

        let queries = try links.queries()
        #expect(queries.lan.filter { $0.contains("corp") } == ["app.corp.example.com."])
        let corp = ["app.corp.example.com.", "two.corp.example.com."]
        #expect(Set(queries.vpn.filter { $0 != "." }) == Set(corp))
        #expect(queries.astray.isEmpty)
    }

    @Test("if a VPN gets all names, no name leaks when systemd-resolved stops or the VPN goes down")
    func allNames() throws {
        let links = try TwoLinks()
        let bus = try ScriptedBus(.resolved, in: links.machine, links.scratch)
        let lan = (index: try links.index(of: "cable"), address: TwoLinks.lan, domain: String?.none)
        let vpn = (
            index: try links.index(of: "tun0"), address: TwoLinks.vpn, domain: String?.some(".")
        )
        try bus.set([lan, vpn], isNew: true)
        try TwoLinks.shell(
            links.machine,
            """
            mkdir -p /run/systemd/resolve
            echo nameserver \(TwoLinks.lan) > /run/systemd/resolve/resolv.conf
            """
        )
        let daemon = try TestDaemon(
            Self.settings,
            listen: "127.0.0.1:53",
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address],
            in: links.machine
        )
        _ = try daemon.program.line(with: "network resolvers: \(TwoLinks.vpn)")
        #expect(try daemon.dig("app.corp.example.com", "A").data("A") == ["203.0.113.2"])
        try bus.stopService()
        #expect(try daemon.dig("one.example.com", "A").text.contains("NXDOMAIN"))
        try TwoLinks.shell(links.machine, "ip link del tun0")
        _ = try daemon.program.line(with: "network resolvers: none (tun0: the link with `~.` is")
        #expect(try daemon.dig("two.example.com", "A").text.contains("SERVFAIL"))
        try daemon.stop()
        let queries = try links.queries()
        #expect(Set(queries.lan).isSubset(of: ["."]))
        #expect(queries.astray.isEmpty)
    }

    @Test("after NetworkManager stops, names of an active VPN are still queried at its server")
    func endOfNetworkManager() throws {
        let links = try TwoLinks()
        let bus = try ScriptedBus(.networkManager, in: links.machine, links.scratch)
        try bus.add([("tun0", TwoLinks.vpn, "~corp.example.com"), ("cable", TwoLinks.lan, "lan")])
        try TwoLinks.shell(
            links.machine,
            """
            mkdir -p /run/NetworkManager
            echo nameserver \(TwoLinks.lan) > /run/NetworkManager/resolv.conf
            """
        )
        let daemon = try TestDaemon(
            Self.settings,
            listen: "127.0.0.1:53",
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address],
            in: links.machine
        )
        _ = try daemon.program.line(with: "routing domains: corp.example.com (tun0)")
        try bus.stopService()
        _ = try daemon.program.line(with: "NetworkManager does not run; its latest servers stay")
        #expect(try daemon.dig("app.corp.example.com", "A").data("A") == ["203.0.113.2"])
        try TwoLinks.shell(links.machine, "ip link del tun0")
        _ = try daemon.program.line(with: "no longer held: corp.example.com")
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["203.0.113.1"])
        try daemon.stop()
        let queries = try links.queries()
        #expect(queries.lan.allSatisfy { !$0.contains("corp") })
        #expect(queries.astray.isEmpty)
    }

    @Test("the daemon uses new servers in openresolv's files, and in the file that `from` names")
    func files() throws {
        let links = try TwoLinks()
        try TwoLinks.shell(
            links.machine,
            """
            mkdir -p /run/resolvconf/interfaces /run/resolvconf/private
            echo nameserver \(TwoLinks.lan) > /run/resolvconf/interfaces/cable.dhclient
            """
        )
        let file = try links.scratch.write("nameserver 127.0.0.1\n", to: "servers")
        let daemon = try TestDaemon(
            """
            upstreams: [{name: network, from: network}, {name: file, from: \(file), only: true}]
            routes: [{domains: [corp.example.com], upstreams: [file]}]
            """,
            listen: "127.0.0.1:53",
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/run/none"],
            in: links.machine
        )
        let first = try daemon.dig("www.example.com", "A")
        #expect(first.data("A") == ["203.0.113.1"], "\(first.text)")
        _ = try daemon.program.line(with: "network resolvers: \(TwoLinks.lan)")
        #expect(try daemon.dig("app.corp.example.com", "A").text.contains("SERVFAIL"))
        try links.scratch.write("nameserver \(TwoLinks.vpn)\nnameserver x\n", to: "servers")
        _ = try daemon.program.line(with: "upstream file: servers: \(TwoLinks.vpn)")
        #expect(try daemon.dig("app.corp.example.com", "A").data("A") == ["203.0.113.2"])

        try TwoLinks.shell(links.machine, "rm /run/resolvconf/interfaces/cable.dhclient")
        _ = try daemon.program.line(with: "network resolvers: none")
        #expect(try daemon.dig("other.example.com", "A").text.contains("SERVFAIL"))

        try links.scratch.write("nameserver \(TwoLinks.vpn)\n", to: "resolv.conf")
        _ = try daemon.program.line(with: "network resolvers: \(TwoLinks.vpn)")
        let last = try daemon.dig("none.example.com", "A").text
        #expect(last.contains("NXDOMAIN"), "\(last)")
        try daemon.stop()
    }

    @Test("a VPN gets all names even if its default routes appear after its DNS server")
    func lateRoutes() throws {
        let links = try TwoLinks()
        try TwoLinks.shell(
            links.machine,
            """
            mkdir -p /run/resolvconf/interfaces
            echo nameserver \(TwoLinks.lan) > /run/resolvconf/interfaces/cable.dhclient
            echo nameserver \(TwoLinks.vpn) > /run/resolvconf/interfaces/tun0.openvpn
            """
        )
        let daemon = try TestDaemon(
            Self.settings,
            listen: "127.0.0.1:53",
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/run/none"],
            in: links.machine
        )
        let text = "network resolvers: \(TwoLinks.vpn)"
        #expect(try daemon.program.line(with: text).contains(TwoLinks.lan))
        // The routes come more than 2 s after the DNS server, so only the daemon's periodic check
        // (every 10 s) finds the routes.
        try TwoLinks.shell(
            links.machine,
            "sleep 3; for half in 0.0.0.0/1 128.0.0.0/1; do ip route add $half dev tun0; done"
        )
        #expect(try !daemon.program.line(with: text, number: 2).contains(TwoLinks.lan))
        try daemon.stop()
    }

    @Test("`status` reports a captive portal; in the portal mode, the network's server answers")
    func portal() throws {
        let links = try TwoLinks()
        try TwoLinks.shell(
            links.machine,
            """
            mkdir -p /run/resolvconf/interfaces
            echo nameserver \(TwoLinks.lan) > /run/resolvconf/interfaces/cable.dhclient
            """
        )
        let bus = try ScriptedBus(.networkManager, in: links.machine, links.scratch)
        try bus.set(["1", "Connectivity", "u", "4"], isNew: true)
        let daemon = try TestDaemon(
            "upstreams: [{name: none, url: \"tls://192.0.2.99\"}]",
            listen: "127.0.0.1:53",
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address],
            in: links.machine
        )
        _ = try daemon.program.line(with: "network resolvers: \(TwoLinks.lan)")
        try bus.set(["1", "Connectivity", "u", "2"])
        _ = try daemon.program.line(with: "the network may have a captive portal")
        let blocked = try daemon.control("status", "--json")
        #expect(blocked.status == 4)
        #expect(try JSON(blocked.output)["network"]["portal"].bool == true)

        let on = try daemon.control("portal", "--for", "10m")
        #expect(on.status == 0 && on.output.contains(TwoLinks.lan), "\(on.output)\(on.errors)")
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["203.0.113.1"])
        #expect(try daemon.cached("www.example.com").isEmpty)
        #expect(try daemon.control("portal", "--off").status == 0)
        try bus.set(["1", "Connectivity", "u", "4"])
        _ = try daemon.program.line(with: "no longer has a captive portal")
        let free = try JSON(try daemon.control("status", "--json").output)
        #expect(free["network"]["portal"].bool == false)
        try daemon.stop()
    }
}
