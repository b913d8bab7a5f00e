// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import HTTPDNS
package import Upstream

/// Answer sources and options for a set of names.
package struct Route: Sendable {
    /// Position in the settings (`file:line`), or a description.
    package var place: String

    /// Vendors for A and AAAA queries, in the order of calls.
    package var vendors: [VendorClient]

    /// Upstreams for all queries that the vendors do not answer; nil for the default group.
    package var upstreams: UpstreamGroup?

    package var fallsBack: Bool

    package var allowsPrivateAnswers: Bool

    package var servesStale: Bool

    package var options: Options

    /// Options of a route, which override the general options and the vendors' options.
    package struct Options: Sendable {
        /// Lower bound of positive TTLs in seconds; nil for the general bound.
        package var minimumTTL: UInt32?

        package var maximumTTL: UInt32?

        package var isPrefetched = true

        package var isShared = true

        package var parameters: RouteParameters?

        /// Time after which the next source also gets the query (`fallback-after`); if nil, the
        /// next source gets the query only after a failure.
        package var fallbackAfter: Duration?

        package var isCached = true

        package var families: FamilyChoice?

        package init() {}
    }

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

extension DomainPattern {
    func covers(_ name: Name) -> Bool {
        switch self {
        case .suffix(let domain): name.isEqualOrBelow(domain)
        case .exact(let only): name == only
        case .below(let domain): name != domain && name.isEqualOrBelow(domain)
        }
    }
}

/// Map from names to routes; the most specific pattern wins.
package struct RouteTable: Sendable {
    /// Route, and the pattern of this route that matches a name.
    ///
    /// A class, because copies of a struct would slow down each cache miss.
    package final class Match: Sendable {
        fileprivate let entry: Entry

        package let pattern: DomainPattern

        package var route: Route { entry.route }

        var number: Int { entry.number }

        /// Index of the route's ``Sources`` in `examples`; -1 for a route of the network.
        var sources: Int { entry.sources }

        fileprivate var exceptions: [DomainPattern] { entry.exceptions }

        fileprivate init(_ entry: Entry, _ pattern: DomainPattern) {
            self.entry = entry
            self.pattern = pattern
        }

        init(_ route: Route, for domain: Name) {
            entry = Entry(route, number: -1, sources: -1, except: [])
            pattern = .suffix(domain)
        }

        /// Domain of the pattern, and zone in the SOA of synthetic denials.
        package var domain: Name { pattern.domain }

        var hasVendors: Bool { !route.vendors.isEmpty }

        /// True if vendors resolve `query`: an A or AAAA query for a hostname.
        func asksVendors(_ query: Query) -> Bool {
            hasVendors && query.asksForAddress && query.question.name.isHostname
        }

        /// True if the route overrides ``SpecialNames``; false only if the pattern is for `.` (all
        /// names).
        var claimsSpecialNames: Bool { !domain.isRoot }
    }

    /// Route with its exceptions; all patterns of the route (up to 100,000) share this object.
    fileprivate final class Entry: Sendable {
        let route: Route
        let number: Int
        let sources: Int
        let exceptions: [DomainPattern]

        init(_ route: Route, number: Int, sources: Int, except exceptions: [DomainPattern]) {
            self.route = route
            self.number = number
            self.sources = sources
            self.exceptions = exceptions
        }
    }

    private struct Claims: Sendable {
        var exact: Match?
        var suffix: Match?
        var below: Match?

        func areThose(of other: Claims) -> Bool {
            exact?.number == other.exact?.number && suffix?.number == other.suffix?.number
                && below?.number == other.below?.number
        }
    }

    /// Parts of a route that determine its answers.
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

    /// One match for each route, in the order of the settings; the pattern of each match is the
    /// root.
    private(set) var matches: [Match] = []
    private var claims: [Name: Claims] = [:]

    private var sources: [Sources: Int] = [:]

    /// One match for each distinct set of sources; the index is ``Match/sources``.
    private(set) var examples: [Match] = []

    package init() {}

    /// Adds a route.
    ///
    /// If an earlier route has the same pattern, the pattern stays with the earlier route.
    package mutating func add(
        _ route: Route,
        for patterns: [DomainPattern],
        except: [DomainPattern]
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

    /// Returns the most specific route of `name` that does not exclude `name` with `except`.
    package func route(for name: Name) -> Match? { route(for: name) { _ in } }

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
    package struct Comparison: Sendable {
        /// True if both tables map each name to the same route index.
        let claimsAreSame: Bool

        /// Pairs of routes: the old and the new route have the same index in `matches` of their
        /// tables.
        ///
        /// If two pairs have equal old sources and equal new sources, only one pair is included.
        let pairs: [(old: Match, new: Match)]
    }

    /// Compares this table with an `older` table in linear time; thread-safe.
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
    /// Returns a digest of the map from names to sources; for equal maps, every process computes
    /// the same digest.
    ///
    /// - Parameter sources: digests of the sets of sources; the index is ``Match/sources``.
    func digest(_ sources: [UInt64]) -> UInt64 {
        let routes = matches.map { match in
            var digest = SettingsDigest()
            digest.add(sources[match.sources])
            for exception in match.exceptions { digest.add(exception) }
            return digest.value
        }
        // A sum does not depend on the order of the dictionary, which differs between processes.
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
