// SPDX-License-Identifier: Apache-2.0

/// Names that are registered for the account.
struct Zone: Sendable {
    struct Record: Sendable, Equatable {
        var address: Address
        var ttl: Int
        /// If nil, clients outside the subnets of all other records get the address.
        var subnet: Subnet?
    }

    struct Answer: Sendable, Equatable {
        var addresses: [String] = []
        var ttl = 0
    }

    /// Aliases that lead from a name to the name with the addresses.
    struct Chain: Sendable, Equatable {
        struct Link: Sendable, Equatable {
            var owner: String
            var target: String
            var ttl: Int
        }

        var links: [Link] = []
        /// Target of the last alias; nil if the aliases form a loop, or are too many.
        var end: String?
    }

    private struct Alias: Sendable {
        var target: String
        var ttl: Int
    }

    /// Records by lower-case name without final dot; empty if the name has no address.
    ///
    /// A name with an alias has no records (RFC 1034 §3.6.2).
    private var records: [String: [Record]] = [:]

    private var aliases: [String: Alias] = [:]

    /// All ancestors of registered names; wildcards do not match these names (RFC 4592 §2.2.2).
    private var ancestors: Set<String> = []

    var count: Int { records.count }

    // MARK: - Making

    /// Registers a name, with `record` if given; returns false if an alias conflicts with `record`.
    @discardableResult
    mutating func register(_ name: String, _ record: Record? = nil) -> Bool {
        let name = name.asKey
        guard record == nil || aliases[name] == nil else { return false }
        records[name, default: []] += record.map { [$0] } ?? []
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            ancestors.insert(String(rest))
        }
        return true
    }

    mutating func register(_ name: String, aliasOf target: String, ttl: Int) -> Bool {
        guard records[name.asKey, default: []].isEmpty, aliases[name.asKey] == nil else {
            return false
        }
        register(name)
        aliases[name.asKey] = Alias(target: target.asKey, ttl: ttl)
        return true
    }

    // MARK: - Reading

    func isRegistered(_ name: String) -> Bool { owner(name) != nil }

    /// Returns true if the name is registered or has a registered child (RFC 8020 §2).
    func exists(_ name: String) -> Bool { isRegistered(name) || ancestors.contains(name.asKey) }

    func chain(_ name: String) -> Chain {
        var chain = Chain(end: name.asKey)
        while let end = chain.end, let alias = owner(end).flatMap({ aliases[$0] }) {
            chain.links.append(.init(owner: end, target: alias.target, ttl: alias.ttl))
            chain.end = chain.links.count <= Limits.aliases ? alias.target : nil
        }
        return chain
    }

    /// Follows the aliases of a name, and returns the addresses of one family.
    ///
    /// If several subnets contain the client, returns only the addresses of the smallest subnet.
    func answer(_ name: String, _ family: Family, for client: Address?) -> Answer {
        let chain = chain(name)
        let found = chain.end.flatMap(owner).flatMap { records[$0] } ?? []
        let candidates = found.filter { $0.address.family == family }
        let nearest = candidates.compactMap { record in
            record.subnet.flatMap { subnet in
                client.map(subnet.contains) == true ? subnet.length : nil
            }
        }.max()
        let chosen = candidates.filter { record in
            guard let nearest else { return record.subnet == nil }
            guard let subnet = record.subnet, let client else { return false }
            return subnet.length == nearest && subnet.contains(client)
        }
        guard !chosen.isEmpty else { return Answer() }
        let ttls = chosen.map(\.ttl) + chain.links.map(\.ttl)
        return Answer(addresses: chosen.map(\.address.text), ttl: ttls.min() ?? 0)
    }

    // MARK: - Details

    /// Returns the name itself if registered, or the wildcard at its closest encloser (RFC 4592).
    private func owner(_ name: String) -> String? {
        let name = name.asKey
        if records[name] != nil { return name }
        if ancestors.contains(name) { return nil }
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if records["*." + rest] != nil { return "*." + rest }
            if records[String(rest)] != nil || ancestors.contains(String(rest)) { return nil }
        }
        return nil
    }
}
