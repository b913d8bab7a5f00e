// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension SetupPlan {
    private typealias Paths = ResolverFacts.Paths

    /// Plans a drop-in of systemd-resolved.
    ///
    /// By default, the setup makes programs query the daemon, and not systemd-resolved, because a
    /// network can make systemd-resolved send names in domains such as `com` to the servers of the
    /// network.
    ///
    /// Programs query systemd-resolved, which queries the daemon, in these cases: `keepsStub` is
    /// true, the port of the daemon is not 53, resolv.conf cannot be replaced, or nss-resolve
    /// queries systemd-resolved without resolv.conf. If `directUse` returns a reason, the default
    /// applies even in these cases.
    mutating func planResolved(_ facts: ResolverFacts, keepsStub: Bool) {
        let settings = facts.resolvedSettings
        let cause = directUse(facts)
        let usesStub =
            cause == nil
            && (keepsStub || facts.hasNSSResolve || facts.isMounted || facts.isImmutable
                || servers.contains { $0.port != 53 })
        var lines = ["# Written by httpdnsctl setup.", "[Resolve]"]
        if usesStub {
            // The empty assignment `DNS=` clears values from other settings files.
            let addresses = servers.map(\.description).joined(separator: " ")
            lines += ["DNS=", "DNS=\(addresses)", "FallbackDNS=", "Domains=~.", "DNSOverTLS=no"]
            if let value = settings.overTLS {
                notes.append(
                    "setup sets DNSOverTLS=no instead of \(value), because the daemon encrypts the "
                        + "queries to upstreams"
                )
            }
            checkResolved(settings)
            saveSettings(facts)
            keepLeases(facts)
            notes.append(
                "if a network announces a domain, even one such as com, systemd-resolved sends "
                    + "queries for all names in this domain to the DNS servers of the network"
            )
        } else {
            lines.append("DNSStubListener=no")
            planFile(facts)
            notes.append(
                "programs no longer use systemd-resolved, so the names of a VPN need an upstream "
                    + "with `from: network` in httpdnsd.yaml"
            )
        }
        if let cause {
            notes.append("\(cause); therefore programs will query the daemon directly")
            if facts.hasNSSResolve {
                block(
                    "programs that use nss-resolve do not query the daemon, and \(cause)",
                    fix: "remove 'resolve' and its action from the hosts line in "
                        + "/etc/nsswitch.conf"
                )
            }
        }
        change(Paths.resolvedDropIn, to: .file(lines.joined(separator: "\n") + "\n"), facts)
        if facts.present.contains(Paths.systemd) {
            commands = [["systemctl", "try-reload-or-restart", "systemd-resolved.service"]]
        }
        if !usesStub, facts.present.contains(Paths.networkManager),
            ResolverOwner.networkManager.isAlive(facts)
        {
            // resolv.conf is no longer a link to the file of the stub, so NetworkManager would
            // overwrite it.
            planNetworkManager(facts)
        }
        if usesStub, facts.resolvConf.kind == .link,
            facts.resolvedPath == Paths.resolved + "/resolv.conf"
        {
            notes.append(
                "/etc/resolv.conf does not point to the stub file of systemd-resolved, so programs "
                    + "will query the daemon first, then the DNS servers of the network interfaces"
            )
        }
    }

    mutating func planNetworkManager(_ facts: ResolverFacts) {
        change(
            Paths.networkManagerConfig,
            to: .file(
                """
                # Written by httpdnsctl setup: NetworkManager does not write /etc/resolv.conf.
                [main]
                dns=none

                """
            ),
            facts
        )
        if facts.present.contains(Paths.systemd) {
            commands.append(["systemctl", "try-reload-or-restart", "NetworkManager.service"])
        }
    }

    private func directUse(_ facts: ResolverFacts) -> String? {
        let links = facts.greedyLinks.joined(separator: ", ")
        if !links.isEmpty {
            return "systemd-resolved sends queries for all names to the servers of \(links) "
                + "(routing domain ~.)"
        }
        guard facts.knowsLinks else {
            return "`resolvectl domain` failed, so a link may have the routing domain ~."
        }
        guard let value = facts.resolvedSettings.overTLS, facts.resolvedSettings.requiresTLS else {
            return nil
        }
        return "systemd-resolved requires TLS for the servers of the network (DNSOverTLS=\(value))"
    }

    private mutating func checkResolved(_ settings: ResolvedSettings) {
        if let value = settings.dnssec, settings.requiresDNSSEC {
            notes.append(
                "DNSSEC=\(value) makes systemd-resolved reject vendor answers for signed names"
            )
        }
        for path in settings.later {
            block(
                "\(path) is read after \(Paths.resolvedDropIn) and overrides it",
                fix: "rename this file, so that its name sorts before zz-httpdnsd.conf"
            )
        }
    }

    /// Plans lines at the end of the settings of openresolv, where they override earlier lines.
    ///
    /// If openresolv wrote resolv.conf, the lines make openresolv write the address of the daemon. In
    /// all other cases, the lines make openresolv write to another file.
    mutating func planOpenresolv(_ facts: ResolverFacts) {
        let isItsOwn = facts.text?.hasPrefix("# Generated by resolvconf") ?? false
        let addresses = servers.map { "\($0.address)" }.joined(separator: " ")
        let options = ResolvConfText.options(for: servers)
        let more = options.joined(separator: " ")
        let settings =
            isItsOwn
            ? """
            # Written by httpdnsctl setup: DHCP nameservers are not used.
            name_servers="\(addresses)"
            resolv_conf_local_only=YES
            case " $resolv_conf_options " in
            *" \(options.last ?? "") "*) ;;
            *) resolv_conf_options="${resolv_conf_options:+$resolv_conf_options }\(more)" ;;
            esac

            """
            : """
            # Written by httpdnsctl setup: openresolv does not write /etc/resolv.conf.
            resolv_conf=/run/resolvconf/resolv.conf

            """
        let old = facts.files[Paths.openresolvConfig] ?? .absent
        change(Paths.openresolvConfig, to: Self.appending(settings, to: old), facts)
        if isItsOwn {
            saveNameservers(facts)
            commands = [["resolvconf", "-u"]]
            checkPort()
        } else {
            planFile(facts)
        }
    }

    /// Plans a nameserver record for Debian's resolvconf.
    ///
    /// resolvconf sorts the record `lo.httpdnsd` first, and omits the servers that follow a
    /// loopback server. A drop-in of the daemon unit adds the record at each start, because `/run` is
    /// empty after a boot. Without systemd, setup adds the nameservers to the file `head`.
    mutating func planResolvconf(_ facts: ResolverFacts) {
        checkPort()
        saveNameservers(facts)
        guard facts.present.contains(Paths.systemd) else {
            planResolvconfHead(facts)
            return
        }
        let lines = servers.map { "echo nameserver \($0.address); " }.joined()
        let options = ResolvConfText.options(for: servers).joined(separator: " ")
        let add =
            "{ \(lines)echo options \(options); } | \(Paths.resolvconf) -a \(Self.resolvconfRecord)"
        change(
            Paths.resolvconfDropIn,
            to: .file(
                """
                # Written by httpdnsctl setup: resolvconf loses its records at boot.
                [Service]
                ExecStartPost=-+/bin/sh -c '\(add)'

                """
            ),
            facts
        )
        commands = [["systemctl", "daemon-reload"], ["sh", "-c", add]]
        undo = [["systemctl", "daemon-reload"], [Paths.resolvconf, "-d", Self.resolvconfRecord]]
    }

    private static let resolvconfRecord = "lo.httpdnsd"

    private mutating func planResolvconfHead(_ facts: ResolverFacts) {
        let lines = servers.map { "nameserver \($0.address)\n" }.joined()
        let options = ResolvConfText.options(for: servers).joined(separator: " ")
        change(
            Paths.resolvconfHead,
            to: Self.appending(
                "# Written by httpdnsctl setup.\n" + lines + "options \(options)\n",
                to: facts.files[Paths.resolvconfHead] ?? .absent
            ),
            facts
        )
        commands = [["resolvconf", "-u"]]
        notes.append(
            "resolvconf appends the DNS servers from DHCP: programs use these servers if the daemon "
                + "does not answer"
        )
    }

    mutating func planFile(_ facts: ResolverFacts) {
        if owner != .openresolv { planLeases(facts) }
        var after = FileState.file(ResolvConfText(facts.text ?? "").pointing(at: servers))
        if facts.resolvConf.kind == .file {
            after.mode = facts.resolvConf.mode
            after.user = facts.resolvConf.user
            after.group = facts.resolvConf.group
        }
        change(Paths.resolvConf, to: after, facts)
        saveNameservers(facts)
        checkPort()
        if servers.count > ResolvConfText.maximumServers {
            notes.append(
                "resolv.conf gets only the first \(ResolvConfText.maximumServers) addresses of the "
                    + "daemon"
            )
        }
    }

    // MARK: - Details

    mutating func change(_ path: String, to after: FileState, _ facts: ResolverFacts) {
        let before = facts.files[path] ?? .absent
        if before != after { changes.append(Change(path: path, before: before, after: after)) }
    }

    static func appending(_ text: String, to old: FileState) -> FileState {
        guard old.kind == .file else { return .file(text) }
        var new = old
        if let last = new.octets.last, last != 0x0A { new.octets.append(0x0A) }
        new.octets += Array(text.utf8)
        new.modified = nil
        return new
    }
}
