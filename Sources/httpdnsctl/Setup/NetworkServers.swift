// SPDX-License-Identifier: Apache-2.0

extension ResolverFacts {
    /// True if resolv.conf is a file, and its comments name no program.
    var isUnsigned: Bool {
        resolvConf.kind == .file && ResolverOwner(signedIn: text) == nil
            && !(text ?? "").lowercased().contains("generated")
    }

    /// Returns true if `resolvConf` has nameservers, but none of the network's servers.
    ///
    /// Returns false if no server of the network is known, because the nameservers may be those of
    /// a former lease.
    static func hasOthers(_ resolvConf: ResolvConfText, in tree: FileTree) -> Bool {
        let present = Set(resolvConf.networkServers)
        let known = servers(ofNetworkIn: tree)
        return !present.isEmpty && !known.isEmpty && known.isDisjoint(with: present)
    }

    private static func servers(ofNetworkIn tree: FileTree) -> Set<String> {
        let files = KnownServers.files(in: Paths.records + [Paths.dhclientServers], of: tree)
        return Set(
            KnownServers.servers(in: files + privateFiles, of: tree)
                + KnownServers.leases(in: tree).joined() + networkdServers(in: tree)
        )
    }

    static func networkdServers(in tree: FileTree) -> [String] {
        var servers: [String] = []
        for directory in ["/run/systemd/netif/links", "/run/systemd/netif/leases"] {
            for name in tree.names(in: directory) {
                for line in (tree.text("\(directory)/\(name)") ?? "").split(separator: "\n")
                where line.hasPrefix("DNS=") {
                    let words = line.dropFirst(4).split(separator: " ").map(String.init)
                    servers += words.filter {
                        ResolvConfText.isOfNetwork($0) && !servers.contains($0)
                    }
                }
            }
        }
        return servers
    }

    /// Files in which NetworkManager and pppd store servers, even if they do not write resolv.conf.
    private static let privateFiles = [
        Paths.networkManager + "/resolv.conf", "/etc/ppp/resolv.conf",
    ]
}

/// Nameservers of the network, as known before a revert.
struct KnownServers {
    private typealias Paths = ResolverFacts.Paths

    let leased: [String]

    /// Saved nameservers that the administrator edited; empty without an edit.
    let edited: [String]

    let last: [String]

    /// AliDNS, as in the initial settings of the daemon.
    static let `public` = ["223.5.5.5", "223.6.6.6"]

    init(in tree: FileTree, edited isEdited: Bool = false) {
        func servers(_ paths: [String]) -> [String] { Self.servers(in: paths, of: tree) }
        func files(_ directories: [String]) -> [String] { Self.files(in: directories, of: tree) }
        leased = servers(files([Paths.dhclientServers, Paths.dhcpcdServers]))
        edited = isEdited ? servers([Paths.networkServers]) : []
        let sources = [
            edited, leased, servers(files(Paths.records)), servers([Paths.networkServers]),
            ResolverFacts.networkdServers(in: tree),
            servers([Paths.networkManager + "/resolv.conf"]),
            servers([Paths.resolved + "/resolv.conf"]), Self.leases(in: tree).last ?? [],
            // Copy of the resolv.conf that the Debian package systemd-resolved replaced by a link.
            servers(["/etc/.resolv.conf.systemd-resolved.bak"]),
        ]
        last = sources.first { !$0.isEmpty } ?? []
    }

    static func servers(in paths: [String], of tree: FileTree) -> [String] {
        var servers: [String] = []
        for server in paths.flatMap({ ResolvConfText(tree.text($0) ?? "").networkServers })
        where !servers.contains(server) { servers.append(server) }
        return servers
    }

    static func files(in directories: [String], of tree: FileTree) -> [String] {
        directories.flatMap { directory in
            tree.names(in: directory).filter { !$0.hasPrefix(".") }.map { directory + "/" + $0 }
        }
    }

    /// Returns the servers of each former and present lease of dhclient, the latest lease last.
    static func leases(in tree: FileTree) -> [[String]] {
        files(in: ["/var/lib/dhcp"], of: tree)
            .flatMap { (tree.text($0) ?? "").split(separator: "\n") }
            .filter { $0.contains("name-servers ") }
            .map { line in
                line.split { " ,;".contains($0) }.map(String.init)
                    .filter(ResolvConfText.isOfNetwork)
            }
    }
}
