// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

/// Whether the daemon has its port, and answers there.
extension Check {
    /// Who holds port 53 on each address.
    static let port = Check("port-53") { machine in
        let daemon = machine.status?.pid
        var verdicts: [Verdict] = []
        var isOurs = false
        var seen: Set<String> = []
        for socket in machine.sockets {
            if let daemon, socket.process?.pid == daemon || socket.process?.name == "httpdnsd" {
                isOurs = true
                continue
            }
            let what = "\(place(socket)) is held by \(holder(socket, isRoot: machine.isRoot))"
            guard seen.insert(what).inserted else { continue }
            if isInTheWay(socket, of: machine) {
                verdicts.append(.failure(what, fix: remedy(socket, isRoot: machine.isRoot)))
            } else if socket.process != nil || machine.isRoot {
                verdicts.append(.ok(what + ", beside the daemon's"))
            }
        }
        if isOurs { verdicts.insert(.ok("the daemon holds it"), at: 0) }
        if verdicts.isEmpty, machine.sockets.isEmpty {
            let isElsewhere = machine.status.map { !$0.listeners.isEmpty } ?? false
            verdicts.append(
                isElsewhere
                    ? .warning(
                        "nobody holds port 53; the daemon is on "
                            + machine.servers.map(\.description).joined(separator: ", "),
                        fix: "listen: [\"127.0.0.1:53\", \"[::1]:53\"] in httpdnsd.yaml"
                    )
                    : .failure("nobody holds port 53", fix: "systemctl enable --now httpdnsd")
            )
        }
        return verdicts
    }

    /// Whether a socket of somebody else's keeps the daemon from one of its own.
    ///
    /// The kernel refuses an address beside "all addresses", and the other way round.
    private static func isInTheWay(
        _ socket: Surroundings.PortSocket,
        of machine: Surroundings
    ) -> Bool {
        let listeners = machine.status?.listeners ?? []
        // A running daemon that has the very address has won it already.
        let has = listeners.contains {
            ServerAddress($0.address) == socket.server && $0.transport == socket.transport.rawValue
        }
        if has || machine.status != nil && !socket.server.address.isUnspecified { return false }
        return machine.servers.contains { server in
            server.port == 53
                && (server.address == socket.server.address
                    || socket.server.address.isUnspecified
                        && server.isIPv6 == socket.server.isIPv6)
        }
    }

    /// The socket, as people say it.
    private static func place(_ socket: Surroundings.PortSocket) -> String {
        let address = "\(socket.server.address)"
        return (socket.server.isIPv6 ? "[\(address)]:53" : "\(address):53")
            + " (\(socket.transport.rawValue))"
    }

    /// Who holds a socket.
    private static func holder(_ socket: Surroundings.PortSocket, isRoot: Bool) -> String {
        if let process = socket.process { return "\(process.name) (pid \(process.pid))" }
        return isRoot
            ? "a process of another container or namespace (user \(socket.user))"
            : "a process of user \(socket.user)"
    }

    /// How to get the address back.
    private static func remedy(_ socket: Surroundings.PortSocket, isRoot: Bool) -> String {
        guard let process = socket.process else {
            return isRoot ? "ss -lunpt 'sport = :53'" : "sudo httpdnsctl doctor names the process"
        }
        return switch process.name {
        case "dnsmasq":
            "systemctl disable --now dnsmasq; libvirt's and NetworkManager's need bind-interfaces"
        case "systemd-resolve", "systemd-resolved":
            "DNSStubListener=no in /etc/systemd/resolved.conf, or listen on 127.0.0.1 alone"
        case "httpdnsd": "it is a daemon with another control socket: --socket names that"
        case "unbound", "named", "dnsdist", "pdns_recursor", "kresd", "smartdns", "dnscrypt-proxy",
            "AdGuardHome":
            "systemctl disable --now \(process.name), or give it another address"
        default: "stop \(process.name), or let the daemon listen elsewhere"
        }
    }

    /// Whether the daemon answers on each of its addresses, over both transports.
    static let answers = Check("answers") { machine in
        // Without its word, who answers could be anybody: see port-53.
        guard machine.status != nil else {
            return [.skipped("the daemon does not say where it listens")]
        }
        var verdicts: [Verdict] = []
        var good: [String] = []
        for answer in machine.answers {
            let place = "\(answer.server) over \(answer.transport.rawValue)"
            switch answer.outcome {
            case .answer(.noError, _): good.append(place)
            case .answer(.refused, _):
                verdicts.append(
                    .failure(
                        "\(place) refuses this machine",
                        fix: "add this machine's addresses to allow in httpdnsd.yaml"
                    )
                )
            case .answer(let code, _):
                verdicts.append(.failure("\(place) says \(code)", fix: "journalctl -u httpdnsd"))
            case .silence:
                verdicts.append(
                    .failure(
                        "\(place) does not answer",
                        fix:
                            "is there a firewall rule for port \(answer.server.port)? nft list ruleset"
                    )
                )
            case .fault(let fault):
                verdicts.append(
                    .failure("\(place): \(fault)", fix: "systemctl enable --now httpdnsd")
                )
            }
        }
        if !good.isEmpty {
            verdicts.insert(.ok("answered by " + good.joined(separator: ", ")), at: 0)
        }
        return verdicts
    }
}
