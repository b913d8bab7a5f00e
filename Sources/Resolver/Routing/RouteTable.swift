// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import HTTPDNS
package import Upstream

/// Who is asked for the names of a route.
package struct Route: Sendable {
    /// The place in the settings, `file:line`.
    package var place: String

    /// Asked for addresses, in order; may be none.
    package var vendors: [VendorClient]

    /// Asked for everything else, and for addresses when the vendors have none.
    package var upstreams: UpstreamGroup?

    /// Whether upstreams are asked for addresses at all (`fallback: upstream`).
    package var fallsBack: Bool

    /// Whether a vendor may answer with private addresses (`private-answers: allow`).
    package var allowsPrivateAnswers: Bool

    /// Whether stale answers may be given (`stale: on`), if they are at all.
    package var servesStale: Bool

    /// Puts the parts together.
    package init(
        place: String,
        vendors: [VendorClient],
        upstreams: UpstreamGroup?,
        fallsBack: Bool,
        allowsPrivateAnswers: Bool,
        servesStale: Bool = true
    ) {
        self.place = place
        self.vendors = vendors
        self.upstreams = upstreams
        self.fallsBack = fallsBack
        self.allowsPrivateAnswers = allowsPrivateAnswers
        self.servesStale = servesStale
    }
}

/// One pattern of a route's `domains`.
package enum RoutePattern: Hashable, Sendable {
    /// `example.com`: the name and all below it.
    case suffix(Name)

    /// `=www.example.com`: this name only.
    case exact(Name)

    /// `*.example.com`: all below the name, not itself.
    case below(Name)

    /// The domain that it is about.
    package var domain: Name {
        switch self {
        case .suffix(let domain), .exact(let domain), .below(let domain): domain
        }
    }

    /// Whether `name` is one of those meant.
    func covers(_ name: Name) -> Bool {
        switch self {
        case .suffix(let domain): name.isEqualOrBelow(domain)
        case .exact(let only): name == only
        case .below(let domain): name != domain && name.isEqualOrBelow(domain)
        }
    }
}

/// Finds the route of a name: the most specific pattern wins.
package struct RouteTable: Sendable {
    /// A route that claims a name, and by which domain.
    package struct Match: Sendable {
        package let route: Route

        /// The pattern that matched.
        package let pattern: RoutePattern

        /// Which of the table's routes it is, counted from 0.
        let number: Int

        /// The domain of the pattern: the zone of synthetic denials.
        package var domain: Name { pattern.domain }

        /// Whether the name's addresses are a vendor's to tell.
        var hasVendors: Bool { !route.vendors.isEmpty }

        /// Whether vendors are asked: they know addresses of hostnames and nothing else.
        func asksVendors(_ query: Query) -> Bool {
            hasVendors && query.asksForAddress && query.question.name.isHostname
        }

        /// Whether special names are the route's: a route for every name was not made for them.
        var claimsSpecialNames: Bool { !domain.isRoot }
    }

    /// The patterns of one domain.
    private struct Claims: Sendable, Equatable {
        var exact: Int?
        var suffix: Int?
        var below: Int?
    }

    private var routes: [(route: Route, exceptions: [RoutePattern])] = []
    private var claims: [Name: Claims] = [:]

    package init() {}

    /// Adds a route; a pattern that an earlier route has stays the earlier one's.
    package mutating func add(
        _ route: Route,
        for patterns: [RoutePattern],
        except: [RoutePattern]
    ) {
        let index = routes.count
        routes.append((route, except))
        for pattern in patterns {
            switch pattern {
            case .suffix(let name): claim(name, \.suffix, index)
            case .exact(let name): claim(name, \.exact, index)
            case .below(let name): claim(name, \.below, index)
            }
        }
    }

    private mutating func claim(
        _ name: Name,
        _ pattern: WritableKeyPath<Claims, Int?>,
        _ index: Int
    ) {
        guard claims[name]?[keyPath: pattern] == nil else { return }
        claims[name, default: Claims()][keyPath: pattern] = index
    }

    /// The route of `name`, or nil if no pattern covers it or an exception sets it free.
    package func route(for name: Name) -> Match? { route(for: name) { _ in } }

    /// The same, and tells `passedOver` of matches more specific than that whose routes except the
    /// name.
    func route(for name: Name, _ passedOver: (Match) -> Void) -> Match? {
        guard !claims.isEmpty else { return nil }
        func match(_ index: Int?, _ pattern: (Name) -> RoutePattern, _ domain: Name) -> Match? {
            guard let index else { return nil }
            let match = Match(
                route: routes[index].route,
                pattern: pattern(domain),
                number: index
            )
            guard routes[index].exceptions.contains(where: { $0.covers(name) }) else {
                return match
            }
            passedOver(match)
            return nil
        }
        if let match = match(claims[name]?.exact, RoutePattern.exact, name) { return match }
        if let match = match(claims[name]?.suffix, RoutePattern.suffix, name) { return match }
        var ancestor = name.parent
        while let domain = ancestor {
            let here = claims[domain]
            if let match = match(here?.below, RoutePattern.below, domain) { return match }
            if let match = match(here?.suffix, RoutePattern.suffix, domain) { return match }
            ancestor = domain.parent
        }
        return nil
    }
}

// MARK: - Comparing

extension RouteTable {
    /// The routes, each as if by the root.
    var matches: [Match] {
        routes.indices.map { Match(route: routes[$0].route, pattern: .suffix(.root), number: $0) }
    }

    /// Whether all names go to routes with the same numbers as in another table.
    func claimsTheSame(as other: RouteTable) -> Bool {
        routes.count == other.routes.count && claims == other.claims
            && zip(routes, other.routes).allSatisfy { $0.exceptions == $1.exceptions }
    }
}
