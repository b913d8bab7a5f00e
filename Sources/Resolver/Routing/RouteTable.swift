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
    /// A route that claims names, and by which pattern.
    ///
    /// Made once for each pattern: every miss hands it through all stages.
    package final class Match: Sendable {
        package let route: Route

        /// The pattern that matched.
        package let pattern: RoutePattern

        /// Which of the table's routes it is, counted from 0.
        let number: Int

        /// The number of its sources: the same for routes that ask the same ones in the same way.
        let sources: Int

        fileprivate let exceptions: [RoutePattern]

        fileprivate init(
            _ route: Route,
            _ pattern: RoutePattern,
            number: Int,
            sources: Int,
            except exceptions: [RoutePattern]
        ) {
            self.route = route
            self.pattern = pattern
            self.number = number
            self.sources = sources
            self.exceptions = exceptions
        }

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
    private struct Claims: Sendable {
        var exact: Match?
        var suffix: Match?
        var below: Match?

        /// Whether the routes have the same numbers.
        func areThose(of other: Claims) -> Bool {
            exact?.number == other.exact?.number && suffix?.number == other.suffix?.number
                && below?.number == other.below?.number
        }
    }

    /// The parts of a route that decide which answers are right.
    private struct Sources: Hashable {
        let vendors: [ObjectIdentifier]
        let upstreams: ObjectIdentifier?
        let fallsBack: Bool
        let allowsPrivateAnswers: Bool

        init(_ route: Route) {
            vendors = route.vendors.map { ObjectIdentifier($0) }
            upstreams = route.upstreams.map { ObjectIdentifier($0) }
            fallsBack = route.fallsBack
            allowsPrivateAnswers = route.allowsPrivateAnswers
        }
    }

    /// The routes, each as if by the root.
    private(set) var matches: [Match] = []
    private var claims: [Name: Claims] = [:]

    /// The numbers of all sources; there are few, however many routes there are.
    private var sources: [Sources: Int] = [:]

    package init() {}

    /// Adds a route; a pattern that an earlier route has stays the earlier one's.
    package mutating func add(
        _ route: Route,
        for patterns: [RoutePattern],
        except: [RoutePattern]
    ) {
        let key = Sources(route)
        let number = sources[key] ?? sources.count
        sources[key] = number
        func match(_ pattern: RoutePattern) -> Match {
            Match(route, pattern, number: matches.count, sources: number, except: except)
        }
        for pattern in patterns {
            switch pattern {
            case .suffix(let name): claim(name, \.suffix, match(pattern))
            case .exact(let name): claim(name, \.exact, match(pattern))
            case .below(let name): claim(name, \.below, match(pattern))
            }
        }
        matches.append(match(.suffix(.root)))
    }

    private mutating func claim(
        _ name: Name,
        _ pattern: WritableKeyPath<Claims, Match?>,
        _ match: Match
    ) {
        guard claims[name]?[keyPath: pattern] == nil else { return }
        claims[name, default: Claims()][keyPath: pattern] = match
    }

    /// The route of `name`, or nil if no pattern covers it or an exception sets it free.
    package func route(for name: Name) -> Match? { route(for: name) { _ in } }

    /// The same, and tells `passedOver` of matches more specific than that whose routes except the
    /// name.
    func route(for name: Name, _ passedOver: (Match) -> Void) -> Match? {
        guard !claims.isEmpty else { return nil }
        func accepted(_ match: Match?) -> Match? {
            guard let match else { return nil }
            guard match.exceptions.contains(where: { $0.covers(name) }) else { return match }
            passedOver(match)
            return nil
        }
        let own = claims[name]
        if let match = accepted(own?.exact) ?? accepted(own?.suffix) { return match }
        var ancestor = name.parent
        while let domain = ancestor {
            let here = claims[domain]
            if let match = accepted(here?.below) ?? accepted(here?.suffix) { return match }
            ancestor = domain.parent
        }
        return nil
    }
}

// MARK: - Comparing

extension RouteTable {
    /// Result of comparing two tables.
    package struct Comparison: Sendable {
        /// Whether all names go to routes with the same numbers.
        let claimsAreSame: Bool

        /// A route of each pair of sources that routes with the same number have in the two tables.
        let pairs: [(old: Match, new: Match)]
    }

    /// Compares this table with an `older` one, on any thread: the work is linear in their size.
    package func comparison(with older: RouteTable) -> Comparison {
        struct Pair: Hashable {
            let old: Int
            let new: Int
        }
        var seen: Set<Pair> = []
        let pairs = zip(older.matches, matches).filter { old, new in
            seen.insert(Pair(old: old.sources, new: new.sources)).inserted
        }
        return Comparison(claimsAreSame: claimsTheSame(as: older), pairs: pairs.map { ($0, $1) })
    }

    /// Whether all names go to routes with the same numbers as in another table.
    private func claimsTheSame(as other: RouteTable) -> Bool {
        matches.count == other.matches.count && claims.count == other.claims.count
            && zip(matches, other.matches).allSatisfy { $0.exceptions == $1.exceptions }
            && claims.allSatisfy { name, claims in
                other.claims[name].map { claims.areThose(of: $0) } ?? false
            }
    }
}
