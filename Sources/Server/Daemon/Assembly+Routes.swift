// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import HTTPDNS
internal import Net
internal import Resolver
internal import Upstream

/// Settings that were read, and the facts of their routes that a thread has found.
struct SettledRoutes: Sendable {
    let settings: Settings

    /// The distinct lists of upstreams that routes name; many routes share one list.
    let upstreamLists: Set<[String]>

    /// Goes through the routes, on any thread.
    init(_ settings: Settings) {
        self.settings = settings
        upstreamLists = Set(settings.routes.lazy.map(\.upstreams))
    }
}

extension Assembly {
    /// The parts of an assembly that answers come from.
    @ServiceLoop
    struct Sources {
        let cache: AnswerCache
        let http: (any HTTPTransport)?
        let vendors: [(settings: VendorSettings, client: VendorClient)]
        let upstreamHTTP: UpstreamHTTP?
        let upstreams: [any Forwarding]
        let health: HealthBook

        /// Whatever routes are made of.
        let plan: RoutingPlan

        /// Makes the sources that `settled` names, or takes those of `old` that have not changed.
        init(
            _ settled: SettledRoutes,
            in surroundings: Surroundings,
            succeeding old: Assembly?
        ) throws(StartError) {
            let settings = settled.settings
            let clocks = surroundings.clocks
            cache =
                old?.cache
                ?? AnswerCache(
                    limit: settings.cache.size,
                    origin: clocks.now(),
                    seed: surroundings.seed,
                    rotates: settings.answers.order == .rotate
                )
            http = old?.http ?? (settings.vendors.isEmpty ? nil : surroundings.transport())
            var vendors: [(settings: VendorSettings, client: VendorClient)] = []
            for vendor in settings.vendors {
                guard let http else { break }
                if let known = old?.client(of: vendor) {
                    vendors.append((vendor, known))
                } else {
                    vendors.append((vendor, try Assembly.client(vendor, http, clocks)))
                }
            }
            let made = try Assembly.upstreams(settings.upstreams, surroundings, succeeding: old)
            self.vendors = vendors
            upstreams = made.upstreams
            upstreamHTTP = made.http
            let health = old?.upstreamHealth ?? HealthBook(clocks: clocks)
            self.health = health
            // One group for all routes that name the same upstreams.
            var groups: [[String]: UpstreamGroup] = [:]
            for list in settled.upstreamLists {
                let named = list.compactMap { name in made.upstreams.first { $0.name == name } }
                if !named.isEmpty { groups[list] = UpstreamGroup(named, health: health) }
            }
            plan = RoutingPlan(
                settings: settings,
                vendors: Dictionary(vendors.map { ($0.settings.name, $0.client) }) { first, _ in
                    first
                },
                groups: groups,
                old: old.map { ($0.resolver.routes, $0.routeNames) }
            )
        }
    }
}

/// The facts that routes are made of, for any thread.
struct RoutingPlan: Sendable {
    let settings: Settings
    let vendors: [String: VendorClient]
    let groups: [[String]: UpstreamGroup]

    /// The routes of the assembly whose place is taken.
    let old: (table: RouteTable, names: RouteNames)?

    /// Makes the routes, and compares them with the old ones; the work is linear in their number.
    func routing() -> Routing {
        var table = RouteTable()
        for route in settings.routes {
            table.add(
                Route(
                    place: "\(route.place)",
                    vendors: route.vendors.compactMap { vendors[$0] },
                    upstreams: groups[route.upstreams],
                    fallsBack: route.fallback == .upstream,
                    allowsPrivateAnswers: route.privateAnswers == .allow,
                    servesStale: route.stale
                ),
                for: route.domains.map(RoutePattern.init),
                except: route.except.map(RoutePattern.init)
            )
        }
        return Routing(
            table: table,
            names: RouteNames(settings.routes),
            comparison: old.map { table.comparison(with: $0.table) }
        )
    }
}

/// The routes of an assembly.
struct Routing: Sendable {
    let table: RouteTable
    let names: RouteNames

    /// The comparison with the routes whose place they take; nil for the first.
    let comparison: RouteTable.Comparison?
}

extension RoutePattern {
    init(_ pattern: DomainPattern) {
        self =
            switch pattern.form {
            case .suffix: .suffix(pattern.domain)
            case .exact: .exact(pattern.domain)
            case .below: .below(pattern.domain)
            }
    }
}
