// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Table of the names with the most billable requests, in bounded memory.
///
/// The algorithm is "space-saving" (Metwally, Agrawal, El Abbadi, 2005): in a full table, a new
/// name replaces a name with the lowest count, and inherits that count.
package struct CostTable: Sendable {
    package struct Charge: Sendable, Hashable {
        package let name: Name
        package let route: String
    }

    package struct Entry: Sendable, Hashable {
        package fileprivate(set) var name: Name

        package fileprivate(set) var route: String

        package fileprivate(set) var calls: UInt64 = 1

        /// Part of `calls` that the entry inherited from replaced names.
        package fileprivate(set) var excess: UInt64 = 0

        /// Upper bound of the units of the requests since the name entered the table.
        package fileprivate(set) var units: UInt64
    }

    private let limit: Int

    private var places: [Name: Int] = [:]

    private var entries: [Entry] = []

    private var lowest: UInt64 = 0
    private var hand = -1

    package init(limit: Int = ClientLimits.countedNames) {
        precondition(limit > 0, "the limit must be at least 1")
        self.limit = limit
    }

    package mutating func note(_ charge: Charge, units cost: UInt64) {
        if let place = places[charge.name] {
            (entries[place].name, entries[place].route) = (charge.name, charge.route)
            entries[place].calls += 1
            entries[place].units += cost
            return
        }
        var entry = Entry(name: charge.name, route: charge.route, units: cost)
        if entries.count < limit {
            places[charge.name] = entries.count
            entries.append(entry)
        } else {
            let place = cheapest()
            places[entries[place].name] = nil
            places[charge.name] = place
            entry.excess = entries[place].calls
            entry.calls += entry.excess
            entries[place] = entry
        }
    }

    private mutating func cheapest() -> Int {
        for _ in 0...1 {
            for _ in entries.indices {
                hand = (hand + 1) % entries.count
                if entries[hand].calls == lowest { return hand }
            }
            lowest = entries.lazy.map(\.calls).min() ?? 0
        }
        return hand
    }

    mutating func rename(_ name: (String) -> String) {
        for place in entries.indices { entries[place].route = name(entries[place].route) }
    }

    package mutating func removeAll() {
        self = CostTable(limit: limit)
    }

    /// Ties are sorted by name.
    package func top(_ count: Int) -> [Entry] {
        let order = entries.map { (entry: $0, text: "\($0.name)") }
            .sorted { ($1.entry.calls, $0.text) < ($0.entry.calls, $1.text) }
        return order.prefix(max(0, count)).map(\.entry)
    }
}
