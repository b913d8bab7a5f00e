// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension Check {
    static let resolvConf = Check("resolv-conf") { machine in
        let file = ResolvConfText(machine.resolver.text ?? "")
        let owner = ResolverOwner(machine.resolver).name
        // Without systemd-resolved, setup requires port 53: resolv.conf(5) cannot name a port.
        let needsPort =
            owner != ResolverOwner.resolved.name && machine.servers.contains { $0.port != 53 }
        let setup =
            (needsPort ? "add 127.0.0.1:53 to `listen`, run httpdnsctl reload, then run " : "")
            + "httpdnsctl setup apply" + (machine.journal == nil ? "" : " --force")
        guard let first = file.nameservers.first else {
            // If resolv.conf has no nameserver, glibc queries 127.0.0.1.
            let isThere = machine.isDaemon("127.0.0.1")
            return [
                isThere
                    ? .warning("resolv.conf has no nameserver: glibc uses 127.0.0.1", fix: setup)
                    : .failure("resolv.conf has no nameserver", fix: setup)
            ]
        }
        if !machine.isDaemon(first) {
            if owner == ResolverOwner.resolved.name, isPointed(machine.resolver, in: machine) {
                let links = machine.resolver.greedyLinks.joined(separator: ", ")
                guard links.isEmpty else {
                    return .failure(
                        "systemd-resolved also sends queries for all names to the servers of "
                            + "\(links) (routing domain ~.)",
                        fix: setup
                    )
                }
                guard machine.resolver.knowsLinks else {
                    return .warning(
                        "points to systemd-resolved; `resolvectl domain` failed, so it is unknown "
                            + "if a link has the routing domain ~.",
                        fix: "find out why `resolvectl domain` fails"
                    )
                }
                return .ok("points to systemd-resolved, which forwards to the daemon")
            }
            return .failure(
                "programs use \(first), not the daemon "
                    + "(resolv.conf manager: \(ResolverOwner.label(owner)))",
                fix: setup
            )
        }
        return [.ok("points to \(first)")] + options(file, machine)
    }

    private static func options(_ file: ResolvConfText, _ machine: MachineFacts) -> [Verdict] {
        var results: [Verdict] = []
        let others = file.nameservers.prefix(ResolvConfText.maximumServers).filter {
            !machine.isDaemon($0)
        }
        if !others.isEmpty {
            let list = others.joined(separator: ", ")
            results.append(
                file.options.contains("rotate")
                    ? .failure(
                        "'rotate' sends some queries to \(list)",
                        fix: "httpdnsctl setup apply"
                    )
                    : .warning(
                        "if the daemon is slow, programs bypass the daemon and query \(list)",
                        fix: "httpdnsctl setup apply"
                    )
            )
        }
        for option in file.options {
            let parts = option.split(separator: ":")
            let value = parts.count == 2 ? Int(parts[1]) : nil
            switch (parts.first, value) {
            case ("ndots", let dots?) where dots > 1 && !file.search.isEmpty:
                results.warning(
                    "ndots:\(dots) makes glibc try \(file.search.count) search domains "
                        + "before the name",
                    fix: "remove ndots from the options in /etc/resolv.conf"
                )
            case ("timeout", let seconds?) where seconds < 2:
                results.warning(
                    "timeout:\(seconds) is too short for names that resolve slowly",
                    fix: "set timeout:2 or more"
                )
            case ("use-vc", _):
                results.warning("use-vc opens a TCP connection per name", fix: "remove use-vc")
            default: break
            }
        }
        return results
    }

    private static func isPointed(_ facts: ResolverFacts, in machine: MachineFacts) -> Bool {
        let settings = facts.resolvedSettings
        let servers = settings.servers.map { ServerAddress($0.prefix { $0 != "#" }) }
        return !servers.isEmpty && !settings.requiresTLS && settings.domains.contains("~.")
            && servers.allSatisfy { $0.map(machine.servers.contains) ?? false }
    }

    static let setup = Check("setup") { machine in
        guard machine.lostOriginals.isEmpty else {
            let paths = machine.lostOriginals.joined(separator: ", ")
            return .warning(
                "the original contents of \(paths) are not in the setup journal",
                fix: "httpdnsctl setup revert --force writes defaults to these files"
            )
        }
        let former = ResolverFacts.Paths.former.filter {
            machine.resolver.files[$0]?.isFromSetup ?? false
        }
        guard former.isEmpty else {
            return .warning(
                "files of an earlier version of httpdnsctl must be replaced: "
                    + former.joined(separator: ", "),
                fix: "httpdnsctl setup apply"
            )
        }
        guard machine.journal != nil else { return [] }
        guard !machine.changedFiles.isEmpty else { return .ok("unchanged since the setup") }
        return .warning(
            "changed since the setup: " + machine.changedFiles.joined(separator: ", "),
            fix: "httpdnsctl setup apply --force (writes them again), or httpdnsctl setup revert"
        )
    }

    static let nsswitch = Check("nsswitch") { machine in
        guard let text = machine.nsswitch else {
            return .ok("nsswitch.conf does not exist: glibc uses DNS, then files")
        }
        guard
            let line = text.split(whereSeparator: \.isNewline).last(where: {
                $0.hasPrefix("hosts:")
            })
        else {
            return .ok("nsswitch.conf has no hosts line: glibc uses DNS, then files")
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
                        "'\(order)' never uses DNS",
                        fix: "add dns to the hosts line in /etc/nsswitch.conf"
                    )
            ]
        }
        let before = services[..<dns]
        if before.contains("resolve"), usesResolved, !isPointed(machine.resolver, in: machine) {
            return .failure(
                "'\(order)' uses systemd-resolved first, which does not forward to the daemon",
                fix: "remove 'resolve' and its action from the hosts line of "
                    + "/etc/nsswitch.conf, or run httpdnsctl setup apply"
            )
        }
        let links = machine.resolver.greedyLinks.joined(separator: ", ")
        if before.contains("resolve"), !links.isEmpty {
            return .failure(
                "'\(order)' uses systemd-resolved, which sends queries for all names to the "
                    + "servers of \(links) (routing domain ~.)",
                fix: "remove 'resolve' and its action from the hosts line of "
                    + "/etc/nsswitch.conf, or remove ~. from the domains of \(links)"
            )
        }
        if let mdns = before.first(where: { $0.hasPrefix("mdns") && !$0.hasSuffix("_minimal") }) {
            return .warning(
                "'\(order)' sends a multicast query for every name (\(mdns))",
                fix: "use \(mdns)_minimal in /etc/nsswitch.conf"
            )
        }
        return .ok(order)
    }

    static let environment = Check("environment") { machine in
        machine.environment.sorted { $0.key < $1.key }.map { name, value in
            .warning(
                "\(name)=\(value) changes what getaddrinfo resolves",
                fix: "unset \(name), also in the environment of services"
            )
        }
    }

    static let nameCache = Check("name-cache") { machine in
        var results: [Verdict] = []
        let nscd = machine.processes.intersection(["nscd", "unscd"]).sorted()
        let keeps = (machine.nscd ?? "").split(whereSeparator: \.isNewline).contains { line in
            line.split { $0 == " " || $0 == "\t" }.starts(with: ["enable-cache", "hosts", "no"])
        }
        if let name = nscd.first, !keeps {
            results.warning(
                "\(name) caches answers, which httpdnsctl flush does not remove",
                fix: "set 'enable-cache hosts no' in /etc/nscd.conf, then systemctl restart "
                    + name
            )
        }
        let services =
            (machine.nsswitch ?? "").split(whereSeparator: \.isNewline)
            .last { $0.hasPrefix("hosts:") }?.split { $0 == " " || $0 == "\t" } ?? []
        if machine.processes.contains("sssd_nss"), services.contains("sss") {
            results.warning(
                "the hosts line uses sssd, which can cache answers",
                fix: "remove sss from the hosts line of /etc/nsswitch.conf"
            )
        }
        return results
    }

    private static let slow = Duration.seconds(1)
    static let getaddrinfo = Check("getaddrinfo") { machine in
        guard let lookup = machine.lookup else { return .skipped("getent is not installed") }
        guard let duration = lookup.duration else {
            return .failure(
                "getaddrinfo(\(lookup.name)) timed out",
                fix: "see resolv-conf and nsswitch above, or run strace -f getent ahosts NAME"
            )
        }
        // getaddrinfo omits the addresses of a family that this machine does not have.
        let families = Set(lookup.addresses.map(\.octets.count))
        let expected = lookup.expected.map { expected in
            expected.filter { families.isEmpty || families.contains($0.octets.count) }
        }
        if let expected, expected != lookup.addresses {
            func list(_ addresses: Set<IPAddress>) -> String {
                let texts = addresses.map(\.description).sorted().joined(separator: " ")
                return texts.isEmpty ? "no address" : texts
            }
            return .warning(
                "\(lookup.name): programs get \(list(lookup.addresses)), but the daemon "
                    + "answers \(list(expected))",
                fix:
                    "check /etc/hosts, and the services before dns in /etc/nsswitch.conf"
            )
        }
        if lookup.expected == nil, lookup.seenByDaemon == 0 {
            return .failure(
                "queries of getaddrinfo do not reach the daemon",
                fix:
                    "see resolv-conf and nsswitch above; if systemd-resolved runs, run "
                    + "resolvectl status"
            )
        }
        let milliseconds = Units.milliseconds(duration / .milliseconds(1))
        guard duration < slow else {
            return .warning(
                "getaddrinfo(\(lookup.name)) took \(milliseconds)",
                fix: "another service or server, which is queried first, does not answer: see "
                    + "nsswitch and resolv-conf above"
            )
        }
        guard lookup.expected != nil || lookup.seenByDaemon != nil else {
            return .ok("getaddrinfo took \(milliseconds); the answering server is unknown")
        }
        return .ok("getaddrinfo uses the daemon, and took \(milliseconds)")
    }
}
