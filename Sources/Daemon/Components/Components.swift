// SPDX-License-Identifier: Apache-2.0
package import Acceleration
package import Administration
internal import Configuration
internal import DNSCache
internal import DNSWire
internal import Fleet
internal import HTTPDNS
internal import Logging
package import Net
internal import Resolver
internal import Upstream

/// Components that the settings require, connected but not started.
@ServiceLoop
struct Components {
    let settings: Settings
    let clocks: Clocks
    let cache: AnswerCache
    let http: (any HTTPTransport)?
    let vendors: [(settings: VendorSettings, client: VendorClient)]
    let upstreamHTTP: UpstreamHTTP?
    let upstreams: [any Forwarding]
    let upstreamHealth: HealthTable
    let resolver: Resolver
    let nat64: NAT64

    let network: LearnedNetwork

    let routeNames: RouteNames

    let fleet: Fleet?

    /// Creates the components; reuses the unchanged components of `old`.
    ///
    /// - Throws: `StartError` for faults outside the settings text, such as a missing cipher.
    init(
        _ settings: Settings,
        in dependencies: Dependencies = .system,
        succeeding old: Components? = nil
    ) throws(StartError) {
        if settings.needsOpenSSL, let reason = OpenSSLLibrary.load() { throw .openSSL(reason) }
        let sources = try Sources(SettledRoutes(settings), in: dependencies, succeeding: old)
        self.init(sources, sources.plan.routing(), in: dependencies, succeeding: old)
    }

    /// Creates the components; a thread creates the routes, because 100,000 routes take about 1 s.
    static func make(
        _ settings: SettledRoutes,
        in dependencies: Dependencies,
        succeeding old: Components
    ) async throws(StartError) -> Components {
        if settings.settings.needsOpenSSL {
            let reason = try await onThread("tls-load") { OpenSSLLibrary.load() }
            if let reason { throw .openSSL(reason) }
        }
        let sources = try Sources(settings, in: dependencies, succeeding: old)
        if sources.http != nil || sources.upstreamHTTP != nil { try await loadLibrary() }
        let routing = try await onThread("routes") { [plan = sources.plan] in plan.routing() }
        return Components(sources, routing, in: dependencies, succeeding: old)
    }

    /// Loads libcurl before a reload is accepted.
    ///
    /// If libcurl cannot be loaded, the reload fails, because the first request would end the
    /// process.
    private static func loadLibrary() async throws(StartError) {
        if let reason = try await onThread("http-load", { HTTPClient.load() }) {
            throw .library(reason)
        }
    }

    private init(
        _ sources: Sources,
        _ routing: Routing,
        in dependencies: Dependencies,
        succeeding old: Components?
    ) {
        settings = sources.plan.settings
        clocks = dependencies.clocks
        cache = sources.cache
        http = sources.http
        vendors = sources.vendors
        fleet = sources.fleet
        upstreamHTTP = sources.upstreamHTTP
        upstreams = sources.upstreams
        upstreamHealth = sources.health
        routeNames = routing.names
        nat64 =
            old?.nat64
            ?? NAT64(
                NAT64.Mode(settings.nat64),
                clocks: clocks,
                probe: StackProbe(
                    routes: dependencies.stack,
                    clocks: clocks,
                    connect: dependencies.connect
                ),
                detected: dependencies.detected
            )
        network = old?.network ?? LearnedNetwork(clocks: clocks)
        var freshness = Freshness(settings.cache)
        if let fleet { freshness.prefetch?.at -= fleet.refreshSpread }
        let standard = zip(settings.upstreams, upstreams).filter { !$0.0.only }.map { $0.1 }
        resolver = Resolver(
            routes: routing.table,
            standard: standard.isEmpty ? nil : UpstreamGroup(standard, health: upstreamHealth),
            policy: TTLPolicy(settings.cache),
            answers: AnswerPolicy(settings),
            nat64: nat64,
            network: network,
            probe: dependencies.probe,
            freshness: freshness,
            cache: cache,
            clocks: clocks,
            succeeding: old?.resolver,
            comparison: routing.comparison
        )
    }

    /// Removes unused upstreams from the health table.
    ///
    /// References in the table keep upstreams alive. Each HTTPS upstream that is alive reduces the
    /// query limit (`TransferShares`) of the other upstreams.
    func forgetOtherUpstreams() {
        upstreamHealth.keep(only: upstreams + upstreams.flatMap(\.servers) + network.allServers)
    }

    /// Returns the names of the vendors that give the same answers in `old`.
    func sameVendors(as old: Components) -> Set<String> {
        let kept = settings.vendors.filter { vendor in
            old.settings.vendors.contains { vendor.givesSameAnswers(as: $0) }
        }
        return Set(kept.map(\.name))
    }

    func comeIntoForce(_ dependencies: Dependencies, _ logger: Logger) {
        startLearning(dependencies, logger)
        nat64.servers = { [network, upstreams] in
            // The resolvers of the network come first, because the NAT64 prefix belongs to the
            // network.
            network.servers + upstreams.filter { !($0 is LearnedUpstream) }.flatMap(\.servers)
        }
        nat64.targets = { [settings] in
            let servers =
                settings.vendors.flatMap(\.servers) + settings.upstreams.flatMap(\.servers)
            return servers.filter { $0.port != 0 && $0.ip.reach == .global }
        }
        cache.setRotation(settings.answers.order == .rotate)
        forgetOtherUpstreams()
        let believed = upstreams.flatMap(\.servers).filter(\.validates)
        resolver.origins.believe(only: Set(believed.map { UpstreamStage.origin(of: $0) }))
        let unprotected = vendors.filter { !$0.client.facts.isProtected }
        resolver.origins.setUnprotected(vendors: Set(unprotected.map(\.client.name)))
    }
}

package enum StartError: Error, CustomStringConvertible {
    case listen(SocketAddress, SocketError)

    /// The second address already has listeners, and overlaps the first address.
    case listenBeside(SocketAddress, SocketAddress)
    /// The address overlaps the addresses in the array, at which systemd listens.
    case passedElsewhere(SocketAddress, [SocketAddress])

    case passed(SocketError)

    case metrics(MetricsListenError)

    case hosts(String)

    case cache(octets: Int)

    case acceleration(AccelerationError)

    case accelerationAtStart(AccelerationError)
    case vendor(String, String)
    case upstream(String, String)
    case fleet(String)

    case library(String)

    case openSSL(String)

    case stopping

    case workers(SocketError)

    case system(SocketError)

    var isInterfaceMissing: Bool {
        if case .listen(_, let error) = self { error.isInterfaceMissing } else { false }
    }

    /// Exit code: 78 (`EX_CONFIG`) if a restart cannot help; otherwise 1.
    package var exitCode: Int32 {
        switch self {
        case .listen(_, let error): error.isForbidden ? 78 : 1
        case .listenBeside, .passedElsewhere, .passed, .metrics, .hosts, .acceleration,
            .accelerationAtStart, .vendor, .upstream, .fleet:
            78
        case .stopping, .workers, .system, .cache, .library, .openSSL: 1
        }
    }

    package var description: String {
        switch self {
        case .listen(let address, let error) where error.isAddressInUse:
            "cannot listen on \(address): address already in use; "
                + (address.port == 53
                    ? "`sudo httpdnsctl doctor` shows the program and how to free the port"
                    : "`sudo ss -tulpn 'sport = :\(address.port)'` shows the program")
        case .listen(let address, let error)
        where error.isForbidden && Settings.defaultListen.contains(address):
            "cannot listen on \(address): no permission for ports below 1024, and no socket from "
                + "systemd; if the daemon runs as httpdnsd.service, "
                + "`\(ServiceUnits.statusCommand(for: address))` shows the cause; otherwise grant "
                + "CAP_NET_BIND_SERVICE, or use another port"
        case .listen(let address, let error) where error.isForbidden:
            "cannot listen on \(address): no permission for ports below 1024; "
                + ServiceUnits.advice(for: address)
                + "; or grant CAP_NET_BIND_SERVICE, or use another port"
        case .listen(let address, let error) where error.isAddressMissing:
            "cannot listen on \(address): this machine does not have that address (\(error)); "
                + "set `listen` to addresses of this machine (`ip addr` lists them), or add the "
                + "address to an interface"
        case .listen(let address, let error): "cannot listen on \(address): \(error)"
        case .listenBeside(let address, let own):
            "cannot listen on \(address), because this daemon listens on \(own); to replace \(own) "
                + "by \(address), make sure that no other program uses the port (`sudo ss -tulpn 'sport "
                + "= :\(address.port)'`), then restart the daemon"
        case .passedElsewhere(let address, let passed):
            "cannot listen on \(address): systemd listens on "
                + passed.map { "\($0)" }.joined(separator: ", ")
                + " for this service; to listen on \(address) instead, "
                + ServiceUnits.advice(for: address, replaces: true)
        case .passed(let error): "\(error); check the unit httpdnsd.socket"
        case .metrics(let error): "\(error)"
        case .hosts(let fault):
            "cannot change `hosts`: \(fault); correct the file, for example its permissions, or "
                + "remove it from `hosts.files`"
        case .cache(let octets):
            "cannot create the cache: the system refuses \(octets) octets of address space; "
                + "reduce `cache.size`, or raise the limit (LimitAS= of the unit, vm.overcommit_memory)"
        case .library(let why):
            "cannot load libcurl, which vendors and upstreams over HTTPS need: \(why); install the "
                + "package libcurl4 (other distributions: libcurl), then reload"
        case .openSSL(let why):
            "cannot load OpenSSL, which vendors, encrypted upstreams and `fleet` need: \(why); install "
                + "the package libssl3 (other distributions: openssl), then reload"
        case .acceleration(let error):
            "cannot enable acceleration (`accelerate.loopback: required`): \(error)"
        case .accelerationAtStart(let error):
            "with `accelerate.loopback: required`, the next start would fail, and this machine would "
                + "have no DNS: at the last start, acceleration failed (\(error)); correct this, and "
                + "restart with `auto` before you set `required`"
        case .vendor(let name, let why): "vendor \(name): \(why)"
        case .upstream(let name, let why): "upstream \(name): \(why)"
        case .fleet(let why): "fleet: \(why)"
        case .stopping: "the daemon is stopping"
        case .workers(let error):
            "cannot start the workers: \(error); reduce `workers`, or the number of addresses in "
                + "`listen`, or raise the limit of threads (TasksMax= of the unit)"
        case .system(let error): "\(error)"
        }
    }
}

/// Runs `work` on a new thread; throws `system` if no thread can be created.
@ServiceLoop
func onThread<Value: Sendable>(
    _ name: String,
    _ work: @escaping @Sendable () -> Value
) async throws(StartError) -> Value {
    do throws(SocketError) {
        return try await WorkerThread.run(named: name, work)
    } catch {
        throw .system(error)
    }
}

// MARK: - From settings

extension TTLPolicy {
    init(_ settings: CacheSettings) {
        self.init()
        positive = Self.seconds(settings.minimumTTL)...Self.seconds(settings.maximumTTL)
        negative =
            Self.seconds(settings.negativeTTL.minimum)...Self.seconds(settings.negativeTTL.maximum)
    }

    private static func seconds(_ duration: Duration) -> UInt32 { duration.wholeSeconds }
}

extension Freshness {
    fileprivate init(_ settings: CacheSettings) {
        self.init()
        stale = settings.stale.map { settings in
            var stale = Stale()
            stale.window = settings.window.wholeSeconds
            stale.after = settings.after
            stale.ttl = settings.ttl.wholeSeconds
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
    var wholeSeconds: UInt32 { UInt32(clamping: components.seconds) }
}
