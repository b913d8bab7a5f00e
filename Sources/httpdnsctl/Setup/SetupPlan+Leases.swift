// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension SetupPlan {
    private typealias Paths = ResolverFacts.Paths

    /// Plans hooks that keep DHCP clients from overwriting the new resolv.conf.
    ///
    /// A DHCP client can configure interfaces that the manager of resolv.conf does not configure.
    mutating func planLeases(_ facts: ResolverFacts) {
        if facts.present.contains(Paths.dhclientHooks) {
            // If a hook passes the servers of dhclient to systemd-resolved, the daemon gets these
            // servers from systemd-resolved and needs no hook of setup.
            if owner != .resolved || !facts.hasDhclientHook { planDhclient(facts) }
        } else if owner == .dhclient {
            notes.append(
                "dhclient will overwrite /etc/resolv.conf: "
                    + "add 'supersede domain-name-servers 127.0.0.1;' to dhclient.conf"
            )
        }
        // If the program resolvconf is installed (systemd-resolved also has it), dhcpcd gives the
        // servers to resolvconf, and does not write resolv.conf.
        let writes =
            facts.present.contains(Paths.dhcpcdConfig)
            && !facts.present.contains(Paths.resolvconf)
        if owner == .dhcpcd || writes { planDhcpcd(facts) }
    }

    /// If a DHCP client has overwritten a file of systemd-resolved, saves the client's servers.
    ///
    /// A restart of systemd-resolved deletes these servers, and no other source of `from: network`
    /// has them.
    mutating func keepLeases(_ facts: ResolverFacts) {
        let isByLease =
            ResolverOwner(signedIn: facts.text) != .resolved || !facts.savedServers.isEmpty
        guard facts.resolvConf.kind == .link, isByLease,
            !changes.contains(where: { $0.path == Paths.networkServers })
        else { return }
        planLeases(facts)
        saveNameservers(facts)
    }

    private mutating func planDhclient(_ facts: ResolverFacts) {
        let directory = Paths.dhclientServers
        change(
            Paths.dhclientHook,
            to: .file(
                """
                # Written by httpdnsctl setup: a lease does not change /etc/resolv.conf. Its servers are
                # saved for `from: network`, in one file for IPv4 and one for IPv6.
                httpdnsd_file=$interface.dhclient${reason#"${reason%6}"}
                # If the file is a link, another program manages it, such as systemd-resolved.
                if [ ! -L \(Paths.resolvConf) ] || [ -e \(Paths.resolvedDropIn) ]; then
                make_resolv_conf() {
                    # As in dhclient-script, a lease without DNS servers changes nothing.
                    [ -n "$new_domain_name_servers$new_dhcp6_name_servers" ] || return 0
                    (
                        umask 022
                        mkdir -p \(directory) && cd \(directory) || exit
                        for server in $new_domain_name_servers $new_dhcp6_name_servers; do
                            case $server in fe80:*) server=$server%$interface ;; esac
                            echo "nameserver $server"
                        done > ".$httpdnsd_file"
                        mv -f ".$httpdnsd_file" "$httpdnsd_file"
                    )
                }
                fi
                case $reason in
                EXPIRE* | FAIL* | RELEASE* | STOP*) rm -f "\(directory)/$httpdnsd_file" ;;
                esac

                """
            ),
            facts
        )
    }

    /// Plans a hook of dhcpcd that defines a shell function `resolvconf`.
    ///
    /// dhcpcd gives the servers of a lease to this function, and does not write resolv.conf.
    private mutating func planDhcpcd(_ facts: ResolverFacts) {
        let hook = """
            # Written by httpdnsctl setup: a lease does not change /etc/resolv.conf.
            resolvconf() {
            set -- "$1" "$2" \(Paths.dhcpcdServers)
            case $1 in
            -a) mkdir -p $3 && cat > "$3/.$2" && mv -f "$3/.$2" "$3/$2" ;;
            -d) rm -f "$3/$2" ;;
            esac; }

            """
        change(
            Paths.dhcpcdHook,
            to: Self.appending(hook, to: facts.files[Paths.dhcpcdHook] ?? .absent),
            facts
        )
    }

    /// Saves the nameservers of resolv.conf for `from: network`.
    ///
    /// Nameservers that the operator chose get the option `chosenMark`. Nothing is saved if the
    /// manager of resolv.conf (NetworkManager, systemd-resolved, or a program such as a VPN) wrote
    /// the file: in another network, the nameservers would be wrong.
    mutating func saveNameservers(_ facts: ResolverFacts) {
        let nameservers = ResolvConfText(facts.text ?? "").networkServers
        // False for managers that may report no nameservers to the daemon after the setup: dhclient
        // may be installed but not running, and dhcpcd, openresolv and resolvconf may be removed.
        let isReported =
            switch owner {
            case .dhclient, .dhcpcd, .openresolv, .resolvconf: false
            case .resolved, .networkManager, .plain, .foreign: true
            }
        guard !nameservers.isEmpty, !isReported || ResolverOwner(signedIn: facts.text) != owner
        else { return }
        guard facts.hasChosenServers else { return save(nameservers, [], facts) }
        save(nameservers, ["options " + Self.chosenMark], facts)
        notes.append(
            "the administrator chose the nameservers in /etc/resolv.conf: an upstream with "
                + "`from: network` will use these nameservers, not those of the network"
        )
    }

    /// Saves the servers and routing domains that the settings of systemd-resolved contain.
    ///
    /// The drop-in of setup overrides these settings.
    mutating func saveSettings(_ facts: ResolverFacts) {
        let settings = facts.resolvedSettings
        let servers = settings.servers.map { String($0.prefix { $0 != "#" }) }
            .filter(ResolvConfText.isOfNetwork)
        guard !servers.isEmpty else { return }
        let domains = settings.domains.filter { $0.hasPrefix("~") }
        let search = domains.isEmpty ? [] : ["search " + domains.joined(separator: " ")]
        save(servers, search + ["options " + Self.resolvedMark], facts)
    }

    /// Option that marks saved servers from resolved.conf(5); the daemon prefers servers with this
    /// option.
    static let resolvedMark = "httpdnsd-resolved"
    static let chosenMark = "httpdnsd-chosen"

    private mutating func save(_ servers: [String], _ more: [String], _ facts: ResolverFacts) {
        let lines =
            ["# Written by httpdnsctl setup: nameservers for `from: network`."]
            + servers.map { "nameserver \($0)" } + more
        change(Paths.networkServers, to: .file(lines.joined(separator: "\n") + "\n"), facts)
    }
}

extension ResolvConfText {
    var networkServers: [String] { nameservers.filter(Self.isOfNetwork) }

    static func isOfNetwork(_ server: String) -> Bool {
        !(ServerAddress(server).map(\.address.isLoopback) ?? true)
    }
}
