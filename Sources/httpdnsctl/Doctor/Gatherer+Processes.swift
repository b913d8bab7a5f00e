// SPDX-License-Identifier: Apache-2.0
import Control

extension Gatherer {
    private static let port: UInt16 = 53

    func look(atProcessesFor machine: inout MachineFacts) {
        let pids = tree.names(in: "/proc").compactMap { Int($0) }
        var names: [Int: String] = [:]
        for pid in pids {
            names[pid] = tree.text("/proc/\(pid)/comm").map { String($0.prefix { $0 != "\n" }) }
        }
        machine.processes = Set(names.values)
        var entries: [(Probe.Transport, PortTable.Entry)] = []
        for transport in Probe.Transport.allCases {
            for family in ["", "6"] {
                let text = tree.text("/proc/net/\(transport.rawValue)\(family)") ?? ""
                entries += PortTable.entries(text, transport).filter { $0.server.port == Self.port }
                    .map { (transport, $0) }
            }
        }
        let holders = holders(of: Set(entries.map(\.1.inode)), among: pids)
        for (transport, entry) in entries {
            let pid = holders[entry.inode]
            let socket = MachineFacts.PortSocket(
                server: entry.server,
                transport: transport,
                user: entry.user,
                process: pid.map { .init(name: names[$0] ?? "?", pid: $0) }
            )
            // Several workers of the daemon can have sockets at one address: adds only the first
            // socket.
            if !machine.sockets.contains(socket) { machine.sockets.append(socket) }
        }
        machine.descriptors = machine.status.flatMap { status in
            Self.descriptors(tree.text("/proc/\(status.pid)/limits") ?? "")
        }
    }

    /// Only root sees the sockets of other users.
    private func holders(of inodes: Set<UInt64>, among pids: [Int]) -> [UInt64: Int] {
        var holders: [UInt64: Int] = [:]
        for pid in pids {
            for descriptor in tree.names(in: "/proc/\(pid)/fd") {
                guard holders.count < inodes.count else { return holders }
                guard let target = tree.readLink("/proc/\(pid)/fd/\(descriptor)"),
                    target.hasPrefix("socket:["),
                    let inode = UInt64(target.dropFirst(8).dropLast()), inodes.contains(inode)
                else { continue }
                if holders[inode] == nil { holders[inode] = pid }
            }
        }
        return holders
    }

    func settingsOfDaemon(_ machine: MachineFacts) -> String? {
        guard let pid = machine.status?.pid, let line = tree.text("/proc/\(pid)/cmdline") else {
            return nil
        }
        guard let file = Self.settings(of: line) else { return nil }
        if file.hasPrefix("/") { return file }
        return tree.readLink("/proc/\(pid)/cwd").map { "\($0)/\(file)" }
    }

    static func settings(of commandLine: String) -> String? {
        let words = commandLine.split(separator: "\0", omittingEmptySubsequences: false)
        guard let index = words.lastIndex(where: { $0 == "--config" || $0.hasPrefix("--config=") })
        else { return nil }
        if words[index] != "--config" { return String(words[index].dropFirst("--config=".count)) }
        return words.indices.contains(index + 1) ? String(words[index + 1]) : nil
    }

    static func descriptors(_ limits: String) -> Int? {
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        return line.flatMap { $0.split(separator: " ").dropFirst(3).first }.flatMap { Int($0) }
    }
}

extension MachineFacts.UnitState {
    /// True if the daemon runs now, but systemd does not start it at boot.
    var isOnlyUntilBoot: Bool {
        let isLost = ["disabled", "masked", "enabled-runtime", "masked-runtime"].contains(enabled)
        return active == "active" && isLost
    }

    static func ofDaemon(within limit: Duration) -> Self? {
        let command = [
            "systemctl", "show",
            "--property=ActiveState,SubState,UnitFileState,Result,ExecMainStatus,DynamicUser",
            "httpdnsd.service",
        ]
        guard let shown = Subprocess.run(command, within: limit), shown.status == 0
        else { return nil }
        return Self(shown.output)
    }

    init(_ text: String) {
        var values: [Substring: String] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { values[parts[0]] = String(parts[1]) }
        }
        self.init(
            active: values["ActiveState"] ?? "unknown",
            sub: values["SubState"] ?? "",
            enabled: values["UnitFileState"] ?? "",
            result: values["Result"] ?? "success",
            code: values["ExecMainStatus"].flatMap { Int($0) } ?? 0,
            hasOwnUser: values["DynamicUser"] == "yes"
        )
    }
}
