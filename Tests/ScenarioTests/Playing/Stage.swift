// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import Resolver
import TestWorld
import Upstream

@testable import Server

/// The daemon that a scenario's settings describe, but for its sockets and its clock.
///
/// The parts are put together as `Assembly` does it; clients are answered as a worker and the
/// service loop would do it, in the world's time.
@ServiceLoop
final class Stage {
    let world = World()
    let network: Network
    let cache: AnswerCache
    let health: HealthBook
    let resolver: Resolver
    let vendors: [VendorClient]
    let upstreams: [any Forwarding]

    /// The service loop's desk.
    ///
    /// Its cache stays empty: a desk looks into its cache at an instant of the system's clock, so
    /// that here the worker's look has to do for both.
    private let desk: QueryDesk

    /// Octets that a scenario's cache has at most.
    private static let cacheOctets = 1 << 20

    init(_ scenario: Scenario) throws {
        let settings = try Settings(
            parsing: scenario.settings,
            fileName: scenario.file,
            environment: SettingsEnvironment(credentialsDirectory: Files.credentials)
        )
        let place = Place(file: scenario.file, line: 1)
        let accounts = try settings.vendors.map { vendor in
            guard let account = Account(vendor.account) else {
                throw ScenarioError(place: place, message: "nobody can play \(vendor.name)")
            }
            guard vendor.account.any.source(servers: vendor.servers) == nil else {
                throw ScenarioError(
                    place: place,
                    message: "\(vendor.name) has no scheduling service here: name its servers"
                )
            }
            return (settings: vendor, account: account)
        }
        let world = world
        let network = Network(
            scenario,
            world,
            vendors: accounts,
            upstreams: settings.upstreams
        )
        self.network = network
        let clients = try settings.vendors.map { vendor in
            VendorClient(
                name: vendor.name,
                vendor: try vendor.account.any.vendor(),
                servers: vendor.servers,
                settings: VendorClient.Settings(vendor),
                transport: Line(network: network),
                clocks: world.clocks
            )
        }
        vendors = clients
        let upstreams = settings.upstreams.map { Self.upstream($0, network) }
        self.upstreams = upstreams
        let health = HealthBook(clocks: world.clocks)
        self.health = health

        let standard = zip(settings.upstreams, upstreams).filter { !$0.0.only }.map { $0.1 }
        var routes = RouteTable()
        for route in settings.routes {
            let named = route.upstreams.compactMap { name in upstreams.first { $0.name == name } }
            routes.add(
                Route(
                    place: "\(route.place)",
                    vendors: route.vendors.compactMap { name in
                        clients.first { $0.name == name }
                    },
                    upstreams: named.isEmpty ? nil : UpstreamGroup(named, health: health),
                    fallsBack: route.fallback == .upstream,
                    allowsPrivateAnswers: route.privateAnswers == .allow,
                    servesStale: route.stale
                ),
                for: route.domains.map(RoutePattern.init),
                except: route.except.map(RoutePattern.init)
            )
        }
        cache = AnswerCache(
            limit: min(settings.cache.size, Self.cacheOctets),
            origin: world.now,
            seed: 1,
            rotates: settings.answers.order == .rotate
        )
        resolver = Resolver(
            routes: routes,
            standard: standard.isEmpty ? nil : UpstreamGroup(standard, health: health),
            policy: TTLPolicy(settings.cache),
            answers: AnswerPolicy(settings.answers, settings.rebinding),
            freshness: Freshness(settings.cache),
            cache: cache,
            clocks: world.clocks
        )
        // The machine's own file would make each machine another.
        var hosts = settings.hosts
        hosts.files = []
        resolver.hosts = HostsReading(hosts).table
        desk = QueryDesk(
            cache: AnswerCache(limit: 0, origin: world.now, seed: 1),
            resolver: resolver,
            queryLog: nil
        )
    }

    /// An upstream of the settings, each of its addresses a server.
    private static func upstream(
        _ settings: UpstreamSettings,
        _ network: Network
    ) -> any Forwarding {
        let servers = settings.servers.map { server -> any Forwarding in
            guard settings.url.scheme == .https else {
                return WireUpstream(settings, server: server, network)
            }
            return HTTPSUpstream(
                name: settings.name,
                url: "\(settings.url)",
                requestURL: "\(settings.url)",
                server: server,
                certificateFile: nil,
                timeout: settings.timeout,
                transport: Line(network: network),
                clocks: network.world.clocks
            )
        }
        return servers.count == 1
            ? servers[0]
            : Upstream(url: "\(settings.url)", servers: servers, latency: LatencyHistogram())
    }
}

// MARK: - Clients

extension Stage {
    /// The reply to a client's message; nil if there is none.
    func answer(_ octets: [UInt8], over transport: QueryTransport) async -> [UInt8]? {
        if let reply = cachedReply(octets, over: transport) { return reply }
        let look = desk.look(at: octets, from: Self.client(over: transport), arrival: world.now)
        switch look {
        case .reply(let reply): return reply
        case .nothing: return nil
        case .question(let open): return await desk.resolve(open)
        }
    }

    /// A client on this machine.
    private static func client(over transport: QueryTransport) -> Asker {
        Asker(transport: transport, address: .v4(IPv4Address(value: 0x7F00_0001)), isAllowed: true)
    }

    /// What a worker replies without asking anybody.
    private func cachedReply(_ octets: [UInt8], over transport: QueryTransport) -> [UInt8]? {
        var buffer = octets + [UInt8](repeating: 0, count: 65_535 - octets.count)
        var refresh: Bool?
        let length = cache.withTable(now: world.now) { table, now in
            buffer.withMutableRawSpan { bytes -> Int? in
                let client = Self.client(over: transport)
                let look = FirstLook(at: &bytes, count: octets.count, from: client)
                guard case .query(let facts, _) = look else { return nil }
                let limit = transport == .udp ? facts.replyLimit : 65_535
                let hit = table.answer(facts, in: &bytes, limit: limit, now: now)
                if let hit, hit.wantsRefresh { refresh = facts.dnssecOK }
                return hit?.length
            }
        }
        if let refresh, let query = Query(answeredIn: buffer, dnssecOK: refresh) {
            resolver.refreshing.refresh(query)
        }
        return length.map { Array(buffer[..<$0]) }
    }
}

// MARK: - Events

extension Stage {
    /// What `Daemon` does before the first client is answered.
    func begin() { resolver.refreshing.start() }

    /// What it does before it stops.
    func end() { resolver.refreshing.stop() }

    /// What `NetworkReaction` does.
    func networkChanged() {
        world.dropConnections()
        health.networkChanged()
        for upstream in upstreams { upstream.networkChanged() }
        for vendor in vendors { vendor.networkChanged() }
        _ = resolver.networkChanged()
    }

    /// What `Operator` does.
    func flush(_ flushing: Scenario.Flushing) {
        resolver.vendors.forget()
        let selection: AnswerCache.Selection =
            switch flushing {
            case .all: .all
            case .negative: .negative
            case .name(let name, let type): .name(name, type)
            case .tree(let name): .tree(name)
            }
        cache.remove(selection, now: world.now)
    }
}

// MARK: - From settings

extension Account {
    /// Who plays a vendor; nil if nobody can.
    fileprivate init?(_ settings: VendorSettings.Account) {
        switch settings {
        case .tencent(let tencent) where tencent.channel == .https: self = .tencent
        case .tencent(let tencent) where tencent.channel == .aes: self = .sealed
        case .alibaba(let alibaba) where alibaba.api == .v2 && alibaba.encryption == .none:
            self = .alibaba
        case .json: self = .json
        default: return nil
        }
    }
}

extension TTLPolicy {
    fileprivate init(_ settings: CacheSettings) {
        self.init()
        positive = settings.minimumTTL.seconds...settings.maximumTTL.seconds
        negative = settings.negativeTTL.minimum.seconds...settings.negativeTTL.maximum.seconds
    }
}

extension Freshness {
    fileprivate init(_ settings: CacheSettings) {
        self.init()
        stale = settings.stale.map { settings in
            var stale = Stale()
            stale.window = settings.window.seconds
            stale.after = settings.after
            stale.ttl = settings.ttl.seconds
            return stale
        }
        prefetch = settings.prefetch.map { settings in
            var prefetch = Prefetch()
            prefetch.at = UInt32(settings.at)
            prefetch.budgetPerMinute = settings.budgetPerMinute
            prefetch.names = settings.names
            return prefetch
        }
    }
}

extension Duration {
    fileprivate var seconds: UInt32 { UInt32(clamping: components.seconds) }
}
