// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

extension Check {
    static let unit = Check("unit") { machine in
        guard let unit = machine.unit else { return .skipped("systemd is not running") }
        let isUp = machine.status != nil
        var results: [Verdict] = []
        switch unit.active {
        case "active": results.ok("httpdnsd.service is active")
        case "activating" where unit.sub == "auto-restart":
            results.warning(
                "httpdnsd.service ended (\(unit.cause)), and systemd will restart it",
                fix: "journalctl -u httpdnsd -n 20 shows the cause"
            )
        case "activating", "reloading": results.ok("httpdnsd.service is \(unit.active)")
        case _ where isUp:
            results.warning(
                "a daemon is running, but not as httpdnsd.service",
                fix: "stop that daemon, then systemctl enable --now httpdnsd"
            )
        case "failed": results.append(failed(unit, machine))
        default:
            results.failure(
                "httpdnsd.service is \(unit.active)",
                fix: "systemctl enable --now httpdnsd"
            )
        }
        if unit.isOnlyUntilBoot {
            results.warning(
                "httpdnsd.service does not start at boot",
                fix: "systemctl enable httpdnsd"
            )
        }
        return results
    }

    private static func failed(_ unit: MachineFacts.UnitState, _ machine: MachineFacts) -> Verdict {
        let what = "httpdnsd.service failed"
        let cause: (what: String, fix: String) =
            switch unit.exitCode {
            case 2:
                machine.closedSettings.first.map {
                    ("the user of the service cannot read \($0)", "chmod 644 \($0)")
                } ?? ("error in the settings", "httpdnsd --check shows the error")
            case 78:
                (
                    "the settings cannot be applied on this machine",
                    "journalctl -u httpdnsd -n 20 shows the cause"
                )
            case 243:
                (
                    "systemd cannot read a credential",
                    "correct LoadCredential= (systemctl cat httpdnsd)"
                )
            default:
                (
                    "\(unit.cause); systemd does not restart it",
                    "journalctl -u httpdnsd -n 20 shows the cause"
                )
            }
        return .failure("\(what): \(cause.what)", fix: "\(cause.fix); then \(restart)")
    }

    private static let restart =
        "systemctl reset-failed 'httpdnsd*' && systemctl restart httpdnsd"

    static let daemon = Check("daemon") { machine in
        switch machine.daemon {
        case .failure(let failure):
            return .failure(failure.message, fix: failure.hint ?? "systemctl status httpdnsd")
        case .success(let status):
            switch status.state {
            case .ready: return .ok("ready, up \(Units.seconds(status.uptimeSeconds))")
            case .degraded:
                let problems = status.problems.joined(separator: "; ")
                return .warning("degraded: \(problems)", fix: "see the checks below")
            case .starting, .stopping:
                return .warning("\(status.state.rawValue)", fix: "retry in a few seconds")
            }
        }
    }

    static let version = Check("version") { machine in
        guard let status = machine.status else { return [] }
        guard status.version != machine.version else {
            return .ok("daemon and httpdnsctl have version \(machine.version)")
        }
        return .warning(
            "the daemon has version \(status.version), but httpdnsctl has "
                + "version \(machine.version)",
            fix: "if httpdnsd was also updated: systemctl restart httpdnsd"
        )
    }

    static let controlSocket = Check("control-socket") { machine in
        guard let socket = machine.socket else {
            return .skipped("\(machine.socketPath) does not exist")
        }
        let who = "\(socket.path) is accessible to root and group \(socket.groupName)"
        if socket.mode & 0o002 != 0 {
            return .warning(
                "\(socket.path) is accessible to all users",
                fix: "set control.mode to \"0660\" in httpdnsd.yaml"
            )
        }
        guard socket.isWritable else {
            return .warning(
                "\(who), but not to you",
                fix: socket.group == 0
                    ? Unreachable.adviceOnGroupRoot
                    : "use sudo, or usermod -aG \(socket.groupName) USER and log in again"
            )
        }
        return .ok(who)
    }

    static let settings = Check("settings") { machine in
        if let file = machine.closedSettings.first {
            return .failure(
                "only root can read \(file): the service runs as its own user, "
                    + "and cannot read it",
                fix: "chmod 644 \(file); secrets belong in credentials or in their own files"
            )
        }
        if let settingsCheck = machine.settingsCheck { return results(on: settingsCheck, machine) }
        guard machine.hasSettings else {
            return .warning(
                "\(machine.settingsPath) does not exist",
                fix: "httpdnsd --print-config > \(machine.settingsPath)"
            )
        }
        guard machine.isRoot else { return .skipped("only root can read the secrets") }
        guard let check = machine.settings else {
            return .skipped("httpdnsd is not installed, or --check timed out")
        }
        // systemd passes credentials to httpdnsd.service only, so this run of `httpdnsd --check`
        // has none.
        let lines = check.output.split(separator: "\n").map(String.init)
        let faults = ["only root can read", "would have no DNS"]
        if let line = lines.first(where: { line in faults.contains { line.contains($0) } }) {
            return .failure(line, fix: "run httpdnsd --check for a hint")
        }
        let wrong = lines.filter { !$0.contains("CREDENTIALS_DIRECTORY") }
        guard check.status != 0, let first = wrong.first else {
            let isWhole = lines.count == wrong.count
            return .ok(
                "\(machine.settingsPath) is valid"
                    + (isWhole ? "" : " (checked without credentials)")
            )
        }
        return .failure(first, fix: "httpdnsd --check shows all errors")
    }

    private static func results(on settingsCheck: ReloadReply, _ machine: MachineFacts) -> [Verdict]
    {
        if let first = settingsCheck.problems.first {
            let place = first.line > 0 ? "\(first.file):\(first.line):\(first.column)" : first.file
            return .failure("\(place): \(first.message)", fix: "httpdnsctl check shows all errors")
        }
        let pending = settingsCheck.changes.map(\.path)
        guard pending.isEmpty else {
            let few = pending.prefix(3).joined(separator: ", ") + (pending.count > 3 ? " …" : "")
            let isForReload = pending.contains { path in
                !settingsCheck.needsRestart.contains { path == $0 || path.hasPrefix("\($0).") }
            }
            return .warning(
                "\(machine.settingsPath) is valid, but these changes are not yet in force: "
                    + few,
                fix: isForReload
                    ? "httpdnsctl check shows the changes, httpdnsctl reload applies them"
                    : settingsCheck.warnings.isEmpty
                        ? "systemctl restart httpdnsd"
                        : "httpdnsctl check shows warnings: read them before you run systemctl "
                            + "restart httpdnsd"
            )
        }
        return .ok("\(machine.settingsPath) is valid and in force")
    }

    static let secrets = Check("secrets") { machine in
        machine.secrets.filter { $0.mode & 0o004 != 0 }.map { file in
            .failure("\(file.path) is readable by all users", fix: "chmod o= \(file.path)")
        }
    }

    private static let fewestDescriptors = 4096

    static let descriptors = Check("descriptors") { machine in
        guard let limit = machine.descriptors else { return [] }
        guard limit < fewestDescriptors else {
            return .ok("the daemon may open \(Units.count(limit)) file descriptors")
        }
        return .warning(
            "the daemon may open only \(Units.count(limit)) file descriptors",
            fix: "set LimitNOFILE=65536 in the unit (systemctl edit httpdnsd)"
        )
    }

    static let kernel = Check("kernel") { machine in
        guard let status = machine.status?.acceleration else { return [] }
        let why = status.why.map { ": \($0)" } ?? ""
        return switch status.state {
        case .on:
            [.ok("acceleration on: \(Units.count(status.answers)) answers from the kernel so far")]
        case .resting: [.ok("acceleration suspended\(why)")]
        case .off: [.ok("acceleration off\(why)")]
        }
    }

    static let vendors = Check("vendors") { machine in
        guard let vendors = machine.status?.vendors else { return [] }
        guard !vendors.isEmpty else { return .ok("no vendor is configured") }
        return vendors.map { vendor in
            if let rest = vendor.rest {
                let what = VendorText.rest(rest, of: vendor.name)
                switch rest.by {
                case .operator: return .ok("\(vendor.name): \(what)")
                case .account:
                    return .failure(
                        "\(vendor.name): \(what)",
                        fix:
                            "check id and secret in the settings, then httpdnsctl resume \(vendor.name)"
                    )
                case .limit, .budget:
                    return .warning(
                        "\(vendor.name): \(what)",
                        fix: "httpdnsctl top cost shows the names that cause calls"
                    )
                }
            }
            let error = vendor.servers.compactMap(\.lastError).first.map { ": \($0)" } ?? ""
            switch vendor.state {
            case .up where machine.emptyVendors[vendor.name] != nil:
                let lookups = Units.count(
                    machine.emptyVendors[vendor.name] ?? 0,
                    "lookup",
                    "lookups"
                )
                return .warning(
                    "\(vendor.name) is up, but has returned no address for \(lookups)",
                    fix: "check id and secret, and that the names are registered in the vendor's "
                        + "console"
                )
            case .up, .paused:
                let how = vendor.protected ? "" : ", unprotected: its answers can be forged"
                return .ok("\(vendor.name) is \(vendor.state.rawValue)\(how)")
            case .degraded:
                return .warning(
                    "\(vendor.name) is degraded\(error)",
                    fix: "httpdnsctl status shows each server"
                )
            case .down:
                return .failure(
                    "\(vendor.name) does not answer\(error)",
                    fix: "check the network path; httpdnsctl status shows each server"
                )
            }
        }
    }

    /// Addresses of one network count as equal, because vendors select answers by network.
    static let clientAddress = Check("client-address") { machine in
        (machine.status?.vendors ?? []).compactMap { vendor in
            guard let address = vendor.clientAddress else { return nil }
            guard let subnet = vendor.clientSubnet else {
                return .ok("\(vendor.name) sees this machine as \(address)")
            }
            guard isSameNetwork(address, subnet) else {
                return .warning(
                    "\(vendor.name) chooses addresses for \(address), but client-subnet is "
                        + "\(subnet): the vendor ignores the option",
                    fix: "repeat the check after httpdnsctl explain NAME --live; if the result is "
                        + "the same, remove client-subnet of vendor \(vendor.name)"
                )
            }
            return .ok("\(vendor.name) chooses addresses for client-subnet \(subnet)")
        }
    }

    private static func isSameNetwork(_ one: String, _ other: String) -> Bool {
        guard let one = IPAddress(one)?.unmapped, let other = IPAddress(other)?.unmapped else {
            return false
        }
        let length = if case .v4 = one { 24 } else { 56 }
        return IPPrefix(containing: one, length: length)
            == IPPrefix(containing: other, length: length)
    }

    static let upstreams = Check("upstreams") { machine in
        guard let upstreams = machine.status?.upstreams else { return [] }
        guard !upstreams.isEmpty else {
            return .ok(
                "no upstream is configured: the daemon answers only names with a route to a "
                    + "vendor, names in hosts, and special names"
            )
        }
        let isAllDown = upstreams.allSatisfy { $0.state == .down }
        return upstreams.map { upstream in
            if upstream.servers.contains(where: { $0.state == .loops }) {
                return .failure(
                    "\(upstream.name) forwards queries back to this daemon",
                    fix: "configure another upstream in httpdnsd.yaml"
                )
            }
            if let count = upstream.foreignReplies, count > max(8, upstream.calls / 100) {
                return .warning(
                    "\(upstream.name): \(count) messages from its address matched no query",
                    fix: "the messages may be forged: use an upstream over tls:// or https://"
                )
            }
            let error = upstream.lastError.map { ": \($0)" } ?? ""
            switch upstream.state {
            case .paused:
                return .warning(
                    "\(upstream.name) is paused by the operator",
                    fix: "httpdnsctl resume \(upstream.name)"
                )
            case .up:
                let how = upstream.protected ? "" : ", unprotected: its answers can be forged"
                return .ok("\(upstream.name) is up\(how)")
            case .degraded, .down:
                let what = "\(upstream.name) is \(upstream.state.rawValue)\(error)"
                let fix =
                    "check the upstream and the network path; httpdnsctl status shows each server"
                return isAllDown ? .failure(what, fix: fix) : .warning(what, fix: fix)
            }
        }
    }
}
