// SPDX-License-Identifier: Apache-2.0
package import DNSWire

extension AnswerCache {
    /// Returns the `count` questions (at most 65,536) with the most hits.
    package func hottest(_ count: Int, now: Instant) -> [HotEntry] {
        let count = min(count, 65_536)
        guard count > 0 else { return [] }
        var hottest: [HotEntry] = []
        var least: UInt32 = 0
        var position: Int? = 0
        while let next = position {
            let stride = withTable(now: now) {
                $0.hotStride(from: next, above: least, now: $1)
            }
            hottest += stride.entries
            position = stride.next
            if hottest.count >= 2 * count {
                hottest = Self.best(hottest, count)
                if hottest.count == count { least = hottest.last?.hits ?? 0 }
            }
        }
        return Self.best(hottest, count)
    }

    private static func best(_ entries: [HotEntry], _ count: Int) -> [HotEntry] {
        var seen: Set<Question> = []
        let sorted = entries.sorted { $0.hits > $1.hits }
        return Array(sorted.filter { seen.insert($0.question).inserted }.prefix(count))
    }
}

package struct HotEntry: Sendable, Equatable {
    package var question: Question

    package var hits: UInt32

    package var isFresh: Bool
}

extension AnswerTable {
    mutating func hotStride(
        from position: Int,
        above least: UInt32,
        now: UInt64
    ) -> (entries: [HotEntry], next: Int?) {
        var found: [HotEntry] = []
        let next = walk(from: position, count: SnapshotFormat.block.entries) { table, reference in
            let entry = table.ring[reference]
            guard entry.demand.hits > least, !entry.isFailure,
                entry.source != AnswerSource.local.rawValue, let name = table.name(reference)
            else { return .keep }
            found.append(
                HotEntry(
                    question: Question(name: name, type: RecordType(rawValue: entry.type)),
                    hits: entry.demand.hits,
                    isFresh: entry.isFresh(now)
                )
            )
            return .keep
        }
        return (found, next)
    }

    /// Returns how many entries were stored, and how many of them are stale.
    mutating func restore(
        _ entries: [SnapshotEntry],
        now: UInt64
    ) -> (all: Int, stale: Int) {
        var restored = (all: 0, stale: 0)
        for entry in entries
        where restore(entry.answer, age: entry.age, demand: entry.demand, now: now) {
            restored.all += 1
            if entry.age >= entry.answer.lifetime { restored.stale += 1 }
        }
        return restored
    }
}
