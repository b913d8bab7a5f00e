// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import HTTPDNS
package import Upstream

/// Sources for the names of a route.
package struct Route: Sendable {
    /// Position in the settings, `file:line`.
    package var place: String

    /// The vendors for addresses, in order; may be empty.
    package var vendors: [VendorClient]

    /// The upstreams for other types, and for addresses if vendors have none; nil for the default
    /// group.
    package var upstreams: UpstreamGroup?

    /// True if upstreams are queried when the vendors have no answer (`fallback: upstream`).
    package var fallsBack: Bool

    /// True if vendors may answer with private addresses (`private-answers: allow`).
    package var allowsPrivateAnswers: Bool

    /// True if stale answers are allowed for this route (`stale: on`).
    package var servesStale: Bool

    /// Options of this route, which override the general options and those of its vendors.
    package var options: Options

    /// Options of a route, which override the general options and those of its vendors.
    package struct Options: Sendable {
        /// Lower bound of positive TTLs in seconds; nil for the general one.
        package var minimumTTL: UInt32?

        /// Upper bound of positive TTLs in seconds; nil for the general one.
        package var maximumTTL: UInt32?

        /// False if answers are never refreshed before they expire (`prefetch: off`).
        package var isPrefetched = true

        /// Parameters that the route sets for vendors; nil if those of the vendors' settings apply.
        package var parameters: RouteParameters?

        /// Time without a vendor's answer after which a new name is answered by upstreams; nil if
        /// they are queried only after the vendors.
        package var fallbackAfter: Duration?

        /// Families to request from vendors; nil for the setting of the vendor.
        package var families: FamilyChoice?

        package init() {}
    }

    /// Creates a route.
    package init(
        place: String,
        vendors: [VendorClient],
        upstreams: UpstreamGroup?,
        fallsBack: Bool,
        allowsPrivateAnswers: Bool,
        servesStale: Bool = true,
        options: Options = Options()
    ) {
        self.place = place
        self.vendors = vendors
        self.upstreams = upstreams
        self.fallsBack = fallsBack
        self.allowsPrivateAnswers = allowsPrivateAnswers
        self.servesStale = servesStale
        self.options = options
    }
}

/// A pattern in a route's `domains`.
package enum RoutePattern: Hashable, Sendable {
    /// `example.com`: the name and all names below it.
    case suffix(Name)

    /// `=www.example.com`: this name only.
    case exact(Name)

    /// `*.example.com`: all names below it, without the name itself.
    case below(Name)

    /// The domain of the pattern.
    package var domain: Name {
        switch self {
        case .suffix(let domain), .exact(let domain), .below(let domain): domain
        }
    }

    func covers(_ name: Name) -> Bool {
        switch self {
        case .suffix(let domain): name.isEqualOrBelow(domain)
        case .exact(let only): name == only
        case .below(let domain): name != domain && name.isEqualOrBelow(domain)
        }
    }
}

/// Maps names to routes; the most specific pattern wins.
package struct RouteTable: Sendable {
    /// A route and the pattern by which it matches.
    ///
    /// A class, because every miss passes its match through all stages, and a reference is cheap to
    /// pass.  Created once per pattern.
    package final class Match: Sendable {
        fileprivate let entry: Entry

        /// The matching pattern.
        package let pattern: RoutePattern

        package var route: Route { entry.route }

        /// Index of the route in the table.
        var number: Int { entry.number }

        /// Number that identifies the sources; equal for routes with the same sources and options.
        var sources: Int { entry.sources }

        fileprivate var exceptions: [RoutePattern] { entry.exceptions }

        fileprivate init(_ entry: Entry, _ pattern: RoutePattern) {
            self.entry = entry
            self.pattern = pattern
        }

        /// The domain of the pattern; the zone of synthetic negative answers.
        package var domain: Name { pattern.domain }

        var hasVendors: Bool { !route.vendors.isEmpty }

        /// True if vendors are queried: they resolve only addresses of hostnames.
        func asksVendors(_ query: Query) -> Bool {
            hasVendors && query.asksForAddress && query.question.name.isHostname
        }

        /// True if the route overrides special names; a route for `.` does not.
        var claimsSpecialNames: Bool { !domain.isRoot }
    }

    /// A route, once for all its patterns: a route may have 100,000 patterns.
    fileprivate final class Entry: Sendable {
        let route: Route
        let number: Int
        let sources: Int
        let exceptions: [RoutePattern]

        init(_ route: Route, number: Int, sources: Int, except exceptions: [RoutePattern]) {
            self.route = route
            self.number = number
            self.sources = sources
            self.exceptions = exceptions
        }
    }

    /// The patterns of one domain.
    private struct Claims: Sendable {
        var exact: Match?
        var suffix: Match?
        var below: Match?

        /// True if all routes have the same indexes.
        func areThose(of other: Claims) -> Bool {
            exact?.number == other.exact?.number && suffix?.number == other.suffix?.number
                && below?.number == other.below?.number
        }
    }

    /// The parts of a route that determine which answers are valid.
    private struct Sources: Hashable {
        let vendors: [ObjectIdentifier]
        let upstreams: ObjectIdentifier?
        let fallsBack: Bool
        let allowsPrivateAnswers: Bool
        let parameters: RouteParameters?

        init(_ route: Route) {
            vendors = route.vendors.map { ObjectIdentifier($0) }
            upstreams = route.upstreams.map { ObjectIdentifier($0) }
            fallsBack = route.fallsBack
            allowsPrivateAnswers = route.allowsPrivateAnswers
            parameters = route.options.parameters
        }
    }

    /// The routes in order, each as a match for the root.
    private(set) var matches: [Match] = []
    private var claims: [Name: Claims] = [:]

    /// Number of each distinct set of sources; there are few sets, even with many routes.
    private var sources: [Sources: Int] = [:]

    /// One match for each distinct set of sources; its index is the number of the set.
    private(set) var examples: [Match] = []

    package init() {}

    /// Adds a route; patterns of earlier routes take precedence over equal patterns.
    package mutating func add(
        _ route: Route,
        for patterns: [RoutePattern],
        except: [RoutePattern]
    ) {
        let key = Sources(route)
        let number = sources[key] ?? sources.count
        sources[key] = number
        let entry = Entry(route, number: matches.count, sources: number, except: except)
        for pattern in patterns {
            let match = Match(entry, pattern)
            switch pattern {
            case .suffix(let name): claim(name, \.suffix, match)
            case .exact(let name): claim(name, \.exact, match)
            case .below(let name): claim(name, \.below, match)
            }
        }
        let whole = Match(entry, .suffix(.root))
        if number == examples.count { examples.append(whole) }
        matches.append(whole)
    }

    private mutating func claim(
        _ name: Name,
        _ pattern: WritableKeyPath<Claims, Match?>,
        _ match: Match
    ) {
        guard claims[name]?[keyPath: pattern] == nil else { return }
        claims[name, default: Claims()][keyPath: pattern] = match
    }

    /// Returns the route of `name`; nil if no pattern matches or an exception applies.
    package func route(for name: Name) -> Match? { route(for: name) { _ in } }

    /// Returns the route of `name`, and reports more specific matches that exclude the name.
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
        /// True if every name maps to the same route index in both tables.
        let claimsAreSame: Bool

        /// One example for each distinct pair of sources at the same route index.
        let pairs: [(old: Match, new: Match)]
    }

    /// Compares this table with an `older` one, on any thread, in time linear in their size.
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

    /// True if every name maps to the same route index as in another table.
    private func claimsTheSame(as other: RouteTable) -> Bool {
        matches.count == other.matches.count && claims.count == other.claims.count
            && zip(matches, other.matches).allSatisfy { $0.exceptions == $1.exceptions }
            && claims.allSatisfy { name, claims in
                other.claims[name].map { claims.areThose(of: $0) } ?? false
            }
    }
}

// MARK: - Digest

extension RouteTable {
    /// Returns a digest of the map from names to sources, which is equal in all processes.
    ///
    /// The time is linear in the size of the table.
    ///
    /// - Parameter sources: digests of the sources, by their number.
    func digest(_ sources: [UInt64]) -> UInt64 {
        let routes = matches.map { match in
            var digest = SettingsDigest()
            digest.add(sources[match.sources])
            for exception in match.exceptions { digest.add(exception) }
            return digest.value
        }
        // A sum, because a dictionary has a different order in each process.
        return claims.reduce(into: 0) { sum, entry in
            let claims = entry.value
            for match in [claims.exact, claims.suffix, claims.below] {
                guard let match else { continue }
                var digest = SettingsDigest()
                digest.add(match.pattern)
                digest.add(routes[match.number])
                sum &+= digest.value
            }
        }
    }
}
