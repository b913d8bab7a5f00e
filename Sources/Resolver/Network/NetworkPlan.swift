// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Servers and routes from the DNS settings of all links: a state machine without clock or I/O.
///
/// When a link goes down, the names in its routing domains are held: during the time
/// ``ResolverLimits/domainHold``, no server is queried for these names. If the link comes up again
/// within this time, no other server has seen the names.
struct NetworkPlan: Sendable, Hashable {
    typealias Server = LinkResolvers.Server

    /// Routing domain of a link.
    struct Route: Sendable, Hashable {
        let domain: Name
        var link: String
        var source: LinkResolvers.Source

        /// Servers of the link; during a hold, the former servers.
        var servers: [Server]

        var isTunnel = false

        var heldUntil: Instant?
    }

    /// Result of an event: invalid cached answers, and ignored routing domains.
    struct Outcome: Sendable, Hashable {
        /// Domains that now have other servers.
        var domains: [Name] = []

        /// Servers that have been missing from all links for the time
        /// ``ResolverLimits/domainHold``.
        var servers: [Server] = []

        /// Invalid names, the root, and names in `localhost`.
        var rejected: [String] = []
    }

    /// Servers for names outside all routing domains.
    private(set) var servers: [Server] = []

    /// Servers of the physical network; empty unless a split-tunnel VPN provides ``servers``.
    ///
    /// A spare is queried for a name only after all ``servers`` have returned an error.
    private(set) var spares: [Server] = []

    /// First link with the domain `~.` (all names); nil if no link has this domain.
    ///
    /// While this variable is not nil, only links with `~.` provide ``servers``.
    private var taker: String?
    private var isTakerTunnel = false

    /// Routes that replace the held routes of a VPN when the hold ends.
    private var successors: [Name: Route] = [:]

    /// End of the hold of all names outside the routing domains.
    private var heldUntil: Instant?

    /// Value that ``servers`` gets when the hold ends at `heldUntil`.
    private var laterServers: [Server] = []
    private var laterSpares: [Server] = []

    var absence: String? {
        guard servers.isEmpty, let taker else { return nil }
        return heldUntil == nil
            ? "\(taker): the DNS server of this link is an address of this machine"
            : "\(taker): the link with `~.` is down"
    }

    private(set) var routes: [Route] = []

    /// Time at which the cached answers of a removed server become invalid.
    ///
    /// The keys (`Server.unbound`) contain no interface index, because the index changes each time
    /// a VPN starts.
    private var former: [Server: Instant] = [:]

    var allServers: Set<Server> { mainServers.union(spares) }

    private var mainServers: Set<Server> {
        Set(servers + routes.filter { $0.heldUntil == nil }.flatMap(\.servers))
    }

    /// Time of the next call of ``expire(now:)``; nil for none.
    var wake: Instant? {
        (([heldUntil] + routes.map(\.heldUntil)).compactMap(\.self) + former.values).min()
    }

    // MARK: - Events

    mutating func use(_ links: [LinkResolvers], now: Instant) -> Outcome {
        var outcome = Outcome()
        let (before, spare) = (mainServers, Set(spares))
        selectServers(links, now: now)
        let present = Dictionary(
            routes.lazy.filter { $0.heldUntil == nil }.map { ($0.domain, $0.link) },
            uniquingKeysWith: { first, _ in first }
        )
        var wanted: [Name: Route] = [:]
        for link in links {
            for text in link.domains {
                guard let domain = Self.domain(text) else {
                    outcome.rejected.append(text)
                    continue
                }
                let isPreferred = wanted[domain].map { other in
                    link.isTunnel != other.isTunnel
                        ? link.isTunnel
                        : link.link == present[domain] && other.link != link.link
                }
                if isPreferred ?? true {
                    wanted[domain] = Route(
                        domain: domain,
                        link: link.link,
                        source: link.source,
                        servers: link.servers,
                        isTunnel: link.isTunnel
                    )
                }
            }
        }
        successors = [:]
        routes = routes.map { old in
            var held = old
            held.heldUntil = old.heldUntil ?? now + ResolverLimits.domainHold
            guard let new = wanted.removeValue(forKey: old.domain) else { return held }
            // The VPN may come up again soon, so the other link with this domain gets no queries
            // yet.
            if old.isTunnel, !new.isTunnel {
                successors[old.domain] = new
                return held
            }
            // A link that comes up again with other servers may be in another network.
            let isMoved = new.servers.map(\.unbound) != old.servers.map(\.unbound)
            if new.link != old.link || old.heldUntil != nil && isMoved {
                outcome.domains.append(old.domain)
            }
            return new
        }
        outcome.domains += wanted.keys
        outcome.domains += endSurplusHolds()
        routes += wanted.values.sorted { $0.domain.text < $1.domain.text }
        let after = mainServers
        // A server that becomes a spare counts as removed: its cached answers become invalid. The
        // VPN's server, which now gets the queries, may answer differently.
        let removed = before.union(spare.subtracting(spares)).subtracting(after)
        for server in removed where former[server.unbound] == nil {
            former[server.unbound] = now + ResolverLimits.domainHold
        }
        for server in after { former[server.unbound] = nil }
        return outcome
    }

    private mutating func selectServers(_ links: [LinkResolvers], now: Instant) {
        let tunnels = links.filter { $0.takesAll && $0.isTunnel }
        let takers = tunnels.isEmpty ? links.filter(\.takesAll) : tunnels
        // While a VPN is up, a faster server of the physical network must not get the queries.
        let defaults = links.filter(\.isDefault)
        let vpns = defaults.filter { $0.isTunnel && !$0.servers.isEmpty }
        let ordinary = takers.isEmpty ? (vpns.isEmpty ? defaults : vpns) : takers
        let all = ordinary.flatMap(\.servers).uniqued()
        // If the VPN's server does not reply, the daemon does not query `spares`: the physical
        // network could drop packets of the VPN on purpose, to get these queries.
        let isSplit = takers.isEmpty && !vpns.isEmpty && !vpns.contains(where: \.isFullTunnel)
        let others = isSplit ? defaults.filter { !$0.isTunnel }.flatMap(\.servers).uniqued() : []
        let rest = others.filter { !all.contains($0) }
        guard isTakerTunnel, tunnels.isEmpty else {
            (servers, spares, heldUntil) = (all, rest, nil)
            (laterServers, laterSpares) = ([], [])
            (taker, isTakerTunnel) = (takers.first?.link, !tunnels.isEmpty)
            return
        }
        (servers, spares, laterServers, laterSpares) = ([], [], all, rest)
        heldUntil = heldUntil ?? now + ResolverLimits.domainHold
    }

    /// Ends the oldest holds above the limit ``ResolverLimits/heldDomains``, and returns their
    /// domains.
    ///
    /// Without the limit, a network that announces new domains with each change could use up the
    /// memory.
    private mutating func endSurplusHolds() -> [Name] {
        let held = routes.lazy.filter { !$0.isTunnel }
            .compactMap { route in route.heldUntil.map { (domain: route.domain, end: $0) } }
            .sorted { $0.end < $1.end }
        let surplus = Set(held.dropLast(ResolverLimits.heldDomains).map(\.domain))
        routes.removeAll { surplus.contains($0.domain) }
        return Array(surplus)
    }

    mutating func expire(now: Instant) -> Outcome {
        var outcome = Outcome()
        func isDue(_ end: Instant?) -> Bool { end.map { $0 <= now } ?? false }
        if isDue(heldUntil) {
            (servers, spares) = (laterServers, laterSpares)
            (laterServers, laterSpares) = ([], [])
            (taker, isTakerTunnel, heldUntil) = (nil, false, nil)
        }
        outcome.domains = routes.filter { isDue($0.heldUntil) }.map(\.domain)
        routes = routes.compactMap { isDue($0.heldUntil) ? successors[$0.domain] : $0 }
        successors = successors.filter { name, _ in !outcome.domains.contains(name) }
        for server in mainServers { former[server.unbound] = nil }
        outcome.servers = former.filter { $0.value <= now }.map(\.key)
        for server in outcome.servers { former[server] = nil }
        return outcome
    }

    private static func domain(_ text: String) -> Name? {
        guard let name = try? Name(text), !name.isRoot, !name.isEqualOrBelow(.localhost) else {
            return nil
        }
        return name.lowercased
    }
}

extension Array where Element: Hashable {
    fileprivate func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
