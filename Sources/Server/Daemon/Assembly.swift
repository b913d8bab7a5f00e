// SPDX-License-Identifier: Apache-2.0
package import Acceleration
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
package import Net
internal import Resolver
internal import Upstream

/// The parts that the settings describe, made and put together: nothing here runs yet.
///
/// This page and `Resolver.init` are where to look for who knows whom.  A reload makes another one,
/// which shares with the one before what has not changed, and puts it in its place.
@ServiceLoop
struct Assembly {
    /// What the parts were made of.
    let settings: Settings

    /// The clocks of all parts.
    let clocks: Clocks
    let cache: AnswerCache

    /// What vendors are spoken to with, over connections that they share; nil if there are none.
    let http: (any HTTPTransport)?
    let vendors: [(settings: VendorSettings, client: VendorClient)]

    /// What upstreams over HTTPS share; nil if there are none.
    let upstreamHTTP: UpstreamHTTP?
    let upstreams: [any Forwarding]

    /// What is known of the upstreams' servers, and who is told of it.
    let upstreamHealth: HealthBook
    let resolver: Resolver

    /// The routes as an operator knows them.
    let routeNames: RouteNames

    /// Makes everything that `settings`, which were checked, ask for.
    ///
    /// - Parameters:
    ///   - surroundings: the network and the clock that all of it gets to know.
    ///   - old: the assembly whose place this one may take, of which it keeps what is the same;
    ///     nothing there changes before `Daemon` puts the one in the place of the other.
    /// - Throws: `StartError` for what only shows when it is made, such as a cipher that the
    ///   installed OpenSSL does not have.
    init(
        _ settings: Settings,
        in surroundings: Surroundings = .system,
        succeeding old: Assembly? = nil
    ) throws(StartError) {
        let sources = try Sources(SettledRoutes(settings), in: surroundings, succeeding: old)
        self.init(sources, sources.plan.routing(), in: surroundings, succeeding: old)
    }

    /// The same beside everything else on the loop, which routes by the hundred thousand would hold up
    /// for a second.
    static func make(
        _ settings: SettledRoutes,
        in surroundings: Surroundings,
        succeeding old: Assembly
    ) async throws(StartError) -> Assembly {
        let sources = try Sources(settings, in: surroundings, succeeding: old)
        let routing: Routing
        do throws(SocketError) {
            routing = try await WorkerThread.run(named: "routes") { [plan = sources.plan] in
                plan.routing()
            }
        } catch {
            throw .system(error)
        }
        return Assembly(sources, routing, in: surroundings, succeeding: old)
    }

    /// Puts sources and routes together.
    private init(
        _ sources: Sources,
        _ routing: Routing,
        in surroundings: Surroundings,
        succeeding old: Assembly?
    ) {
        settings = sources.plan.settings
        clocks = surroundings.clocks
        cache = sources.cache
        http = sources.http
        vendors = sources.vendors
        upstreamHTTP = sources.upstreamHTTP
        upstreams = sources.upstreams
        upstreamHealth = sources.health
        routeNames = routing.names
        let standard = zip(settings.upstreams, upstreams).filter { !$0.0.only }.map { $0.1 }
        resolver = Resolver(
            routes: routing.table,
            standard: standard.isEmpty ? nil : UpstreamGroup(standard, health: upstreamHealth),
            policy: TTLPolicy(settings.cache),
            answers: AnswerPolicy(settings.answers, settings.rebinding),
            probe: surroundings.probe,
            freshness: Freshness(settings.cache),
            cache: cache,
            clocks: clocks,
            succeeding: old?.resolver,
            comparison: routing.comparison
        )
    }

    /// Lets the parts that outlive an assembly know this one: it is in force from now on.
    func comeIntoForce() {
        cache.setRotation(settings.answers.order == .rotate)
        upstreamHealth.keep(only: upstreams + upstreams.flatMap(\.servers))
        let believed = upstreams.flatMap(\.servers).filter(\.validates)
        resolver.origins.believe(only: Set(believed.map { UpstreamStage.origin(of: $0) }))
        let unprotected = vendors.filter { !$0.client.facts.isProtected }
        resolver.origins.setUnprotected(vendors: Set(unprotected.map(\.client.name)))
    }
}

/// Why the daemon could not start.
package enum StartError: Error, CustomStringConvertible {
    /// An address cannot be listened on.
    case listen(SocketAddress, SocketError)

    /// An address cannot be listened on while we listen on another one with that port.
    case listenBeside(SocketAddress, SocketAddress)
    /// An address cannot be listened on, because systemd has that port of another one for us.
    case passedElsewhere(SocketAddress, [SocketAddress])

    /// What systemd passed cannot be listened with.
    case passed(SocketError)

    /// The control socket cannot be made.
    case control(String, SocketError)

    /// Metrics cannot be served at a place.
    case metrics(String, SocketError)

    /// The kernel does not answer, which the settings require.
    case acceleration(AccelerationError)

    /// A vendor cannot be spoken to with what the settings say.
    case vendor(String, String)

    /// An upstream cannot be spoken to with what the settings say.
    case upstream(String, String)

    /// A reload was asked for, but the daemon is about to end.
    case stopping

    /// The system refuses something that everything rests on.
    case system(SocketError)

    /// The fault with its place, and what helps against it where that is known.
    package var description: String {
        switch self {
        case .listen(let address, let error) where error.isAddressInUse:
            "cannot listen on \(address): another program has that address; "
                + "`ss -tulpn 'sport = :\(address.port)'` names it"
        case .listen(let address, let error) where error.isForbidden:
            "cannot listen on \(address): ports below 1024 are for systemd to open: name it in "
                + "the socket unit (`systemctl edit httpdnsd.socket`, ListenDatagram= and "
                + "ListenStream=); or give us the capability CAP_NET_BIND_SERVICE, or another port"
        case .listen(let address, let error) where error.isAddressMissing:
            "cannot listen on \(address): this machine does not have that address (\(error)); "
                + "remove it from `listen`, or add it first (`ip addr` shows those that there are)"
        case .listen(let address, let error):
            "cannot listen on \(address): \(error)"
        case .listenBeside(let address, let own):
            "cannot listen on \(address) while this daemon listens on \(own): "
                + "if one is to take the place of the other, restart it"
        case .passedElsewhere(let address, let passed):
            "cannot listen on \(address): systemd listens on "
                + passed.map { "\($0)" }.joined(separator: ", ")
                + " for this service; name \(address) in the socket unit instead (`systemctl edit "
                + "httpdnsd.socket`, after an empty ListenDatagram= and ListenStream=)"
        case .passed(let error):
            "\(error); see httpdnsd.socket"
        case .control(let path, let error):
            "cannot open the control socket \(path): \(error)"
        case .metrics(let place, let error):
            "cannot serve metrics at \(place): "
                + (error.isAddressInUse ? "another program has that address" : "\(error)")
        case .acceleration(let error):
            "accelerate.loopback is required, but \(error)"
        case .vendor(let name, let why):
            "vendor \(name): \(why)"
        case .upstream(let name, let why):
            "upstream \(name): \(why)"
        case .stopping:
            "the daemon is stopping"
        case .system(let error):
            "\(error)"
        }
    }
}

// MARK: - From settings

extension TTLPolicy {
    fileprivate init(_ settings: CacheSettings) {
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
    fileprivate var wholeSeconds: UInt32 { UInt32(clamping: components.seconds) }
}
