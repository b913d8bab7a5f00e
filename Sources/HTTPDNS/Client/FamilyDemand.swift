// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

package enum FamilyChoice: String, Sendable, Hashable, CaseIterable {
    /// Request both families if the second family costs nothing.
    ///
    /// If it has a cost, request both families only if two conditions are true: clients want both,
    /// and the machine has IPv6 connectivity.
    case automatic = "auto"

    case both

    /// `v4` and `v6` have the same meaning: request only the family that the client wants.
    case v4

    case v6
}

/// Address families that DNS clients recently wanted for each name; bounded in memory.
struct FamilyDemand: Sendable {
    private struct Demand: Sendable {
        var v4: Instant?
        var v6: Instant?
    }

    private let limit: Int

    /// When `recent` is full, its content replaces the content of `older`.
    private var recent: [UInt64: Demand] = [:]
    private var older: [UInt64: Demand] = [:]

    private let hash = NameHash(seed: .random(in: .min ... .max))

    init(limit: Int = ClientLimits.countedNames) {
        self.limit = limit
    }

    private func key(of name: Name) -> UInt64 { hash(name.octets.rawSpan, type: 0) }

    mutating func note(_ name: Name, _ families: Families, now: Instant) {
        let key = key(of: name)
        let known = recent[key]
        var demand = known ?? older[key] ?? Demand()
        if families.includesV4 { demand.v4 = now }
        if families.includesV6 { demand.v6 = now }
        if known == nil, recent.count >= limit {
            older = recent
            recent = [:]
        }
        recent[key] = demand
    }

    /// Fraction (0…1) of the names for which clients wanted both families; 1 without names.
    var shareOfBoth: Double {
        let all = older.merging(recent) { $1 }
        let both = all.values.count { $0.v4 != nil && $0.v6 != nil }
        return all.isEmpty ? 1 : Double(both) / Double(all.count)
    }

    func includes(_ name: Name, _ families: Families, now: Instant) -> Bool {
        let key = key(of: name)
        guard let demand = recent[key] ?? older[key] else { return false }
        func isRecent(_ time: Instant?) -> Bool {
            time.map { now - $0 < ClientLimits.demandMemory } ?? false
        }
        return (!families.includesV4 || isRecent(demand.v4))
            && (!families.includesV6 || isRecent(demand.v6))
    }
}
