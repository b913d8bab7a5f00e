// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
package import DNSWire
package import Net
package import Upstream

/// Upstream servers and routes made from the network's DNS servers and routing domains.
///
/// The object lives as long as the daemon.
@ServiceLoop
package final class LearnedNetwork {
    /// Routing domain of a link.
    package struct Domain: Sendable {
        package let domain: Name
        package let link: String
        package let servers: [LinkResolvers.Server]

        /// True during the time ``ResolverLimits/domainHold`` after the link went down.
        package let isHeld: Bool
    }

    private struct Learned {
        let match: RouteTable.Match
        let upstream: LearnedUpstream
    }

    /// Creates a server of `upstream`; nil if the server cannot be used.
    package typealias Make =
        @ServiceLoop (LinkResolvers.Server, _ upstream: LearnedUpstream) -> Forwarder?

    /// Change of the network, which makes cached answers invalid.
    package struct Change: Sendable {
        package var domains: [Name] = []

        /// Names of sources in `AnswerSourceRegistry`.
        package var sources: Set<String> = []

        package var hasOtherServers = false

        package var isEmpty: Bool { domains.isEmpty && sources.isEmpty && !hasOtherServers }

        package func merged(with other: Change) -> Change {
            Change(
                domains: domains + other.domains,
                sources: sources.union(other.sources),
                hasOtherServers: hasOtherServers || other.hasOtherServers
            )
        }
    }

    /// Called after each change; `text` is for the log.
    package var onChange: (@ServiceLoop (Change, _ text: String) -> Void)?

    package var report: (@ServiceLoop (String) -> Void)?

    package var onWithdrawal: (@ServiceLoop ([any Forwarding]) -> Void)?

    private var plan = NetworkPlan()
    private var forwarders: [LinkResolvers.Server: Forwarder] = [:]
    private var routes: [Name: Learned] = [:] { didSet { hasRoutes = !routes.isEmpty } }

    /// False if `routes` is empty.
    ///
    /// A check of this variable is faster than an access to `routes`, which needs a run-time
    /// exclusivity check.
    private var hasRoutes = false

    /// Upstream of the settings with `from: network`.
    ///
    /// If nil, clients' queries do not go to the network's servers, except in captive portal mode.
    private(set) var upstream: LearnedUpstream?

    var portal: PortalMode?

    private var fault: String?

    package var onPortal: (@ServiceLoop (_ isOn: Bool) -> Void)?

    /// Stores the network's servers while ``upstream`` is nil.
    let unused = LearnedUpstream(name: "network", url: "network", timeout: .seconds(2))

    private var make: Make?
    private(set) var health = HealthTable()
    let clocks: Clocks
    private let alarm: Alarm
    private var reported: Set<String> = []

    private static let maximumReports = 64

    private static let maximumNames = 16

    /// Count of route changes.
    var generation = 0

    package init(clocks: Clocks) {
        self.clocks = clocks
        alarm = Alarm(clocks)
        alarm.action = { [unowned self] in expire() }
    }

    isolated deinit { alarm.set(nil) }

    // MARK: - Reading

    /// Servers for names outside all routing domains, without ``NetworkPlan/spares``.
    package var servers: [any Forwarding] {
        let upstream = upstream ?? unused
        return upstream.servers.dropLast(upstream.spareCount)
    }

    package var allServers: [any Forwarding] { Array(forwarders.values) }

    package var addresses: [LinkResolvers.Server] { plan.servers }

    package var domains: [Domain] {
        plan.routes.map { route in
            Domain(
                domain: route.domain,
                link: route.link,
                servers: route.heldUntil == nil ? route.servers : [],
                isHeld: route.heldUntil != nil
            )
        }
    }

    /// Returns the route of the most specific routing domain that contains `name`.
    func match(_ name: Name) -> RouteTable.Match? {
        guard hasRoutes else { return nil }
        var ancestor: Name? = name
        while let domain = ancestor {
            if let route = routes[domain] { return route.match }
            ancestor = domain.parent
        }
        return nil
    }

    // MARK: - Changing

    /// Applies new settings of the daemon.
    package func use(
        _ upstream: LearnedUpstream?,
        health: HealthTable,
        _ make: @escaping Make
    ) {
        let isSame = upstream === self.upstream && self.make != nil
        self.health = health
        self.make = make
        guard !isSame else { return }
        // The route of the captive portal mode uses the upstream that is replaced.
        endPortal()
        let former = Array(forwarders.values)
        forwarders = [:]
        routes = [:]
        self.upstream?.use([], absence: "the upstream is no longer in the settings")
        self.upstream = upstream
        apply()
        withdraw(former)
    }

    /// Applies the DNS settings of all links.
    ///
    /// - Parameter fault: reason why a file with servers cannot be read; nil if all files can be
    ///   read.
    package func use(_ links: [LinkResolvers], fault: String? = nil) {
        self.fault = fault
        let before = plan
        let outcome = plan.use(links, now: clocks.now())
        for text in outcome.rejected where reported.count < Self.maximumReports {
            guard reported.insert(text).inserted else { continue }
            report?(
                """
                network resolvers: ignoring the routing domain `\(text)`: not a valid name, or \
                below localhost
                """
            )
        }
        changed(outcome, since: before)
    }

    private func expire() {
        let before = plan
        let outcome = plan.expire(now: clocks.now())
        changed(outcome, since: before, ended: outcome.domains)
    }

    private func changed(
        _ outcome: NetworkPlan.Outcome,
        since before: NetworkPlan,
        ended: [Name] = []
    ) {
        let kept = plan.allServers
        let withdrawn = forwarders.filter { !kept.contains($0.key) }
        for server in withdrawn.keys { forwarders[server] = nil }
        apply()
        endFormerPortal()
        withdraw(Array(withdrawn.values))
        alarm.set(plan.wake)
        let change = Change(
            domains: outcome.domains,
            sources: Set(outcome.servers.map { UpstreamStage.origin(of: name, $0) }),
            hasOtherServers: plan.servers != before.servers || plan.spares != before.spares
        )
        guard !change.isEmpty || plan.routes != before.routes else { return }
        let names = ended.prefix(Self.maximumNames).map(\.text).joined(separator: ", ")
        onChange?(change, text + (ended.isEmpty ? "" : "; no longer held: \(names)"))
    }

    private var name: String { (upstream ?? unused).name }

    private func apply() {
        guard let make else { return }
        let upstream = upstream ?? unused
        func servers(_ list: [LinkResolvers.Server]) -> [any Forwarding] {
            list.compactMap { server in
                if let known = forwarders[server] { return known }
                let new = make(server, upstream)
                forwarders[server] = new
                return new
            }
        }
        upstream.use(
            servers(plan.servers),
            spares: servers(plan.spares),
            absence: plan.absence ?? fault ?? "the network offers no DNS server"
        )
        guard self.upstream != nil else { return }
        var all: [Name: Learned] = [:]
        for route in plan.routes {
            let learned = routes[route.domain] ?? self.learned(route, upstream)
            let isHeld = route.heldUntil != nil
            learned.upstream.use(
                isHeld ? [] : servers(route.servers),
                absence: "link \(route.link), which serves `\(route.domain.text)`, is down"
            )
            all[route.domain] = learned
        }
        if Set(all.keys) != Set(routes.keys) { generation += 1 }
        routes = all
    }

    private func learned(_ route: NetworkPlan.Route, _ upstream: LearnedUpstream) -> Learned {
        let own = LearnedUpstream(
            name: upstream.name,
            url: upstream.url,
            timeout: upstream.timeout,
            latency: upstream.latency
        )
        let match = RouteTable.Match(
            Route(
                place: "link \(route.link) (\(route.source.rawValue))",
                vendors: [],
                upstreams: UpstreamGroup([own], health: health),
                fallsBack: true,
                allowsPrivateAnswers: true
            ),
            for: route.domain
        )
        return Learned(match: match, upstream: own)
    }

    /// Withdraws servers: their queries in flight fail, and they accept no new queries.
    package func withdraw(_ former: [Forwarder]) {
        guard !former.isEmpty else { return }
        for server in former { server.withdraw() }
        onWithdrawal?(former)
    }

    /// Closes the connections to all servers after a change of the network.
    package func networkChanged() {
        for server in forwarders.values { server.networkChanged() }
    }

    private var text: String {
        let servers = plan.servers.map { $0.address.host }.joined(separator: ", ")
        let spares = plan.spares.map { $0.address.host }.joined(separator: ", ")
        let absence = plan.absence.map { " (\($0))" } ?? ""
        let routes = plan.routes.prefix(Self.maximumNames).map { route in
            let state = route.heldUntil == nil ? "" : ", held"
            return "\(route.domain.text) (\(route.link)\(state))"
        }
        let more = plan.routes.count - routes.count
        return "network resolvers: \(servers.isEmpty ? "none\(absence)" : servers)"
            + (spares.isEmpty ? "" : "; for names that these servers decline: \(spares)")
            + (routes.isEmpty ? "" : "; routing domains: \(routes.joined(separator: ", "))")
            + (more > 0 ? " and \(more) more" : "")
    }
}

extension UpstreamStage {
    /// Returns the name that a server of the network has in `AnswerSourceRegistry`.
    nonisolated static func origin(of name: String, _ server: LinkResolvers.Server) -> String {
        "\(name)/\(server.url)"
    }
}

extension LinkResolvers.Server {
    package var url: String {
        let host = address.isIPv6 ? "[\(address.host)]" : address.host
        let port = address.port == (tlsName == nil ? 53 : 853) ? "" : ":\(address.port)"
        guard let tlsName else { return "udp://\(host)\(port)" }
        return "tls://\(tlsName)\(port) (\(address.host))"
    }
}
