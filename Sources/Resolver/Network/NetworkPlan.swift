// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Servers and routes that follow from the DNS settings of the links: a pure state machine.
///
/// The names of a routing domain that has disappeared are held for ``ResolverLimits/domainHold``:
/// they go to no other server, because a link that comes back soon must leak none of its names.
struct NetworkPlan: Sendable, Hashable {
    typealias Server = LinkResolvers.Server

    /// Routing domain of a link.
    struct Route: Sendable, Hashable {
        let domain: Name
        var link: String
        var source: LinkResolvers.Source

        /// Servers; of a held route, the latest ones.
        var servers: [Server]

        /// End of the hold; nil while the link has the domain.
        var heldUntil: Instant?
    }

    /// Answers that are no longer valid.
    struct Outcome: Sendable, Hashable {
        /// Domains whose names have other servers now.
        var domains: [Name] = []

        /// Servers that no link has had for the time of a hold.
        var servers: [Server] = []

        /// Routing domains that are not valid names, or that no network can have.
        var rejected: [String] = []
    }

    /// Servers for names of no routing domain.
    private(set) var servers: [Server] = []

    private(set) var routes: [Route] = []

    /// Former servers, and the time when their answers become invalid.
    private var former: [Server: Instant] = [:]

    /// All servers in use.
    var allServers: Set<Server> {
        Set(servers + routes.filter { $0.heldUntil == nil }.flatMap(\.servers))
    }

    /// Time of the next ``expire(now:)``; nil if nothing is held.
    var wake: Instant? { (routes.compactMap(\.heldUntil) + former.values).min() }

    // MARK: - Events

    /// Takes the settings of all links.
    mutating func use(_ links: [LinkResolvers], now: Instant) -> Outcome {
        var outcome = Outcome()
        let before = allServers
        let takers = links.filter(\.takesAll)
        let ordinary = takers.isEmpty ? links.filter(\.isDefault) : takers
        servers = ordinary.flatMap(\.servers).uniqued()
        var wanted: [Name: Route] = [:]
        for link in links {
            for text in link.domains {
                guard let domain = Self.domain(text) else {
                    outcome.rejected.append(text)
                    continue
                }
                if wanted[domain] == nil {
                    wanted[domain] = Route(
                        domain: domain,
                        link: link.link,
                        source: link.source,
                        servers: link.servers
                    )
                }
            }
        }
        routes = routes.map { old in
            guard let new = wanted.removeValue(forKey: old.domain) else {
                var held = old
                held.heldUntil = old.heldUntil ?? now + ResolverLimits.domainHold
                return held
            }
            // A returning link with other servers may be in another network.
            if new.link != old.link || old.heldUntil != nil && new.servers != old.servers {
                outcome.domains.append(old.domain)
            }
            return new
        }
        outcome.domains += wanted.keys
        routes += wanted.values.sorted { $0.domain.text < $1.domain.text }
        let after = allServers
        for server in before.subtracting(after) where former[server] == nil {
            former[server] = now + ResolverLimits.domainHold
        }
        for server in after { former[server] = nil }
        return outcome
    }

    /// Ends the holds that are due: their names become ordinary ones.
    mutating func expire(now: Instant) -> Outcome {
        var outcome = Outcome()
        func isDue(_ end: Instant?) -> Bool { end.map { $0 <= now } ?? false }
        outcome.domains = routes.filter { isDue($0.heldUntil) }.map(\.domain)
        routes.removeAll { isDue($0.heldUntil) }
        outcome.servers = former.filter { $0.value <= now }.map(\.key)
        for server in outcome.servers { former[server] = nil }
        return outcome
    }

    /// Returns the domain of a text; nil if it is no name, or one that belongs to this machine.
    private static func domain(_ text: String) -> Name? {
        guard let name = try? Name(text), !name.isRoot, !name.isEqualOrBelow(.localhost) else {
            return nil
        }
        return name.lowercased
    }
}

extension Array where Element: Hashable {
    /// Returns the elements without repetitions.
    fileprivate func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
