// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// Whether the programs of this machine ask the daemon.
extension Check {
    /// Where `/etc/resolv.conf` points.
    static let resolvConf = Check("resolv-conf") { machine in
        let file = ResolvConfText(machine.resolver.text ?? "")
        let owner = ResolverOwner(machine.resolver).name
        let setup = "httpdnsctl setup apply"
        guard let first = file.nameservers.first else {
            // Without a server glibc asks 127.0.0.1.
            let isThere = machine.isDaemon("127.0.0.1")
            return [
                isThere
                    ? .warning("/etc/resolv.conf names no server: glibc asks 127.0.0.1", fix: setup)
                    : .failure("/etc/resolv.conf names no server", fix: setup)
            ]
        }
        if !machine.isDaemon(first) {
            if owner == ResolverOwner.resolved.name, isPointed(machine.resolver, in: machine) {
                return [.ok("points at systemd-resolved, and that at the daemon")]
            }
            return [
                .failure(
                    "programs ask \(first), not the daemon (written by \(owner))",
                    fix: setup
                )
            ]
        }
        return [.ok("points at \(first)")] + options(file, machine)
    }

    /// What weakens a file that points at the daemon.
    private static func options(_ file: ResolvConfText, _ machine: Surroundings) -> [Verdict] {
        var verdicts: [Verdict] = []
        let others = file.nameservers.prefix(ResolvConfText.maximumServers).filter {
            !machine.isDaemon($0)
        }
        if !others.isEmpty {
            let list = others.joined(separator: ", ")
            verdicts.append(
                file.options.contains("rotate")
                    ? .failure(
                        "'rotate' sends a part of the queries to \(list)",
                        fix: "httpdnsctl setup apply"
                    )
                    : .warning(
                        "\(list) is asked when the daemon is slow, past vendors and encryption",
                        fix: "httpdnsctl setup apply"
                    )
            )
        }
        for option in file.options {
            let parts = option.split(separator: ":")
            let value = parts.count == 2 ? Int(parts[1]) : nil
            switch (parts.first, value) {
            case ("ndots", let dots?) where dots > 1 && !file.search.isEmpty:
                verdicts.append(
                    .warning(
                        "ndots:\(dots) tries \(file.search.count) search domains before a name "
                            + "itself",
                        fix: "remove it from the options of /etc/resolv.conf"
                    )
                )
            case ("timeout", let seconds?) where seconds < 2:
                verdicts.append(
                    .warning(
                        "timeout:\(seconds) gives up before slow names are answered",
                        fix: "use timeout:2 or more"
                    )
                )
            case ("use-vc", _):
                verdicts.append(
                    .warning("use-vc makes a TCP connection for each name", fix: "remove it")
                )
            default: break
            }
        }
        return verdicts
    }

    /// Whether systemd-resolved is told of the daemon, by our drop-in or by hand.
    private static func isPointed(_ facts: ResolverFacts, in machine: Surroundings) -> Bool {
        let dropIn = machine.resolver.files[ResolverFacts.Paths.resolvedDropIn]?.text ?? ""
        let settings = facts.resolvedSettings + "\n" + dropIn
        let lines = settings.split(separator: "\n")
        return lines.contains { line in
            guard line.hasPrefix("DNS=") else { return false }
            let servers = line.dropFirst(4).split(separator: " ").compactMap {
                ServerAddress($0.prefix { $0 != "#" })
            }
            return servers.contains { machine.servers.contains($0) }
        } && lines.contains { $0.hasPrefix("Domains=") && $0.contains("~.") }
    }

    /// Whether what `setup` did is still so.
    static let setup = Check("setup") { machine in
        guard machine.journal != nil else { return [] }
        guard !machine.changedFiles.isEmpty else { return [.ok("as 'httpdnsctl setup' left it")] }
        return [
            .warning(
                "changed since the setup: " + machine.changedFiles.joined(separator: ", "),
                fix: "httpdnsctl setup apply --force, or setup revert --force"
            )
        ]
    }

    /// What getaddrinfo asks before DNS, by `nsswitch.conf`.
    static let nsswitch = Check("nsswitch") { machine in
        guard let text = machine.nsswitch else {
            return [.ok("there is no nsswitch.conf: glibc asks DNS, then files")]
        }
        guard let line = text.split(separator: "\n").last(where: { $0.hasPrefix("hosts:") }) else {
            return [.ok("nsswitch.conf has no line for hosts: glibc asks DNS, then files")]
        }
        let words = line.prefix { $0 != "#" }.dropFirst(6)
            .split { $0 == " " || $0 == "\t" }.map(String.init)
        let order = "hosts: " + words.joined(separator: " ")
        let services = words.filter { !$0.hasPrefix("[") && !$0.hasSuffix("]") }
        let usesResolved = machine.resolver.present.contains(ResolverFacts.Paths.resolved)
        guard let dns = services.firstIndex(of: "dns") else {
            return [
                services.contains("resolve") && usesResolved
                    ? .ok(order)
                    : .failure(
                        "'\(order)' never asks DNS",
                        fix: "add dns to the line in /etc/nsswitch.conf"
                    )
            ]
        }
        let before = services[..<dns]
        if before.contains("resolve"), usesResolved, !isPointed(machine.resolver, in: machine) {
            return [
                .failure(
                    "'\(order)' asks systemd-resolved first, and that does not ask the daemon",
                    fix: "remove 'resolve' and its action from the line, or setup apply"
                )
            ]
        }
        if let mdns = before.first(where: { $0.hasPrefix("mdns") && !$0.hasSuffix("_minimal") }) {
            return [
                .warning(
                    "'\(order)' asks the neighbourhood for every name (\(mdns))",
                    fix: "use \(mdns)_minimal in /etc/nsswitch.conf"
                )
            ]
        }
        return [.ok(order)]
    }

    /// Variables that change what programs of this shell ask.
    static let environment = Check("environment") { machine in
        machine.environment.sorted { $0.key < $1.key }.map { name, value in
            .warning(
                "\(name)=\(value) changes what getaddrinfo asks for",
                fix: "unset \(name), also where services get it from"
            )
        }
    }

    /// Programs that keep answers between getaddrinfo and the daemon.
    static let nameCache = Check("name-cache") { machine in
        var verdicts: [Verdict] = []
        let nscd = machine.processes.intersection(["nscd", "unscd"]).sorted()
        let keeps = (machine.nscd ?? "").split(separator: "\n").contains { line in
            line.split { $0 == " " || $0 == "\t" }.starts(with: ["enable-cache", "hosts", "no"])
        }
        if let name = nscd.first, !keeps {
            verdicts.append(
                .warning(
                    "\(name) keeps answers of its own, which no flush here reaches",
                    fix: "'enable-cache hosts no' in /etc/nscd.conf, then systemctl restart \(name)"
                )
            )
        }
        let services =
            (machine.nsswitch ?? "").split(separator: "\n")
            .last { $0.hasPrefix("hosts:") }?.split { $0 == " " || $0 == "\t" } ?? []
        if machine.processes.contains("sssd_nss"), services.contains("sss") {
            verdicts.append(
                .warning(
                    "sssd is asked for hosts",
                    fix: "remove sss from the hosts line of /etc/nsswitch.conf"
                )
            )
        }
        return verdicts
    }

    /// A getaddrinfo that takes longer than this is slow where an answer is at hand.
    private static let slow = Duration.seconds(1)

    /// What getaddrinfo really does.
    static let getaddrinfo = Check("getaddrinfo") { machine in
        guard let lookup = machine.lookup else { return [.skipped("getent is not installed")] }
        guard let duration = lookup.duration else {
            return [
                .failure(
                    "getaddrinfo(\(lookup.name)) has no end",
                    fix: "look at resolv-conf and nsswitch above; strace -f getent ahosts NAME"
                )
            ]
        }
        // getaddrinfo leaves out a family of which this machine has no address.
        let families = Set(lookup.addresses.map(\.octets.count))
        let expected = lookup.expected.map { expected in
            expected.filter { families.isEmpty || families.contains($0.octets.count) }
        }
        if let expected, expected != lookup.addresses {
            func list(_ addresses: Set<IPAddress>) -> String {
                let texts = addresses.map(\.description).sorted().joined(separator: " ")
                return texts.isEmpty ? "nothing" : texts
            }
            return [
                .warning(
                    "\(lookup.name) is \(list(lookup.addresses)) for programs, and "
                        + "\(list(expected)) for the daemon",
                    fix: "is it in /etc/hosts, or answered before dns? see nsswitch above"
                )
            ]
        }
        if lookup.expected == nil, lookup.seenByDaemon == 0 {
            return [
                .failure(
                    "the daemon does not see what getaddrinfo asks for",
                    fix:
                        "see resolv-conf and nsswitch above; with systemd-resolved: resolvectl status"
                )
            ]
        }
        let milliseconds = Units.milliseconds(duration / .milliseconds(1))
        guard duration < slow else {
            return [
                .warning(
                    "getaddrinfo(\(lookup.name)) took \(milliseconds)",
                    fix: "something before the daemon is asked in vain: see nsswitch, resolv-conf"
                )
            ]
        }
        guard lookup.expected != nil || lookup.seenByDaemon != nil else {
            return [.ok("getaddrinfo ends after \(milliseconds); who answered cannot be told")]
        }
        return [.ok("getaddrinfo asks the daemon: \(milliseconds)")]
    }
}
