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
    let upstreamHTTP: (any HTTPTransport)?
    let upstreams: [any Forwarding]

    /// What is known of the upstreams' servers, and who is told of it.
    let upstreamHealth: HealthBook
    let resolver: Resolver

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
        self.settings = settings
        clocks = surroundings.clocks
        cache =
            old?.cache
            ?? AnswerCache(
                limit: settings.cache.size,
                origin: clocks.now(),
                seed: surroundings.seed,
                rotates: settings.answers.order == .rotate
            )

        http =
            old?.http
            ?? (settings.vendors.isEmpty ? nil : surroundings.transport(HTTPClient.Limits()))
        var vendors: [(settings: VendorSettings, client: VendorClient)] = []
        for vendor in settings.vendors {
            guard let http else { break }
            if let known = old?.client(of: vendor) {
                vendors.append((vendor, known))
            } else {
                vendors.append((vendor, try Self.client(vendor, http, clocks)))
            }
        }
        let made = try Self.upstreams(settings.upstreams, surroundings, succeeding: old)
        let upstreams = made.upstreams
        upstreamHTTP = made.http
        self.vendors = vendors
        self.upstreams = upstreams
        let health = old?.upstreamHealth ?? HealthBook(clocks: clocks)
        upstreamHealth = health

        let standard = zip(settings.upstreams, upstreams).filter { !$0.0.only }.map { $0.1 }
        var routes = RouteTable()
        for route in settings.routes {
            let named = route.upstreams.compactMap { name in upstreams.first { $0.name == name } }
            routes.add(
                Route(
                    place: "\(route.place)",
                    vendors: route.vendors.compactMap { name in
                        vendors.first { $0.settings.name == name }?.client
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
        resolver = Resolver(
            routes: routes,
            standard: standard.isEmpty ? nil : UpstreamGroup(standard, health: health),
            policy: TTLPolicy(settings.cache),
            answers: AnswerPolicy(settings.answers, settings.rebinding),
            probe: surroundings.probe,
            freshness: Freshness(settings.cache),
            cache: cache,
            clocks: clocks,
            succeeding: old?.resolver
        )
    }

    /// Lets the parts that outlive an assembly know this one: it is in force from now on.
    func comeIntoForce() {
        cache.setRotation(settings.answers.order == .rotate)
        upstreamHealth.keep(only: upstreams + upstreams.flatMap(\.servers))
        let believed = upstreams.flatMap(\.servers).filter(\.validates)
        resolver.origins.believe(only: Set(believed.map { UpstreamStage.origin(of: $0) }))
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
