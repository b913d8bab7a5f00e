// SPDX-License-Identifier: Apache-2.0

extension ResolverFacts {
    /// True if resolv.conf is a file in which no program has left its name.
    var isUnsigned: Bool {
        resolvConf.kind == .file && ResolverOwner(signedIn: text) == nil
            && !(text ?? "").lowercased().contains("generated")
    }

    /// Returns true if `resolvConf` has nameservers, but none of the network's servers.
    ///
    /// Returns false if no server of the network is known: the nameservers may be those of a former
    /// lease.
    static func hasOthers(_ resolvConf: ResolvConfText, in tree: FileTree) -> Bool {
        let present = Set(resolvConf.networkServers)
        let known = servers(ofNetworkIn: tree)
        return !present.isEmpty && !known.isEmpty && known.isDisjoint(with: present)
    }

    /// Servers that programs received from the network, also in former leases.
    private static func servers(ofNetworkIn tree: FileTree) -> Set<String> {
        var servers: Set<String> = []
        func files(_ directory: String) -> [String] {
            tree.names(in: directory).compactMap { tree.text("\(directory)/\($0)") }
        }
        let resolvConfs = Paths.records.flatMap(files) + files(Paths.dhclientServers)
        for text in resolvConfs + privateFiles.compactMap(tree.text) {
            servers.formUnion(ResolvConfText(text).networkServers)
        }
        // dhclient writes `option domain-name-servers 192.0.2.1,192.0.2.2;`.
        for line in files("/var/lib/dhcp").flatMap({ $0.split(separator: "\n") })
        where line.contains("name-servers ") {
            let words = line.split { " ,;".contains($0) }.map(String.init)
            servers.formUnion(words.filter(ResolvConfText.isOfNetwork))
        }
        return servers.union(networkdServers(in: tree))
    }

    /// Servers in the files of systemd-networkd, with lines such as `DNS=192.0.2.1 192.0.2.2`.
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
