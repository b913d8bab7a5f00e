// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// The names that cost most, in bounded memory.
///
/// The algorithm is "space-saving" (Metwally, Agrawal, El Abbadi, 2005): a name that finds the
/// table full takes the place of the cheapest one and inherits its count.  So no count is too low,
/// none is too high by more than `excess`, and every name with more than 1/n of all calls is in a
/// table of n.
package struct CostTable: Sendable {
    /// A name that is paid for, and the route that sent it to the vendor.
    package struct Charge: Sendable, Hashable {
        package let name: Name
        package let route: String

        package init(name: Name, route: String) {
            self.name = name
            self.route = route
        }
    }

    /// What is known of one name.
    package struct Entry: Sendable, Hashable {
        package let name: Name

        /// The route that sent it to the vendor last.
        package let route: String

        /// Billable requests about it, at most.
        package let calls: UInt64

        /// How many of them may have been about other names.
        package let excess: UInt64
    }

    /// How many names are counted apart.
    private let limit: Int

    /// Where each name is in the arrays below.
    private var places: [Name: Int] = [:]

    /// Names with their routes, their counts and what they inherited, at the same places; at most
    /// `limit` of each.
    private var charges: [Charge] = []
    private var counts: [UInt64] = []
    private var excesses: [UInt64] = []

    /// The lowest count when it was looked for last, and the place that had it last.
    private var lowest: UInt64 = 0
    private var hand = -1

    /// Makes an empty table for at most `limit` names, at least one.
    package init(limit: Int = ClientLimits.countedNames) {
        precondition(limit > 0, "a table for no name counts nothing")
        self.limit = limit
    }

    /// Counts a request about a name.
    package mutating func note(_ charge: Charge) {
        if let place = places[charge.name] {
            charges[place] = charge
            counts[place] += 1
        } else if charges.count < limit {
            places[charge.name] = charges.count
            charges.append(charge)
            counts.append(1)
            excesses.append(0)
        } else {
            let place = cheapest()
            places[charges[place].name] = nil
            places[charge.name] = place
            charges[place] = charge
            excesses[place] = counts[place]
            counts[place] += 1
        }
    }

    /// The place of a name with the lowest count.
    ///
    /// Counts only grow, so those that equal the lowest one are taken in turn, and the whole table
    /// is looked at again when there are none left.
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

    /// Lets routes be called as they are called now.
    mutating func rename(_ name: (String) -> String) {
        for place in charges.indices {
            charges[place] = Charge(
                name: charges[place].name,
                route: name(charges[place].route)
            )
        }
    }

    /// Forgets everything.
    package mutating func removeAll() {
        self = CostTable(limit: limit)
    }

    /// The costliest names, the costliest first; equal ones in the order of their names.
    package func top(_ count: Int) -> [Entry] {
        // Most counts of a full table are equal, and making texts to compare is what takes time.
        let order = charges.indices.map { (count: counts[$0], text: "\(charges[$0].name)", $0) }
            .sorted { ($1.count, $0.text) < ($0.count, $1.text) }
        return order.prefix(max(0, count)).map { _, _, place in
            Entry(
                name: charges[place].name,
                route: charges[place].route,
                calls: counts[place],
                excess: excesses[place]
            )
        }
    }
}
