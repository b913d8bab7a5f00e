// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Pending queries by question, as a hash table with lists.
///
/// The lists and the limits are in one struct, so that one run-time exclusivity check covers both.
@ServiceLoop
struct PendingTable {
    /// First query of each list; the number of lists is a power of two.
    private var lists = [PendingQuery?](repeating: nil, count: 64)

    private(set) var count = 0

    /// Hash function of the cache.
    ///
    /// The seed is secret, so that an attacker cannot choose names with equal hashes.
    private let hash: NameHash

    var places: FairTable<PendingQuery>

    init(_ hash: NameHash, _ limits: FairLimits) {
        self.hash = hash
        places = FairTable(limits)
    }

    func hash(_ query: Query) -> UInt64 {
        hash(query.question.name.octets.rawSpan, type: query.question.type.rawValue)
    }

    /// Returns the pending query that is equal to `query`.
    ///
    /// Mutating, because Swift 6.3 copies a stored struct before it calls a nonmutating method.
    ///
    /// - Parameter refused: the value that ``PendingQuery/refused`` of the pending query must have.
    mutating func find(
        _ query: Query,
        _ hash: UInt64,
        refused: ClientNetwork? = nil
    ) -> PendingQuery? {
        var next = lists[list(hash)]
        while let found = next {
            if found.hash == hash, found.refused == refused, found.query == query { return found }
            next = found.next
        }
        return nil
    }

    mutating func insert(_ query: PendingQuery) {
        if count == lists.count { grow() }
        count += 1
        enter(query)
        query.load = places.add(query)
    }

    typealias Result = (isLost: Bool, now: Instant)

    /// Removes a query, and counts `result`; returns false if the query was not in the table.
    mutating func remove(
        _ query: PendingQuery,
        _ result: Result? = nil
    ) -> Bool {
        if let result { places.note(query, isLost: result.isLost, now: result.now) }
        places.remove(query)
        let list = list(query.hash)
        guard var previous = lists[list] else { return false }
        if previous === query {
            lists[list] = query.next
        } else {
            while let next = previous.next, next !== query { previous = next }
            guard previous.next != nil else { return false }
            previous.next = query.next
        }
        query.next = nil
        count -= 1
        return true
    }

    var all: [PendingQuery] {
        var all: [PendingQuery] = []
        all.reserveCapacity(count)
        for var next in lists {
            while let query = next {
                all.append(query)
                next = query.next
            }
        }
        return all
    }

    private func list(_ hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash & UInt64(lists.count - 1))
    }

    private mutating func enter(_ query: PendingQuery) {
        let list = list(query.hash)
        query.next = lists[list]
        lists[list] = query
    }

    private mutating func grow() {
        let all = all
        lists = Array(repeating: nil, count: 2 * lists.count)
        for query in all { enter(query) }
    }
}
