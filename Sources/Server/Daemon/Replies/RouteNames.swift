// SPDX-License-Identifier: Apache-2.0
internal import Control

/// The routes of the settings as an operator knows them: by their first domain.
///
/// There may be 100,000, so they are read once for each settings, on any thread.
struct RouteNames: Sendable {
    /// A route by its place.
    private struct Known: Sendable {
        /// Which of the routes it is, counted from 0.
        let index: Int

        /// Its first domain.
        let domain: String
    }

    private let known: [String: Known]

    /// Reads them from the settings.
    init(_ routes: [RouteSettings]) {
        known = Dictionary(
            routes.enumerated().map { index, route in
                let domain = route.domains.first.map { "\($0)" } ?? ""
                return ("\(route.place)", Known(index: index, domain: domain))
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// The first domain of the route at a place; empty if there is none.
    func domain(_ place: String) -> String { known[place]?.domain ?? "" }

    /// How the places of these routes are called after `new` ones have taken their place.
    ///
    /// A route is the same if its first domain is.  Those that stay where they were are left out.
    func changes(to new: RouteNames) -> [String: String] {
        let places = Dictionary(
            new.known.map { ($1.domain, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        var changes: [String: String] = [:]
        for (place, route) in known {
            let name = places[route.domain] ?? "\(place), removed"
            if name != place { changes[place] = name }
        }
        return changes
    }

    /// Costs by place in the order of the settings; places that are not there come last.
    func costs(_ names: [String: UInt64]) -> [RouteCost] {
        let order = names.keys.sorted { first, second in
            let indices = (known[first]?.index ?? .max, known[second]?.index ?? .max)
            return indices.0 == indices.1 ? first < second : indices.0 < indices.1
        }
        return order.map {
            RouteCost(route: $0, domain: domain($0), names: names[$0] ?? 0)
        }
    }
}
