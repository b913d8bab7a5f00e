// SPDX-License-Identifier: Apache-2.0
internal import Administration
internal import Configuration
internal import DNSCache
internal import Fleet
internal import HTTPDNS
internal import Net
internal import Resolver
internal import Upstream

struct SettledRoutes: Sendable {
    let settings: Settings
    let upstreamLists: Set<[String]>

    init(_ settings: Settings) {
        self.settings = settings
        upstreamLists = Set(settings.routes.lazy.map(\.upstreams))
    }
}

extension Components {
    @ServiceLoop
    struct Sources {
        let cache: AnswerCache
        let http: (any HTTPTransport)?
        let vendors: [(settings: VendorSettings, client: VendorClient)]
        let upstreamHTTP: UpstreamHTTP?
        let upstreams: [any Forwarding]
        let health: HealthTable
        let fleet: Fleet?
        let plan: RoutingPlan

        init(
            _ settled: SettledRoutes,
            in dependencies: Dependencies,
            succeeding old: Components?
        ) throws(StartError) {
            let settings = settled.settings
            let clocks = dependencies.clocks
            guard old != nil || AnswerCache.fits(limit: settings.cache.size) else {
                throw .cache(octets: settings.cache.size)
            }
            cache =
                old?.cache
                ?? AnswerCache(
                    limit: settings.cache.size,
                    origin: clocks.now(),
                    seed: dependencies.seed,
                    rotates: settings.answers.order == .rotate
                )
            http =
                old?.http
                ?? (settings.vendors.isEmpty ? nil : dependencies.http(Dependencies.vendorLimits))
            var vendors: [(settings: VendorSettings, client: VendorClient)] = []
            for vendor in settings.vendors {
                guard let http else { break }
                let isShared = settings.fleet?.budget == .shared
                if let known = old?.client(of: vendor),
                    (known.budgetRule?.isShared ?? isShared) == isShared
                {
                    vendors.append((vendor, known))
                } else {
                    let client = try Components.client(
                        vendor,
                        http,
                        dependencies,
                        sharesBudget: isShared
                    )
                    vendors.append((vendor, client))
                }
            }
            let made = try Components.upstreams(settings.upstreams, dependencies, succeeding: old)
            self.vendors = vendors
            upstreams = made.upstreams
            upstreamHTTP = made.http
            fleet = try Components.fleet(settings, dependencies, succeeding: old)
            let health = old?.upstreamHealth ?? HealthTable(clocks: clocks)
            self.health = health
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

/// Inputs of the routing table; usable on any thread.
struct RoutingPlan: Sendable {
    let settings: Settings
    let vendors: [String: VendorClient]
    let groups: [[String]: UpstreamGroup]
    let old: (table: RouteTable, names: RouteNames)?

    func routing() -> Routing {
        var table = RouteTable()
        var known: Set<RouteParameters> = []
        for route in settings.routes {
            var options = Route.Options()
            options.minimumTTL = route.minimumTTL?.wholeSeconds
            options.maximumTTL = route.maximumTTL?.wholeSeconds
            options.isPrefetched = route.prefetch
            options.isShared = route.isShared
            options.families = route.families
            options.fallbackAfter = route.fallbackAfter
            options.parameters = RouteParameters(
                clientSubnet: route.clientSubnet,
                sdns: route.sdns
            ).map { known.insert($0).memberAfterInsert }
            table.add(
                Route(
                    place: "\(route.place)",
                    vendors: route.vendors.compactMap { vendors[$0] },
                    upstreams: groups[route.upstreams],
                    fallsBack: route.fallback == .upstream,
                    allowsPrivateAnswers: route.privateAnswers == .allow,
                    servesStale: route.stale,
                    options: options
                ),
                for: route.domains,
                except: route.except
            )
        }
        return Routing(
            table: table,
            names: RouteNames(settings.routes),
            comparison: old.map { table.comparison(with: $0.table) }
        )
    }
}

struct Routing: Sendable {
    let table: RouteTable
    let names: RouteNames
    let comparison: RouteTable.Comparison?
}
