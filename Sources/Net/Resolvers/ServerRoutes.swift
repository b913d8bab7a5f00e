// SPDX-License-Identifier: Apache-2.0

/// Record of the links through which the servers of VPNs are reached.
struct ServerRoutes {
    private struct Unbound: Hashable {
        let link: String
        let address: SocketAddress
    }

    /// VPN servers that were reached through a link; the address contains the index of the link.
    private var bound: Set<SocketAddress> = []

    /// Servers of VPNs that were not bound to the interface of the VPN at the latest update.
    private var unbound: Set<Unbound> = []

    /// Forgets the servers of links that no longer exist.
    mutating func keep(_ indexes: Set<UInt32>) {
        bound = bound.filter { indexes.contains($0.link) }
    }

    /// Returns true if packets to `server` leave through the link with this index.
    ///
    /// Once the result was true, it stays true while the link exists. A later check of the route
    /// would not be safe: a hostile network may add another route to the server.
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

    /// Records each server that comes from a VPN and is not bound to the interface of the VPN.
    ///
    /// - Returns: true if one of these servers was not in the previous record.
    mutating func hasNewUnbound(_ links: [LinkResolvers]) -> Bool {
        let all = links.filter(\.isTunnel)
            .flatMap { link in link.servers.map { Unbound(link: link.link, address: $0.address) } }
            .filter { $0.address.link == 0 }
        defer { unbound = Set(all) }
        return all.contains { !unbound.contains($0) }
    }
}
