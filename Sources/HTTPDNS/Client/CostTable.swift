// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Table of the names with the most billable requests, in bounded memory.
///
/// The algorithm is "space-saving" (Metwally, Agrawal, El Abbadi, 2005). If the table is full, a
/// new name replaces a name with the lowest count, and inherits that count. A count is too high by
/// at most `excess`.
package struct CostTable: Sendable {
    package struct Charge: Sendable, Hashable {
        package let name: Name
        package let route: String
    }

    package struct Entry: Sendable, Hashable {
        package let name: Name

        package let route: String

        package let calls: UInt64

        /// Part of `calls` that may belong to replaced names.
        package let excess: UInt64

        /// Upper bound of the units of the latest `calls - excess` requests.
        package let units: UInt64
    }

    private let limit: Int

    private var places: [Name: Int] = [:]

    /// Charged names; the four arrays have the same indexes, and at most `limit` elements.
    private var charges: [Charge] = []
    private var counts: [UInt64] = []
    private var excesses: [UInt64] = []
    private var units: [UInt64] = []

    /// Lowest count in the latest search; `hand` is the index where that search ended.
    private var lowest: UInt64 = 0
    private var hand = -1

    package init(limit: Int = ClientLimits.countedNames) {
        precondition(limit > 0, "the limit must be at least 1")
        self.limit = limit
    }

    package mutating func note(_ charge: Charge, units cost: UInt64) {
        if let place = places[charge.name] {
            charges[place] = charge
            counts[place] += 1
            units[place] += cost
        } else if charges.count < limit {
            places[charge.name] = charges.count
            charges.append(charge)
            counts.append(1)
            excesses.append(0)
            units.append(cost)
        } else {
            let place = cheapest()
            places[charges[place].name] = nil
            places[charge.name] = place
            charges[place] = charge
            excesses[place] = counts[place]
            counts[place] += 1
            units[place] = cost
        }
    }

    private mutating func cheapest() -> Int {
        for _ in 0...1 {
            for _ in counts.indices {
                hand = (hand + 1) % counts.count
                if counts[hand] == lowest { return hand }
            }
            lowest = counts.min() ?? 0
        }
        return hand
    }

    mutating func rename(_ name: (String) -> String) {
        for place in charges.indices {
            charges[place] = Charge(
                name: charges[place].name,
                route: name(charges[place].route)
            )
        }
    }

    package mutating func removeAll() {
        self = CostTable(limit: limit)
    }

    /// Returns the `count` names with the most requests; ties are sorted by name.
    package func top(_ count: Int) -> [Entry] {
        let order = charges.indices.map { (count: counts[$0], text: "\(charges[$0].name)", $0) }
            .sorted { ($1.count, $0.text) < ($0.count, $1.text) }
        return order.prefix(max(0, count)).map { _, _, place in
            Entry(
                name: charges[place].name,
                route: charges[place].route,
                calls: counts[place],
                excess: excesses[place],
                units: units[place]
            )
        }
    }
}
