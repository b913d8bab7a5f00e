// SPDX-License-Identifier: Apache-2.0
import Control

/// Whether the daemon is there, and is what it should be.
extension Check {
    /// What systemd says.
    static let unit = Check("unit") { machine in
        guard let unit = machine.unit else { return [.skipped("systemd does not run here")] }
        let isUp = machine.status != nil
        var verdicts: [Verdict] = []
        switch unit.active {
        case "active": verdicts.append(.ok("httpdnsd.service is active"))
        case "activating", "reloading": verdicts.append(.ok("httpdnsd.service is \(unit.active)"))
        case _ where isUp:
            verdicts.append(
                .warning(
                    "a daemon runs, but not as httpdnsd.service",
                    fix: "end it, then systemctl enable --now httpdnsd"
                )
            )
        case "failed":
            verdicts.append(failed(unit))
        default:
            verdicts.append(
                .failure(
                    "httpdnsd.service is \(unit.active)",
                    fix: "systemctl enable --now httpdnsd"
                )
            )
        }
        if unit.active == "active", unit.enabled == "disabled" {
            verdicts.append(
                .warning(
                    "httpdnsd.service does not start with the machine",
                    fix: "systemctl enable httpdnsd"
                )
            )
        }
        return verdicts
    }

    /// Explains a unit that systemd does not start again, and names the command that does.
    ///
    /// A start limit refuses `systemctl restart` until its interval is over, and a socket unit that has
    /// failed with the service keeps queries from it: `reset-failed` ends both.
    private static func failed(_ unit: Surroundings.UnitState) -> Verdict {
        guard unit.result == "exit-code", unit.code == 2 else {
            return .failure(
                "httpdnsd.service has failed (\(unit.result)), and is not started again",
                fix: "journalctl -u httpdnsd -n 20 shows why; then systemctl reset-failed "
                    + "'httpdnsd*'; systemctl restart httpdnsd"
            )
        }
        return .failure(
            "httpdnsd.service has failed: there is an error in the settings",
            fix: "httpdnsd --check shows it; when it is corrected, systemctl restart httpdnsd"
        )
    }

    /// What the daemon says of itself.
    static let daemon = Check("daemon") { machine in
        switch machine.daemon {
        case .failure(let failure):
            return [
                .failure(failure.message, fix: failure.hint ?? "systemctl status httpdnsd")
            ]
        case .success(let status):
            switch status.state {
            case .ready: return [.ok("ready, up \(Units.seconds(status.uptimeSeconds))")]
            case .degraded:
                let problems = status.problems.joined(separator: "; ")
                return [.warning("degraded: \(problems)", fix: "httpdnsctl status")]
            case .starting, .stopping:
                return [.warning("\(status.state.rawValue)", fix: "look again in a few seconds")]
            }
        }
    }

    /// Whether daemon and client are of one build.
    static let version = Check("version") { machine in
        guard let status = machine.status else { return [] }
        guard status.version != machine.version else {
            return [.ok("daemon and client are \(machine.version)")]
        }
        return [
            .warning(
                "the daemon is \(status.version), httpdnsctl \(machine.version)",
                fix: "systemctl restart httpdnsd, if both are installed anew"
            )
        ]
    }

    /// Who may talk to the daemon.
    static let controlSocket = Check("control-socket") { machine in
        guard let socket = machine.socket else {
            return [.skipped("there is no \(machine.socketPath)")]
        }
        let who = "\(socket.path) is for root and group \(socket.groupName)"
        if socket.mode & 0o002 != 0 {
            return [
                .warning(
                    "everybody may use \(socket.path)",
                    fix: "set control.mode to \"0660\" in httpdnsd.yaml"
                )
            ]
        }
        guard socket.isWritable else {
            return [
                .warning(
                    "\(who), and you are in neither",
                    fix: "use sudo, or: usermod -aG \(socket.groupName) USER, and log in anew"
                )
            ]
        }
        return [.ok(who)]
    }

    /// Whether the settings would be taken at the next start, and are in force.
    static let settings = Check("settings") { machine in
        if let rehearsal = machine.rehearsal { return verdicts(on: rehearsal, machine) }
        guard machine.hasSettings else {
            return [
                .warning(
                    "there is no \(machine.settingsPath)",
                    fix: "httpdnsd --print-config > \(machine.settingsPath)"
                )
            ]
        }
        guard machine.isRoot else { return [.skipped("secrets can be read by root only")] }
        guard let check = machine.settings else {
            return [.skipped("httpdnsd is not installed, or did not end in time")]
        }
        // systemd makes the credentials when it starts the unit; no other process has them.
        let lines = check.output.split(separator: "\n").map(String.init)
        let wrong = lines.filter { !$0.contains("CREDENTIALS_DIRECTORY") }
        guard check.status != 0, let first = wrong.first else {
            let isWhole = lines.count == wrong.count
            return [
                .ok(
                    "\(machine.settingsPath) is right"
                        + (isWhole ? "" : ", as far as it can be told without credentials")
                )
            ]
        }
        return [.failure(first, fix: "httpdnsd --check shows all that is wrong")]
    }

    /// What the daemon itself says, which has the credentials of its unit.
    private static func verdicts(on rehearsal: ReloadReply, _ machine: Surroundings) -> [Verdict] {
        if let first = rehearsal.problems.first {
            let place = first.line > 0 ? "\(first.file):\(first.line):\(first.column)" : first.file
            return [
                .failure(
                    "\(place): \(first.message)",
                    fix: "httpdnsctl check shows all that is wrong"
                )
            ]
        }
        let pending = rehearsal.changes.map(\.path)
        guard pending.isEmpty else {
            let few = pending.prefix(3).joined(separator: ", ") + (pending.count > 3 ? " …" : "")
            let isForReload = pending.contains { path in
                !rehearsal.needsRestart.contains { path == $0 || path.hasPrefix("\($0).") }
            }
            return [
                .warning(
                    "\(machine.settingsPath) is right, but not in force: \(few)",
                    fix: isForReload
                        ? "httpdnsctl check shows it, httpdnsctl reload puts it in force"
                        : "systemctl restart httpdnsd"
                )
            ]
        }
        return [.ok("\(machine.settingsPath) is right, and in force")]
    }

    /// Whether secrets are.
    static let secrets = Check("secrets") { machine in
        machine.secrets.filter { $0.mode & 0o004 != 0 }.map { file in
            .failure("everybody may read \(file.path)", fix: "chmod o= \(file.path)")
        }
    }

    /// Below this many descriptors TCP clients and vendors' connections get short.
    private static let fewestDescriptors = 4096

    /// How many descriptors the daemon may have.
    static let descriptors = Check("descriptors") { machine in
        guard let limit = machine.descriptors else { return [] }
        guard limit < fewestDescriptors else {
            return [.ok("the daemon may open \(Units.count(limit)) descriptors")]
        }
        return [
            .warning(
                "the daemon may open \(Units.count(limit)) descriptors only",
                fix: "LimitNOFILE=65536 in the unit (systemctl edit httpdnsd)"
            )
        ]
    }

    /// Whether the kernel answers for the daemon; that it does not is nothing to be mended.
    static let kernel = Check("kernel") { machine in
        guard let status = machine.status?.acceleration else { return [] }
        let why = status.why.map { ": \($0)" } ?? ""
        return switch status.state {
        case .on:
            [.ok("the kernel answers over loopback, so far \(Units.count(status.answers)) times")]
        case .resting: [.ok("the kernel leaves it to the daemon for now\(why)")]
        case .off: [.ok("the kernel leaves it to the daemon\(why)")]
        }
    }

    /// How the vendors are.
    static let vendors = Check("vendors") { machine in
        guard let vendors = machine.status?.vendors else { return [] }
        guard !vendors.isEmpty else { return [.ok("none is configured")] }
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
                    return .warning("\(vendor.name): \(what)", fix: "httpdnsctl top cost")
                }
            }
            let error = vendor.servers.compactMap(\.lastError).first.map { ": \($0)" } ?? ""
            switch vendor.state {
            case .up, .paused:
                let how = vendor.protected ? "" : ", unprotected: its answers can be forged"
                return .ok("\(vendor.name) is \(vendor.state.rawValue)\(how)")
            case .degraded:
                return .warning("\(vendor.name) is degraded\(error)", fix: "httpdnsctl status")
            case .down:
                return .failure(
                    "\(vendor.name) does not answer\(error)",
                    fix: "is its network blocked? httpdnsctl status shows each server"
                )
            }
        }
    }

    /// How the upstreams are.
    static let upstreams = Check("upstreams") { machine in
        guard let upstreams = machine.status?.upstreams else { return [] }
        guard !upstreams.isEmpty else {
            return [.ok("none is configured: only vendors, hosts and local names are answered")]
        }
        let isAllDown = upstreams.allSatisfy { $0.state == .down }
        return upstreams.map { upstream in
            if upstream.servers.contains(where: { $0.state == .loops }) {
                return .failure(
                    "\(upstream.name) sends what it is asked back to this daemon",
                    fix: "name another in upstreams (httpdnsd.yaml)"
                )
            }
            // Late replies are counted as well, and are few.
            if let count = upstream.foreignReplies, count > max(8, upstream.calls / 100) {
                return .warning(
                    "\(upstream.name): \(count) messages from its address answered no query",
                    fix: "replies may be forged: use an upstream over tls:// or https://"
                )
            }
            let error = upstream.lastError.map { ": \($0)" } ?? ""
            switch upstream.state {
            case .up, .paused:
                let how = upstream.protected ? "" : ", unprotected: its answers can be forged"
                return .ok("\(upstream.name) is up\(how)")
            case .degraded, .down:
                let what = "\(upstream.name) is \(upstream.state.rawValue)\(error)"
                let fix = "is its network blocked? httpdnsctl status shows each server"
                return isAllDown ? .failure(what, fix: fix) : .warning(what, fix: fix)
            }
        }
    }
}
