// SPDX-License-Identifier: Apache-2.0
internal import Control

/// The routes of the settings as an operator knows them: by their first domain.
struct RouteNames {
    /// The places in the order of the settings, and their first domains.
    private let places: [String]
    private let domains: [String: String]

    /// Reads them from the settings.
    init(_ routes: [RouteSettings]) {
        places = routes.map { "\($0.place)" }
        domains = Dictionary(
            routes.map { ("\($0.place)", $0.domains.first.map { "\($0)" } ?? "") },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// The first domain of the route at a place; empty if there is none.
    func domain(_ place: String) -> String { domains[place] ?? "" }

    /// How the places of these routes are called after `new` ones have taken their place.
    ///
    /// A route is the same if its first domain is.  Those that stay where they were are left out.
    func changes(to new: RouteNames) -> [String: String] {
        let places = Dictionary(
            new.domains.map { ($1, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        var changes: [String: String] = [:]
        for (place, domain) in domains {
            let name = places[domain] ?? "\(place), removed"
            if name != place { changes[place] = name }
        }
        return changes
    }

    /// Costs by place in the order of the settings; places that are not there come last.
    func costs(_ names: [String: UInt64]) -> [RouteCost] {
        let others = Set(names.keys).subtracting(places).sorted()
        return (places + others).compactMap { place in
            names[place].map { RouteCost(route: place, domain: domain(place), names: $0) }
        }
    }
}
