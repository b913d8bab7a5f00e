// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// The configured routes, and those that the links of the network bring.
///
/// The more specific pattern wins, and a configured one of two equal patterns.  A link never takes
/// a name from a route with `fallback: none`.
@ServiceLoop
final class ActiveRoutes {
    /// The configured routes.
    nonisolated let table: RouteTable

    private let network: LearnedNetwork?

    nonisolated init(_ table: RouteTable, _ network: LearnedNetwork?) {
        self.table = table
        self.network = network
    }

    /// Number of changes of the routes of links.
    var generation: Int { network?.generation ?? 0 }

    /// The route of the captive portal mode; nil while it is off.
    var portal: RouteTable.Match? { network?.portal?.match }

    /// Returns the route of `name`, and reports more specific routes that exclude the name.
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

    /// True if `name` is in one of the routing domains, and no configured route keeps it.
    func areTaken(_ domains: [Name], _ name: Name) -> Bool {
        domains.contains { domain in
            name.isEqualOrBelow(domain) && table.route(for: name)?.yields(to: domain) ?? true
        }
    }
}

extension RouteTable.Match {
    /// False for `fallback: none`: only the vendors may answer.
    fileprivate var isOpen: Bool { route.fallsBack || !hasVendors }

    /// True if a routing domain of a link takes names of this route.
    fileprivate func yields(to domain: Name) -> Bool {
        guard isOpen else { return false }
        return domain.labelCount > self.domain.labelCount
    }
}
