// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Routes that are now in use: routes of the settings, and routes for the routing domains of links.
///
/// If a pattern of the settings and a routing domain are equal, the pattern of the settings wins. A
/// routing domain never overrides a route with vendors and `fallback: none`.
@ServiceLoop
final class ActiveRoutes {
    nonisolated let table: RouteTable

    private let network: LearnedNetwork?

    nonisolated init(_ table: RouteTable, _ network: LearnedNetwork?) {
        self.table = table
        self.network = network
    }

    var generation: Int { network?.generation ?? 0 }

    var portal: RouteTable.Match? { network?.portal?.match }

    /// Returns the route of `name`.
    ///
    /// Calls `passedOver` with each more specific route that excludes `name` with `except`.
    func route(
        for name: Name,
        _ passedOver: (RouteTable.Match) -> Void = { _ in }
    ) -> RouteTable.Match? {
        let configured = table.route(for: name, passedOver)
        guard let network else { return configured }
        if let learned = network.match(name), configured?.yields(to: learned.domain) ?? true {
            return learned
        }
        guard let portal = portal, configured?.isOpen ?? true else {
            return configured
        }
        return portal
    }

    var domains: Set<Name> { Set(network?.domains.map(\.domain) ?? []) }
}

extension RouteTable {
    /// True if a domain in `domains` contains `name`, and has precedence over the route of the
    /// name.
    func areTaken(_ domains: Set<Name>, _ name: Name) -> Bool {
        guard !domains.isEmpty else { return false }
        var ancestor: Name? = name
        while let domain = ancestor {
            if domains.contains(domain) { return route(for: name)?.yields(to: domain) ?? true }
            ancestor = domain.parent
        }
        return false
    }
}

extension RouteTable.Match {
    /// False for a route with vendors and `fallback: none`: only the vendors are allowed to answer.
    fileprivate var isOpen: Bool { route.fallsBack || !hasVendors }

    fileprivate func yields(to domain: Name) -> Bool {
        guard isOpen else { return false }
        return domain.labelCount > self.domain.labelCount
    }
}
