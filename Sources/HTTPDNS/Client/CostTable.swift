// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// The names that cost most, in bounded memory.
///
/// The algorithm is "space-saving" (Metwally, Agrawal, El Abbadi, 2005): a name that finds the
/// table full takes the place of the cheapest one and inherits its count.  So no count is too low,
/// none is too high by more than `excess`, and every name with more than 1/n of all calls is in a
/// table of n.
package struct CostTable: Sendable {
    /// What is known of one name.
    package struct Entry: Sendable, Hashable {
        package let name: Name

        /// Billable requests about it, at most.
        package let calls: UInt64

        /// How many of them may have been about other names.
        package let excess: UInt64
    }

    /// How many names are counted apart.
    private let limit: Int

    /// Where each name is in the arrays below.
    private var places: [Name: Int] = [:]

    /// Names, their counts and what they inherited, at the same places; at most `limit` of each.
    private var names: [Name] = []
    private var counts: [UInt64] = []
    private var excesses: [UInt64] = []

    /// Makes an empty table for at most `limit` names, at least one.
    package init(limit: Int = ClientLimits.countedNames) {
        precondition(limit > 0, "a table for no name counts nothing")
        self.limit = limit
    }

    /// Counts a request about `name`.
    package mutating func note(_ name: Name) {
        if let place = places[name] {
            counts[place] += 1
        } else if names.count < limit {
            places[name] = names.count
            names.append(name)
            counts.append(1)
            excesses.append(0)
        } else {
            // A look at 1,024 numbers takes less than a microsecond, a vendor's call milliseconds.
            let place = counts.indices.min { counts[$0] < counts[$1] } ?? 0
            places[names[place]] = nil
            places[name] = place
            names[place] = name
            excesses[place] = counts[place]
            counts[place] += 1
        }
    }

    /// The costliest names, the costliest first; equal ones in the order of their names.
    package func top(_ count: Int) -> [Entry] {
        let order = names.indices.sorted { first, second in
            counts[first] != counts[second]
                ? counts[first] > counts[second]
                : names[first].description < names[second].description
        }
        return order.prefix(max(0, count)).map { place in
            Entry(name: names[place], calls: counts[place], excess: excesses[place])
        }
    }
}
