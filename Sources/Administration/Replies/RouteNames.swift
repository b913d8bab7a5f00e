// SPDX-License-Identifier: Apache-2.0
package import Configuration
internal import Control
internal import HTTPDNS

/// Names of routes: each has the place in the settings (`file:line`) and the first domain.
///
/// The names are made once per reload, because there may be 100,000 routes.
package struct RouteNames: Sendable {
    private struct Known: Sendable {
        let index: Int

        let domain: String
    }

    private let known: [String: Known]

    package init(_ routes: [RouteSettings]) {
        known = Dictionary(
            routes.enumerated().map { index, route in
                let domain = route.domains.first.map { "\($0)" } ?? ""
                return ("\(route.place)", Known(index: index, domain: domain))
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    package func domain(_ place: String) -> String { known[place]?.domain ?? "" }

    /// Maps each changed place to the place among `new` routes with the same first domain.
    package func changes(to new: RouteNames) -> [String: String] {
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

    /// Returns the costs of routes in the order of the settings; unknown routes come last.
    func costs(_ names: [String: UInt64], _ units: [String: UnitRange] = [:]) -> [RouteCost] {
        let order = names.keys.sorted { first, second in
            let indices = (known[first]?.index ?? .max, known[second]?.index ?? .max)
            return indices.0 == indices.1 ? first < second : indices.0 < indices.1
        }
        return order.map {
            RouteCost(
                route: $0,
                domain: domain($0),
                names: names[$0] ?? 0,
                units: units[$0]?.atMost
            )
        }
    }
}
