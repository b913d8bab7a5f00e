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

    /// Records by name in lower case without the final dot; no record: registered, but empty.
    private var records: [String: [Record]] = [:]

    /// All names above a registered one: they exist, so no wildcard covers them (RFC 4592 §2.2.2).
    private var ancestors: Set<String> = []

    /// How many names are registered.
    var count: Int { records.count }

    // MARK: - Making

    /// Registers a name, with one more record if there is one.
    mutating func register(_ name: String, _ record: Record? = nil) {
        let name = Self.canonical(name)
        records[name, default: []] += record.map { [$0] } ?? []
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            ancestors.insert(String(rest))
        }
    }

    // MARK: - Reading

    /// Whether the name, or a wildcard above it, is registered.
    func isRegistered(_ name: String) -> Bool { found(name) != nil }

    /// The addresses of a name for a client; empty if there are none or the name is unknown.
    ///
    /// Of the subnets that hold the client, the longest wins, per family.
    func answer(_ name: String, _ family: Family, for client: Address?) -> Answer {
        let candidates = (found(name) ?? []).filter { $0.address.family == family }
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
        return Answer(addresses: chosen.map(\.address.text), ttl: chosen.map(\.ttl).min() ?? 0)
    }

    // MARK: - Details

    /// The records of a name, or of the wildcard at its closest encloser (RFC 4592 §3.3.1).
    private func found(_ name: String) -> [Record]? {
        let name = Self.canonical(name)
        if let exact = records[name] { return exact }
        if ancestors.contains(name) { return nil }
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let wild = records["*." + rest] { return wild }
            if records[String(rest)] != nil || ancestors.contains(String(rest)) { return nil }
        }
        return nil
    }

    /// A name as the table knows it.
    private static func canonical(_ name: String) -> String {
        let lower = name.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
}
