// SPDX-License-Identifier: Apache-2.0

/// DNS settings of a network link, from the program that manages the link.
package struct LinkResolvers: Sendable, Hashable {
    package struct Server: Sendable, Hashable {
        package var address: SocketAddress

        /// Name in the certificate; nil for plain DNS.
        package let tlsName: String?

        package init(_ address: SocketAddress, tlsName: String? = nil) {
            self.address = address
            self.tlsName = tlsName
        }
    }

    package enum Source: String, Sendable, Hashable {
        case resolved = "systemd-resolved"
        case networkManager = "NetworkManager"
        case resolvconf
        case dhcpcd
        case dhclient
        case file

        /// The administrator had set the servers before `httpdnsctl setup`.
        case chosen = "httpdnsctl setup"
    }

    package var source: Source

    /// Name of the interface; empty for settings of the whole machine.
    package var link: String

    package var servers: [Server]

    /// Routing domains, without `~`.
    package var domains: [String]

    var searches: [String] = []

    /// True if the servers also answer names outside the routing domains of all links.
    package var isDefault: Bool

    /// True if all other links get only names in their routing domains.
    ///
    /// A link with the routing domain `~.` has this effect.
    package var takesAll = false

    package init(
        _ source: Source,
        link: String,
        servers: [Server],
        domains: [String] = [],
        isDefault: Bool = true
    ) {
        self.source = source
        self.link = link
        self.servers = Array(servers.prefix(Self.maximumServers))
        self.domains = domains
        self.isDefault = isDefault
        isTunnel = Self.namesOfTunnels.contains { link.hasPrefix($0) }
    }

    package var isTunnel: Bool

    /// True for a VPN that gets all names, and also carries the packets to the Internet.
    package var isFullTunnel = false

    var isSplitTunnel: Bool { isTunnel && isDefault && !isShared && !isFullTunnel }

    /// True for a VPN without its own interface, such as IPsec; `link` is then the interface that
    /// the VPN uses.
    var isShared = false

    private static let namesOfTunnels = ["tun", "tap", "wg", "vpn", "ipsec", "xfrm"]

    func hasSameNames(as other: LinkResolvers) -> Bool {
        link == other.link && isTunnel == other.isTunnel && isDefault == other.isDefault
            && domains == other.domains
    }

    struct Interface: Sendable, Hashable {
        let index: UInt32
        let isTunnel: Bool
    }

    package static let maximumServers = 8
    package static let maximumDomains = 1_024
    package static let maximumLinks = 64
}

// MARK: - Routing domains

extension LinkResolvers {
    /// Sets the routing domains; the domain `.` contains all names.
    ///
    /// If `isDefault` is nil, only a link without routing domains is a default link.
    mutating func route(_ routing: [String], isDefault: Bool? = nil) {
        takesAll =
            routing.count > Self.maximumDomains || routing.contains { $0.isEmpty || $0 == "." }
        domains = Array(
            routing.filter { !$0.isEmpty && $0 != "." }.prefix(Self.maximumDomains)
        )
        self.isDefault = takesAll || isDefault ?? domains.isEmpty
    }
}

// MARK: - resolv.conf

extension LinkResolvers {
    /// Reads the format of resolv.conf(5); also returns the unreadable lines.
    ///
    /// - Parameter isPrivate: true if the servers answer only the domains in the file (openresolv).
    static func reading(
        resolvConf text: String,
        _ source: Source,
        link: String,
        isPrivate: Bool = false
    ) -> (LinkResolvers, unreadable: [String]) {
        var servers: [Server] = []
        var domains: [String] = []
        var unreadable: [String] = []
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(whereSeparator: \.isWhitespace)
            switch words.first {
            case "nameserver":
                guard words.count > 1,
                    let address = SocketAddress(String(words[1]), defaultPort: 53)
                else {
                    unreadable.append(String(line.prefix(80)))
                    continue
                }
                servers.append(Server(address))
            case "domain", "search": domains += words.dropFirst().map(String.init)
            default: break
            }
        }
        var result = LinkResolvers(source, link: link, servers: servers)
        if isPrivate { result.route(domains, isDefault: false) } else { result.searches = domains }
        return (result, unreadable)
    }
}

extension LinkResolvers {
    /// Reads the file that `httpdnsctl setup` saved.
    ///
    /// Returns nil if the file has none of these options, which give its servers priority:
    ///
    /// - `httpdnsd-resolved`: the servers are from resolved.conf(5).
    /// - `httpdnsd-chosen`: the servers are from a resolv.conf that no program had written.
    static func reading(saved text: String) -> LinkResolvers? {
        let options = text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("options ") }
            .flatMap { $0.split(separator: " ") }
        let source: Source
        if options.contains("httpdnsd-resolved") {
            source = .resolved
        } else if options.contains("httpdnsd-chosen") {
            source = .chosen
        } else {
            return nil
        }
        var (result, _) = reading(resolvConf: text, source, link: "")
        result.route(result.searches.filter { $0.hasPrefix("~") }.map { String($0.dropFirst()) })
        result.searches = []
        return result
    }
}

// MARK: - Merging

extension LinkResolvers {
    /// Merges the settings of several sources; if two sources report a link, uses only the first.
    ///
    /// A resolv.conf of the whole machine is used only if no earlier source has a default server
    /// (``isDefault``). In two cases, a link that is not a VPN gets only names in its routing
    /// domains:
    ///
    /// - The administrator had set servers before `httpdnsctl setup` (``Source/chosen``).
    /// - The link is not from systemd-resolved, but systemd-resolved has default servers that are
    ///   set for the whole machine or use TLS.
    ///
    /// - Parameters:
    ///   - running: interfaces that are up, by name; nil if unknown.
    ///   - isOwn: true for addresses of this machine, which are removed.
    ///   - isReached: true if packets to an address leave through the interface with this index.
    static func merged(
        _ sources: [[LinkResolvers]],
        running: [String: Interface]?,
        isOwn: (SocketAddress) -> Bool,
        isReached: (SocketAddress, UInt32) -> Bool = { _, _ in true }
    ) -> [LinkResolvers] {
        var result: [LinkResolvers] = []
        let vpns = sources.joined().filter { $0.source == .networkManager && $0.isTunnel }
        for source in sources {
            let known = Set(result.map(\.link))
            let hasChosen = result.contains { $0.source == .chosen }
            let isResolvedEnough = result.contains { entry in
                entry.source == .resolved && entry.isDefault
                    && entry.servers.contains { entry.link.isEmpty || $0.tlsName != nil }
            }
            for var entry in source.flatMap({ $0.separated(from: vpns) })
            where !known.contains(entry.link) {
                let interface = running?[entry.link]
                guard entry.link.isEmpty || running == nil || interface != nil,
                    result.count < maximumLinks
                else { continue }
                if interface?.isTunnel ?? false { (entry.isTunnel, entry.isShared) = (true, false) }
                entry.routeSearches()
                if hasChosen || isResolvedEnough && entry.source != .resolved, !entry.isTunnel {
                    guard !entry.domains.isEmpty else { continue }
                    (entry.isDefault, entry.takesAll) = (false, false)
                }
                // A hostile network could assign the address of a VPN's DNS server to this machine.
                // Then the VPN keeps its domains, so that no other server gets the names. A link
                // that is not a VPN and has only the domain `~.` does not keep this domain: the
                // removed server may be this daemon.
                let keepsDomains =
                    !entry.link.isEmpty
                    && (!entry.domains.isEmpty || entry.takesAll && entry.isTunnel)
                    && entry.servers.contains { !$0.address.isOfThisHost }
                entry.servers.removeAll { isOwn($0.address) }
                guard !entry.servers.isEmpty || keepsDomains else { continue }
                if entry.servers.isEmpty { entry.isDefault = false }
                if let interface {
                    entry.isFullTunnel =
                        entry.isTunnel && !entry.isShared && entry.isDefault
                        && internet.contains { isReached($0, interface.index) }
                    entry.bind(to: interface.index, isReached)
                }
                let isLast = entry.link.isEmpty && entry.source == .file
                if isLast, result.contains(where: { $0.isDefault && !$0.servers.isEmpty }) {
                    continue
                }
                result.append(entry)
            }
        }
        return result
    }
}

extension LinkResolvers {
    /// Addresses of a.root-servers.net, which are never queried.
    private static let internet = ["198.41.0.4", "[2001:503:ba3e::2:30]"].compactMap {
        SocketAddress($0, defaultPort: 53)
    }

    /// Search domains of links that are not VPNs are ignored, because a hostile network could
    /// announce the domain of a VPN.
    private mutating func routeSearches() {
        let known = Set(domains)
        let new = searches.filter { $0 != "." && !$0.hasPrefix("~") && !known.contains($0) }
        if isTunnel { domains = Array((domains + new).prefix(Self.maximumDomains)) }
        searches = []
    }

    /// Binds servers to the VPN's interface, because another network could add a route to a server.
    ///
    /// A server that is not from systemd-resolved can be outside of the VPN, so such a server is
    /// bound only if its route uses the interface.
    private mutating func bind(to index: UInt32, _ isReached: (SocketAddress, UInt32) -> Bool) {
        guard isTunnel, !isShared, takesAll || !domains.isEmpty else { return }
        for place in servers.indices
        where source == .resolved || isReached(servers[place].address, index) {
            servers[place].address.link = index
        }
    }
}

extension LinkResolvers.Server {
    /// Server without the interface index: a new interface with the same name has another index.
    package var unbound: LinkResolvers.Server {
        var server = self
        server.address.link = 0
        return server
    }
}
