// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

extension Check {
    static let port = Check("port-53") { machine in
        let daemon = machine.status?.pid
        var results: [Verdict] = []
        var (isOurs, isHidden) = (false, false)
        var seen: Set<String> = []
        for socket in machine.sockets {
            if let daemon, socket.process?.pid == daemon || socket.process?.name == "httpdnsd" {
                isOurs = true
                continue
            }
            if daemon == nil, socket.process == nil, !machine.isRoot,
                machine.unit?.active == "active"
            {
                // This user may not call the daemon, so the pid of the daemon is unknown.
                isHidden = true
                continue
            }
            let what = "\(place(socket)) is used by \(holder(socket, isRoot: machine.isRoot))"
            guard seen.insert(what).inserted else { continue }
            if occupiesPort(socket, of: machine) {
                results.failure(what, fix: remedy(socket, isRoot: machine.isRoot))
            } else if machine.status == nil {
                // Perhaps the daemon ended because this socket occupied one of its addresses.
                let every = socket.server.isIPv6 ? "[::]:53" : "0.0.0.0:53"
                results.warning(
                    what + ", so the daemon cannot listen on that address or on \(every)",
                    fix: remedy(socket, isRoot: machine.isRoot)
                )
            } else if socket.process != nil || machine.isRoot {
                results.ok(what + ", which does not conflict with the daemon")
            }
        }
        if isHidden {
            results.append(.skipped("only root can see which program uses port 53"))
        }
        if isOurs { results.insert(.ok("the daemon uses port 53"), at: 0) }
        if results.isEmpty, machine.sockets.isEmpty {
            let isElsewhere = machine.status.map { !$0.listeners.isEmpty } ?? false
            results.append(
                isElsewhere
                    ? .warning(
                        "port 53 is not in use; the daemon listens on "
                            + machine.servers.map(\.description).joined(separator: ", "),
                        fix: "set listen: [\"127.0.0.1:53\", \"[::1]:53\"] in "
                            + machine.settingsPath
                    )
                    : .failure("port 53 is not in use", fix: "systemctl enable --now httpdnsd")
            )
        }
        return results
    }

    private static func occupiesPort(
        _ socket: MachineFacts.PortSocket,
        of machine: MachineFacts
    ) -> Bool {
        let listeners = machine.status?.listeners ?? []
        let has = listeners.contains {
            ServerAddress($0.address) == socket.server && $0.transport == socket.transport.rawValue
        }
        // A socket of systemd (pid 1) is harmless: systemd keeps a copy of each socket that it
        // passes to the daemon. Any other process that shares the port (SO_REUSEPORT) receives some
        // of the queries.
        if has { return socket.process.map { $0.pid != 1 } ?? false }
        if machine.status != nil, !socket.server.address.isUnspecified { return false }
        return machine.servers.contains { server in
            server.port == 53
                && (server.address == socket.server.address
                    || socket.server.address.isUnspecified
                        && server.isIPv6 == socket.server.isIPv6)
        }
    }

    private static func place(_ socket: MachineFacts.PortSocket) -> String {
        let address = "\(socket.server.address)"
        return (socket.server.isIPv6 ? "[\(address)]:53" : "\(address):53")
            + " (\(socket.transport.rawValue))"
    }

    private static func holder(_ socket: MachineFacts.PortSocket, isRoot: Bool) -> String {
        if let process = socket.process { return "\(process.name) (pid \(process.pid))" }
        return isRoot
            ? "a process in another container or namespace (user \(socket.user))"
            : "a process of user \(socket.user)"
    }

    private static func remedy(_ socket: MachineFacts.PortSocket, isRoot: Bool) -> String {
        guard let process = socket.process else {
            return isRoot ? "ss -lunpt 'sport = :53'" : "sudo httpdnsctl doctor shows the process"
        }
        return switch process.name {
        case "dnsmasq":
            "systemctl disable --now dnsmasq; if libvirt or NetworkManager runs dnsmasq, set "
                + "bind-interfaces in the configuration of dnsmasq"
        case "systemd-resolve", "systemd-resolved":
            "listen only on 127.0.0.1, or set DNSStubListener=no in /etc/systemd/resolved.conf and "
                + "run systemctl restart systemd-resolved"
        case "httpdnsd":
            "another httpdnsd is running; use --socket with the control socket of that daemon"
        case "unbound", "named", "dnsdist", "pdns_recursor", "kresd", "smartdns", "dnscrypt-proxy",
            "AdGuardHome":
            "systemctl disable --now \(process.name), or change its listen address"
        default: "stop \(process.name), or configure another listen address"
        }
    }

    static let answers = Check("answers") { machine in
        // If the daemon does not run, skips this check: any answer would be from another server.
        guard machine.status != nil else {
            return .skipped("not checked, because the daemon's listeners are unknown")
        }
        var results: [Verdict] = []
        var good: [String] = []
        for answer in machine.answers {
            let place = "\(answer.server) over \(answer.transport.rawValue)"
            switch answer.outcome {
            case .answer(.noError, _): good.append(place)
            case .answer(.refused, _):
                results.failure(
                    "\(place) refuses queries of this machine",
                    fix: "add this machine's addresses to `allow` in httpdnsd.yaml"
                )
            case .answer(let code, _):
                results.failure("\(place) answers \(code)", fix: "journalctl -u httpdnsd")
            case .silence:
                results.failure(
                    "\(place) does not answer",
                    fix:
                        "check the firewall rules for port \(answer.server.port): nft list ruleset"
                )
            case .fault(let fault):
                results.failure("\(place): \(fault)", fix: "systemctl enable --now httpdnsd")
            }
        }
        if !good.isEmpty {
            results.insert(.ok("answers received from " + good.joined(separator: ", ")), at: 0)
        }
        return results
    }
}
