// SPDX-License-Identifier: Apache-2.0
package import Configuration
internal import Control
internal import HTTPDNS

/// Names of routes: the place in the settings (`file:line`) and the first domain.
///
/// Created once per reload, because the settings may have 100,000 routes.
package struct RouteNames: Sendable {
    private let routes: [RouteSettings]

    /// Indices of routes by the hash of the place; `index(_:)` also compares the place itself.
    private let indices: [Int: UInt32]

    package init(_ routes: [RouteSettings]) {
        self.routes = routes
        indices = Dictionary(
            routes.enumerated().lazy.map { ("\($1.place)".hashValue, UInt32($0)) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    private func index(_ place: String) -> Int? {
        indices[place.hashValue].map(Int.init).flatMap { index in
            "\(routes[index].place)" == place ? index : nil
        }
    }

    package func domain(_ place: String) -> String {
        index(place).flatMap { routes[$0].domains.first }.map { "\($0)" } ?? ""
    }

    /// Returns the places that changed, with the old place as the key.
    ///
    /// The value is the new place of a moved route, or a remark for a removed route. Two routes
    /// with the same first domain count as the same route.
    package func changes(to new: RouteNames) -> [String: String] {
        let places = Dictionary(
            new.routes.enumerated().lazy.map { ($1.domains.first, UInt32($0)) },
            uniquingKeysWith: { first, _ in first }
        )
        var changes: [String: String] = [:]
        for route in routes {
            let other = places[route.domains.first].map { new.routes[Int($0)].place }
            guard other?.line != route.place.line || other?.file != route.place.file else {
                continue
            }
            changes["\(route.place)"] = other.map { "\($0)" } ?? "\(route.place), removed"
        }
        return changes
    }

    /// Returns costs in the order of the settings; unknown routes come last.
    func costs(_ names: [String: UInt64], _ units: [String: UnitRange] = [:]) -> [RouteCost] {
        let known = names.keys.map { (place: $0, index: index($0) ?? .max) }
        let order = known.sorted { ($0.index, $0.place) < ($1.index, $1.place) }
        return order.map { place, _ in
            RouteCost(
                route: place,
                domain: domain(place),
                names: names[place] ?? 0,
                units: units[place]?.atMost
            )
        }
    }
}
