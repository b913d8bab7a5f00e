// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension SetupPlan {
    private typealias Paths = ResolverFacts.Paths

    /// Plans a hook of dhclient that saves the servers of a lease for `from: network`.
    mutating func planDhclient(_ facts: ResolverFacts) {
        guard facts.present.contains(Paths.dhclientHooks) else {
            notes.append(
                "dhclient will overwrite /etc/resolv.conf: "
                    + "add 'supersede domain-name-servers 127.0.0.1;' to dhclient.conf"
            )
            planFile(facts)
            saveNameservers(facts)
            return
        }
        let directory = Paths.dhclientServers
        change(
            Paths.dhclientHook,
            to: .file(
                """
                # Written by httpdnsctl setup: a lease does not change /etc/resolv.conf. Its servers are
                # saved for `from: network`, in one file for IPv4 and one for IPv6.
                httpdnsd_file=$interface.dhclient${reason#"${reason%6}"}
                make_resolv_conf() {
                    (
                        umask 022
                        mkdir -p \(directory) && cd \(directory) || exit
                        for server in $new_domain_name_servers $new_dhcp6_name_servers; do
                            case $server in fe80:*) server=$server%$interface ;; esac
                            echo "nameserver $server"
                        done > ".$httpdnsd_file"
                        mv -f ".$httpdnsd_file" "$httpdnsd_file"
                        rm -f .resolv.conf
                    )
                }
                case $reason in
                EXPIRE* | FAIL* | RELEASE* | STOP*) rm -f "\(directory)/$httpdnsd_file" ;;
                esac

                """
            ),
            facts
        )
        planFile(facts)
        // Saves the present nameservers, for the time until the hook runs.
        let lines = Self.nameservers(facts).map { "nameserver \($0)\\n" }.joined()
        let file = "\(directory)/.resolv.conf"
        let script = "umask 022; mkdir -p \(directory) && printf '\(lines)' > \(file)"
        commands = [["sh", "-c", script]]
        undo = [["rm", "-rf", directory]]
    }

    /// Plans a hook of dhcpcd that takes the place of resolvconf.
    ///
    /// dhcpcd gives the servers of a lease to resolvconf instead of writing resolv.conf. The hook
    /// stores the servers where dhcpcd stores them without resolvconf.
    mutating func planDhcpcd(_ facts: ResolverFacts) {
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
        planFile(facts)
        if !facts.present.contains(Paths.dhcpcdServers) { saveNameservers(facts) }
    }

    /// Saves the nameservers for `from: network`, because no program reports them.
    mutating func saveNameservers(_ facts: ResolverFacts) {
        let nameservers = Self.nameservers(facts)
        guard !nameservers.isEmpty else { return }
        let lines =
            ["# Written by httpdnsctl setup: nameservers for `from: network`."]
            + nameservers.map { "nameserver \($0)" }
        change(Paths.networkServers, to: .file(lines.joined(separator: "\n") + "\n"), facts)
    }

    private static func nameservers(_ facts: ResolverFacts) -> [String] {
        ResolvConfText(facts.text ?? "").nameservers.filter { text in
            !(ServerAddress(text).map(\.address.isLoopback) ?? true)
        }
    }
}
