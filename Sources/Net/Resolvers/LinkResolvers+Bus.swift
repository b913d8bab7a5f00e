// SPDX-License-Identifier: Apache-2.0

extension SystemBus.Object {
    static let resolved = SystemBus.Object(
        "org.freedesktop.resolve1",
        "/org/freedesktop/resolve1",
        "org.freedesktop.resolve1.Manager"
    )

    static let networkManager = SystemBus.Object(
        "org.freedesktop.NetworkManager",
        "/org/freedesktop/NetworkManager/DnsManager",
        "org.freedesktop.NetworkManager.DnsManager"
    )

    static let connectivity = SystemBus.Object(
        "org.freedesktop.NetworkManager",
        "/org/freedesktop/NetworkManager",
        "org.freedesktop.NetworkManager"
    )

    /// sd-bus escapes the first digit of the index (2 becomes `_32`).
    static func resolvedLink(_ index: Int32) -> SystemBus.Object {
        let digits = "\(index)"
        let path = "_3" + digits
        return SystemBus.Object(
            "org.freedesktop.resolve1",
            "/org/freedesktop/resolve1/link/\(path)",
            "org.freedesktop.resolve1.Link"
        )
    }
}

// MARK: - systemd-resolved

extension LinkResolvers {
    /// Returns the indexes of the links with servers or domains; 0 means the whole machine.
    static func indexes(inResolved manager: BusValue) -> [Int32] {
        let entries = ["DNSEx", "DNS", "Domains"].flatMap { manager[$0]?.items ?? [] }
        let indexes = Set(
            entries.compactMap { $0.items.first?.number.flatMap(Int32.init(exactly:)) }
        )
        return Array(indexes.sorted().prefix(maximumLinks))
    }

    static func reading(
        resolved manager: BusValue,
        links: [Int32: BusValue],
        names: [Int32: String]
    ) -> [LinkResolvers] {
        indexes(inResolved: manager).compactMap { index in
            guard let name = index == 0 ? "" : names[index] else { return nil }
            // `DNSEx` includes ports and names; older versions of systemd-resolved have only `DNS`.
            let extended = manager["DNSEx"]?.items
            let encrypts = (links[index] ?? manager)["DNSOverTLS"]?.text == "yes"
            let servers = (extended ?? manager["DNS"]?.items ?? []).compactMap {
                Server(resolved: $0.items, index, encrypts: encrypts)
            }
            func domains(isRouteOnly: Bool) -> [String] {
                (manager["Domains"]?.items ?? []).map(\.items).filter {
                    $0.count == 3 && $0[0].number == Int64(index) && $0[2].boolean == isRouteOnly
                }.compactMap { $0[1].text }
            }
            var result = LinkResolvers(.resolved, link: name, servers: servers)
            result.route(
                domains(isRouteOnly: true),
                isDefault: links[index]?["DefaultRoute"]?.boolean
            )
            result.searches = domains(isRouteOnly: false)
            return result
        }
    }
}

extension LinkResolvers.Server {
    /// Reads `(iiay)` or `(iiayqs)`: index, family, address, port and name in the certificate.
    fileprivate init?(resolved parts: [BusValue], _ index: Int32, encrypts: Bool) {
        guard parts.count >= 3, parts[0].number == Int64(index), let octets = parts[2].octets else {
            return nil
        }
        let port = parts.count > 3 ? parts[3].number ?? 0 : 0
        let name = parts.count > 4 ? parts[4].text ?? "" : ""
        let isLinkLocal = SocketAddress(octets: octets, port: 0)?.isLinkLocal ?? false
        guard
            let address = SocketAddress(
                octets: octets,
                port: port == 0 ? (encrypts ? 853 : 53) : UInt16(clamping: port),
                scope: isLinkLocal ? UInt32(clamping: index) : 0
            )
        else { return nil }
        self.init(address, tlsName: encrypts ? (name.isEmpty ? address.literal : name) : nil)
    }
}

extension SocketAddress {
    fileprivate var literal: String { String(host.prefix { $0 != "%" }) }
}

// MARK: - NetworkManager

extension LinkResolvers {
    /// Reads the property `Configuration` of NetworkManager's `DnsManager`.
    ///
    /// If the lowest priority is negative, entries with a greater priority are ignored
    /// (nm-settings(5), `dns-priority`).
    static func reading(
        networkManager manager: BusValue
    ) -> (links: [LinkResolvers], unreadable: [String]) {
        let entries = manager["Configuration"]?.items ?? []
        let priorities = entries.map { $0["priority"]?.number ?? 0 }
        let limit = priorities.min().flatMap { $0 < 0 ? $0 : nil } ?? .max
        var unreadable: [String] = []
        var links: [LinkResolvers] = []
        for (entry, priority) in zip(entries, priorities) where priority <= limit {
            let link = entry["interface"]?.text ?? ""
            let servers = (entry["nameservers"]?.items ?? []).compactMap(\.text).compactMap {
                text in
                let server = Server(networkManager: text, link)
                if server == nil { unreadable.append(String(text.prefix(80))) }
                return server
            }
            let domains = (entry["domains"]?.items ?? []).compactMap(\.text)
            let routing = domains.filter { $0.hasPrefix("~") }.map { String($0.dropFirst()) }
            var new = LinkResolvers(.networkManager, link: link, servers: servers)
            new.route(routing)
            new.searches = domains.filter { !$0.hasPrefix("~") }
            if entry["vpn"]?.boolean == true, !new.isTunnel {
                // `isTunnel` is false for a VPN over PPP, because DSL also uses PPP. If this entry
                // has a PPP interface, this interface belongs to the VPN. Any other interface
                // belongs to the network below the VPN.
                (new.isTunnel, new.isShared) = (true, !link.hasPrefix("ppp"))
            }
            // NetworkManager reports IPv4 and IPv6 of a link as two entries.
            if let index = links.firstIndex(where: { $0.isJoined(with: new) }) {
                let all = links[index].servers + servers
                links[index].servers = Array(all.prefix(maximumServers))
                let before = links[index].domains + (links[index].takesAll ? ["."] : [])
                links[index].route(before + routing.filter { !before.contains($0) })
                links[index].searches += new.searches
            } else {
                if limit < .max, new.isDefault { new.takesAll = true }
                links.append(new)
            }
        }
        return (links, unreadable)
    }

    private func isJoined(with other: LinkResolvers) -> Bool {
        link == other.link && isTunnel == other.isTunnel
            && (!isShared || hasSameNames(as: other) && searches == other.searches)
    }
}

extension LinkResolvers {
    /// Splits an entry of systemd-resolved into one entry for each VPN and one for the interface.
    ///
    /// For an interface and the IPsec VPNs over it, systemd-resolved has only one list of servers.
    func separated(from vpns: [LinkResolvers]) -> [LinkResolvers] {
        guard source == .resolved else { return [self] }
        var (rest, parts) = (self, [LinkResolvers]())
        for vpn in vpns where vpn.link == link {
            guard vpn.isShared else {
                rest.isTunnel = true
                continue
            }
            var part = vpn
            let servers = servers.filter { server in
                vpn.servers.contains { $0.address.octets == server.address.octets }
            }
            if !servers.isEmpty { (part.source, part.servers) = (source, servers) }
            rest.servers.removeAll(where: servers.contains)
            rest.domains.removeAll(where: vpn.domains.contains)
            parts.append(part)
        }
        return parts + [rest]
    }
}

extension LinkResolvers.Server {
    /// Reads a server such as `192.0.2.53`, `fe80::1` or `dns+tls://192.0.2.53#dns.example`.
    ///
    /// With `dns+tls://` and no name, the certificate must contain the address.
    fileprivate init?(networkManager text: String, _ link: String) {
        let scheme = text.firstRange(of: "://")
        let parts = text[(scheme?.upperBound ?? text.startIndex)...].split(
            separator: "#",
            maxSplits: 1
        )
        let encrypts: Bool
        switch scheme.map({ text[..<$0.lowerBound] }) {
        case nil, "dns+udp": encrypts = false
        case "dns+tls": encrypts = true
        default: return nil
        }
        guard let host = parts.first,
            let address = SocketAddress(String(host), defaultPort: encrypts ? 853 : 53)
        else { return nil }
        let name = parts.count > 1 ? String(parts[1]) : address.literal
        let tlsName = encrypts ? name : nil
        guard address.isLinkLocal, address.isIPv6, address.scope == 0 else {
            self.init(address, tlsName: tlsName)
            return
        }
        guard let scope = InterfaceNames.number(of: link),
            let scoped = SocketAddress(octets: address.octets, port: address.port, scope: scope)
        else { return nil }
        self.init(scoped, tlsName: tlsName)
    }
}
