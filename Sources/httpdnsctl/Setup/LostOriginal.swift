// SPDX-License-Identifier: Apache-2.0

/// Detection of files that `setup apply` wrote.
extension FileState {
    private static let mark = "# Written by httpdnsctl setup"

    /// Prefixes of the lines that `setup apply` writes below `mark`.
    private static let added = [
        "nohook resolv.conf", "resolvconf() {", "set -- \"$1\" \"$2\" /run/",
        "case $1 in", "-a) mkdir", "-d) rm -f", "name_servers=", "resolv_conf_local_only=",
        "resolv_conf=",
        "case \" $resolv_conf_options", "*\" trust-ad ", "*) resolv_conf_options=", "esac",
        "nameserver ", "options edns0 trust-ad",
    ]

    var isFromSetup: Bool {
        kind == .file
            && text.split(separator: "\n").contains { $0.hasPrefix(Self.mark) }
    }

    /// True if setup wrote this resolv.conf, and programs still query a server that setup wrote.
    ///
    /// The comment of setup must list a nameserver of the file, because administrators and VPN
    /// programs can replace the nameservers without removing the comment. The result is also true
    /// for a file without nameservers: programs then query 127.0.0.1.
    var hasServersOfSetup: Bool {
        let start = Self.mark + " for "
        guard isFromSetup else { return false }
        let servers = ResolvConfText(text).nameservers
        let named = text.split(separator: "\n").filter { $0.hasPrefix(start) }
            .flatMap { $0.dropFirst(start.count).prefix { $0 != ";" }.split(separator: " ") }
        return servers.isEmpty || servers.contains { named.contains($0[...]) }
    }

    /// Returns this resolv.conf without the lines of setup, and with the servers of `original`.
    ///
    /// Servers that other programs added stay. The servers of `original` are added only if the file
    /// still has one of the addresses of the daemon (`own`).
    func replacing(_ own: Set<String>, by original: ResolvConfText) -> FileState {
        let hasOwn = !own.isDisjoint(with: ResolvConfText(text).nameservers)
        let added = ["edns0", "trust-ad"].filter { !original.options.contains($0) }
        let lines = text.split(separator: "\n").map(String.init).compactMap { line -> String? in
            guard !line.hasPrefix(Self.mark),
                own.isDisjoint(with: ResolvConfText(line).nameservers)
            else { return nil }
            guard line.hasPrefix("options ") else { return line }
            let words = line.split(separator: " ").map(String.init).filter { !added.contains($0) }
            return words.count > 1 ? words.joined(separator: " ") : nil
        }
        var file = self
        let all = lines + (hasOwn ? original.nameservers.map { "nameserver \($0)" } : [])
        file.octets = Array((all.joined(separator: "\n") + "\n").utf8)
        file.modified = nil
        return file
    }

    /// File without the lines of `setup apply`; `absent` if only empty lines are left.
    var withoutSetup: FileState {
        var isOwn = false
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            isOwn =
                line.hasPrefix(Self.mark) || isOwn && Self.added.contains(where: line.hasPrefix)
            return !isOwn
        }
        guard lines.contains(where: { !$0.isEmpty }) else { return .absent }
        var rest = self
        rest.octets = Array(lines.joined(separator: "\n").utf8)
        rest.modified = nil
        return rest
    }
}

extension ResolverFacts {
    static let createdFiles: Set = [
        Paths.resolvedDropIn, Paths.networkManagerConfig, Paths.resolvconfDropIn,
        Paths.dhclientHook, Paths.networkServers, Paths.formerResolvedDropIn,
        Paths.formerNetworkManagerConfig,
    ]

    func defaultOriginal(of path: String, now: FileState, in tree: FileTree) -> FileState {
        if Self.createdFiles.contains(path) { return .absent }
        return path == Paths.resolvConf ? defaultResolvConf(now, in: tree) : now.withoutSetup
    }

    private func defaultResolvConf(_ now: FileState, in tree: FileTree) -> FileState {
        if present.contains(Paths.resolved), ResolverOwner.resolved.isAlive(self) {
            var link = FileState(kind: .link, target: ".." + Paths.resolved + "/stub-resolv.conf")
            (link.user, link.group) = (now.user, now.group)
            return link
        }
        let last = KnownServers(in: tree).last
        let servers = last.isEmpty ? KnownServers.public : last
        var file = now
        file.modified = nil
        file.octets = Array(ResolvConfText(now.text).withDefaultServers(servers).utf8)
        return file
    }
}
