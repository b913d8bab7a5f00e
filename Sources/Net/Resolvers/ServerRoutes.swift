// SPDX-License-Identifier: Apache-2.0

/// Links through which the servers of VPNs are reached.
struct ServerRoutes {
    private struct Unbound: Hashable {
        let link: String
        let address: SocketAddress
    }

    /// VPN servers that were reached through the interface ``SocketAddress/link``.
    private var bound: Set<SocketAddress> = []

    private var unbound: Set<Unbound> = []

    mutating func keep(_ indexes: Set<UInt32>) {
        bound = bound.filter { indexes.contains($0.link) }
    }

    /// Returns true if packets to `server` leave through the link with this index.
    ///
    /// A true result stays true while the link exists, because a hostile network may add another
    /// route.
    mutating func isReached(_ server: SocketAddress, through index: UInt32) -> Bool {
        var linked = server
        linked.link = index
        if bound.contains(linked) { return true }
        guard let source = SocketAddress.source(towards: server),
            source.octets == SocketAddress.source(towards: linked)?.octets
        else { return false }
        bound.insert(linked)
        return true
    }

    /// Returns true if, since the last call, a VPN has a new server that is bound to no interface.
    mutating func hasNewUnbound(_ links: [LinkResolvers]) -> Bool {
        let all = links.filter(\.isTunnel)
            .flatMap { link in link.servers.map { Unbound(link: link.link, address: $0.address) } }
            .filter { $0.address.link == 0 }
        defer { unbound = Set(all) }
        return all.contains { !unbound.contains($0) }
    }
}
