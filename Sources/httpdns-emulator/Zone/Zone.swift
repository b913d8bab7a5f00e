// SPDX-License-Identifier: Apache-2.0

/// The names the vendor's account has registered, and their addresses.
struct Zone: Sendable {
    /// One address of a name.
    struct Record: Sendable, Equatable {
        /// The address, with its text as written.
        var address: Address
        /// Seconds to live.
        var ttl: Int
        /// Whom it is for; nil: everyone that no subnet of the name and family claims.
        var subnet: Subnet?
    }

    /// The addresses of one name and family, as one client gets them.
    struct Answer: Sendable, Equatable {
        /// The addresses in the order of the file; empty: no record of this family.
        var addresses: [String] = []
        /// Seconds to live, the smallest of the records.
        var ttl = 0
    }

    /// The way from a name over its aliases to where its addresses are.
    struct Chain: Sendable, Equatable {
        /// One alias: the name that has it, as asked or as written in the zone, and its target.
        struct Link: Sendable, Equatable {
            var owner: String
            var target: String
            var ttl: Int
        }

        /// The aliases in order.
        var links: [Link] = []
        /// The name without an alias at the end; nil if the aliases lead in a circle or too far.
        var end: String?
    }

    /// An alias.
    private struct Alias: Sendable {
        var target: String
        var ttl: Int
    }

    /// Records by name in lower case without the final dot; no record: registered, but empty.
    ///
    /// A name with an alias has no record (RFC 1034 §3.6.2).
    private var records: [String: [Record]] = [:]

    /// Aliases by name; each of these names is in `records` too.
    private var aliases: [String: Alias] = [:]

    /// All names above a registered one: they exist, so no wildcard covers them (RFC 4592 §2.2.2).
    private var ancestors: Set<String> = []

    /// How many names are registered.
    var count: Int { records.count }

    // MARK: - Making

    /// Registers a name, with one more record if there is one.
    ///
    /// - Returns: false if the name has an alias, and so can have no record.
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

    /// Registers a name with an alias.
    ///
    /// - Returns: false if it has records or an alias already.
    mutating func register(_ name: String, aliasOf target: String, ttl: Int) -> Bool {
        guard records[name.asKey, default: []].isEmpty, aliases[name.asKey] == nil else {
            return false
        }
        register(name)
        aliases[name.asKey] = Alias(target: target.asKey, ttl: ttl)
        return true
    }

    // MARK: - Reading

    /// Whether the name, or a wildcard above it, is registered.
    func isRegistered(_ name: String) -> Bool { owner(name) != nil }

    /// Whether the name is registered, or one below it is (RFC 8020 §2: then it exists).
    func exists(_ name: String) -> Bool { isRegistered(name) || ancestors.contains(name.asKey) }

    /// Where the aliases of a name lead.
    func chain(_ name: String) -> Chain {
        var chain = Chain(end: name.asKey)
        while let end = chain.end, let alias = owner(end).flatMap({ aliases[$0] }) {
            chain.links.append(.init(owner: end, target: alias.target, ttl: alias.ttl))
            chain.end = chain.links.count <= Limits.aliases ? alias.target : nil
        }
        return chain
    }

    /// The addresses of a name for a client, over all aliases; empty if there are none.
    ///
    /// Of the subnets that hold the client, the longest wins, per family.
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

    /// The registered name that speaks for a name: itself, or the wildcard at its closest encloser
    /// (RFC 4592 §3.3.1).
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
