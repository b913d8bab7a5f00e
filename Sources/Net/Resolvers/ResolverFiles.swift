// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// Files in which programs store the DNS settings of networks.
package struct ResolverFiles: Sendable {
    struct Directory: Sendable {
        let source: LinkResolvers.Source
        let path: String

        /// Directory with a file for each private interface.
        ///
        /// The servers of a private interface answer only names in the domains of this interface.
        var privates: String?

        /// Directory with files `METRIC INTERFACE`; only the interface of the first file is used.
        var exclusives: String?

        /// Directory with files `METRIC INTERFACE`; the interfaces of these files are listed last.
        var metrics: String?

        /// Prefixes of interface names; interfaces with an earlier prefix are listed first.
        var order: [String] = []
    }

    var directories: [Directory]

    /// Files of the whole machine; the preferred file is first.
    var files: [(source: LinkResolvers.Source, path: String)]

    /// Directory of systemd-networkd with the DNS settings of links.
    ///
    /// systemd-resolved reads these files, but sends no signal for most of the settings.
    let states: String

    package init(root: String = "") {
        let openresolv = root + "/run/resolvconf"
        directories = [
            Directory(
                source: .resolvconf,
                path: openresolv + "/interfaces",
                privates: openresolv + "/private",
                exclusives: openresolv + "/exclusive",
                metrics: openresolv + "/metrics",
                order: ["lo", "tap", "tun", "vpn", "wg", "ppp", "ippp"]
            ),
            Directory(
                source: .resolvconf,
                path: openresolv + "/interface",
                order: [
                    "lo", "tun", "tap", "hso", "vpn", "em", "en", "br", "eth", "wl", "ath", "wifi",
                    "ppp",
                ]
            ),
            Directory(source: .dhcpcd, path: root + "/run/dhcpcd/hook-state/resolv.conf"),
            Directory(source: .dhclient, path: root + "/run/httpdnsd-dhclient"),
        ]
        states = root + "/run/systemd/netif/links"
        files = [
            (.resolved, root + "/run/systemd/resolve/resolv.conf"),
            (.networkManager, root + "/run/NetworkManager/resolv.conf"),
            (.file, root + "/etc/resolv.conf"),
            (.file, root + Self.saved),
        ]
    }

    /// Copy of `/etc/resolv.conf` from `httpdnsctl setup`.
    ///
    /// If the administrator has chosen the servers in the copy, the copy is the first source. If a
    /// program has written them, the copy is the last source.
    package static let saved = "/etc/httpdnsd/network-resolv.conf"

    private static let largest = 64 << 10

    // MARK: - Reading

    var chosen: LinkResolvers? {
        files.last.flatMap { Self.text($0.path) }.flatMap(LinkResolvers.reading(saved:))
    }

    static func text(_ path: String) -> String? { try? read(path) }

    static func read(_ path: String) throws(FileFault) -> String {
        // SAFETY: the path lives during open(2); read(2) stores at most `largest` octets, the size
        // of the array.
        let raw = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard raw >= 0 else { throw .last("open", path) }
        let file = OwnedDescriptor(taking: raw)
        var facts = stat()
        guard unsafe fstat(file.raw, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            throw .notRegular(path)
        }
        var octets = [UInt8](repeating: 0, count: largest)
        let count = unsafe octets.withUnsafeMutableBytes {
            unsafe Glibc.read(file.raw, $0.baseAddress, $0.count)
        }
        guard count >= 0 else { throw .last("read", path) }
        return String(decoding: octets[..<count], as: UTF8.self)
    }

    /// Returns the names without hidden files; empty if the directory cannot be read.
    static func entries(
        _ path: String,
        limit: Int = 4 * LinkResolvers.maximumLinks
    ) -> [String] {
        // SAFETY: the stream is closed once; an entry is valid until the next call.
        guard let stream = unsafe opendir(path) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while names.count < limit, let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe String(cString: $0)
                }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    private static func names(_ directory: Directory) -> [String] {
        let listed = (directory.metrics.map { entries($0) } ?? []).compactMap {
            $0.split(separator: " ").last.map(String.init)
        }
        let metrics = Dictionary(zip(listed, 0...), uniquingKeysWith: { first, _ in first })
        func rank(_ name: String) -> Int {
            if let metric = metrics[name] { return directory.order.count + 1 + metric }
            return directory.order.firstIndex(where: name.hasPrefix) ?? directory.order.count
        }
        return entries(directory.path).map { (rank($0), $0) }.sorted { $0 < $1 }.map(\.1)
    }

    func read(
        _ directory: Directory,
        _ links: Set<String>
    ) -> (links: [LinkResolvers], unreadable: [String]) {
        var result: [LinkResolvers] = []
        var unreadable: [String] = []
        var names = Self.names(directory)
        // openresolv creates the file in `privates` first and removes it last. If `privates` were
        // read first, a private interface could seem not to be private.
        let privates = Set(directory.privates.map { Self.entries($0) } ?? [])
        let exclusive = directory.exclusives.map { Self.entries($0) }?.first?.split(separator: " ")
            .last
        if let exclusive { names = names.filter { $0 == exclusive } }
        for name in names {
            guard let text = Self.text("\(directory.path)/\(name)") else { continue }
            var (entry, lines) = LinkResolvers.reading(
                resolvConf: text,
                directory.source,
                link: Self.link(of: name, links),
                isPrivate: privates.contains(name)
            )
            unreadable += lines
            if Self.isOfIPsec(name) { entry.isTunnel = true }
            entry.takesAll = exclusive != nil
            if let index = result.firstIndex(where: { $0.hasSameNames(as: entry) }) {
                let all = result[index].servers + entry.servers
                result[index].servers = Array(all.prefix(LinkResolvers.maximumServers))
                result[index].searches += entry.searches
            } else {
                result.append(entry)
            }
        }
        return (result, unreadable)
    }

    /// Returns the interface of a file such as `eth0`, `eth0.dhclient` or `tun.wg0`.
    ///
    /// wg-quick adds the prefix `tun.`, and Tailscale adds `tun-`. With openresolv, Tailscale's
    /// file for `tailscale0` is `tailscale`. The file of NetworkManager, which has the settings of
    /// all interfaces, and the files of IPsec have no interface ("").
    static func link(of file: String, _ links: Set<String>) -> String {
        if file == "NetworkManager" || isOfIPsec(file) { return "" }
        let parts = file.split(separator: ".", omittingEmptySubsequences: false)
        for count in stride(from: parts.count, to: 0, by: -1) {
            for start in 0...parts.count - count {
                let name = parts[start..<start + count].joined(separator: ".")
                if links.contains(name) { return name }
            }
        }
        for part in parts.map({ $0.hasPrefix("tun-") ? $0.dropFirst(4) : $0 }) where !part.isEmpty {
            let numbered = links.filter {
                $0.hasPrefix(part) && $0.dropFirst(part.count).allSatisfy(\.isNumber)
            }
            if let link = numbered.min() { return link }
        }
        return file
    }

    /// True for a file such as `lo.ipsec.192.0.2.1` of strongSwan, for a VPN without an interface.
    private static func isOfIPsec(_ file: String) -> Bool {
        file.hasPrefix("lo.") && file != "lo.inet" && file != "lo.inet6"
    }
}
