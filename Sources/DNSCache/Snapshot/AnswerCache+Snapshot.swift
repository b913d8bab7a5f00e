// SPDX-License-Identifier: Apache-2.0
package import DNSWire

extension AnswerCache {
    /// Octets of a file that are read between two looks for more.
    private static var pieceOctets: Int { 64 << 10 }

    /// Puts a snapshot's entries into the cache, all of them or, if the file is damaged, none.
    ///
    /// - Parameters:
    ///   - wallTime: seconds since 1970 at `now`.
    ///   - believes: whether a server with such a name is still believed to validate.
    ///   - serverNumber: the number in this process of a server with such a name.
    package func restore(
        _ file: [UInt8],
        now: ContinuousClock.Instant,
        wallTime: UInt64,
        believing believes: @escaping (String) -> Bool = { _ in false },
        serverNumber: (String) -> UInt16
    ) throws(SnapshotError) -> SnapshotSummary {
        _ = try read(file, into: nil, now: now, wallTime: wallTime, believes) { _ in 0 }
        return try read(file, into: self, now: now, wallTime: wallTime, believes, serverNumber)
    }

    private func read(
        _ file: [UInt8],
        into cache: AnswerCache?,
        now: ContinuousClock.Instant,
        wallTime: UInt64,
        _ believes: @escaping (String) -> Bool,
        _ serverNumber: (String) -> UInt16
    ) throws(SnapshotError) -> SnapshotSummary {
        var reader = SnapshotReader(
            into: cache,
            now: now,
            wallTime: wallTime,
            believing: believes
        )
        var position = 0
        while position < file.count {
            let end = min(position + Self.pieceOctets, file.count)
            try reader.read(file[position..<end], serverNumber)
            position = end
        }
        return try reader.finish()
    }

    /// The questions that were asked most, most first, and at most `count` of them (nor more than
    /// 65,536): for refreshing after a start or a change of networks.
    package func hottest(_ count: Int, now: ContinuousClock.Instant) -> [HotEntry] {
        let count = min(count, 65_536)
        guard count > 0 else { return [] }
        var hottest: [HotEntry] = []
        // Twice as many are gathered before the half that is not needed goes, so that the work per
        // entry does not grow with `count`.
        var least: UInt32 = 0
        var position: Int? = 0
        while let next = position {
            let stride = hotStride(from: next, above: least, now: now)
            hottest += stride.entries
            position = stride.next
            if hottest.count >= 2 * count {
                hottest = Self.best(hottest, count)
                if hottest.count == count { least = hottest.last?.hits ?? 0 }
            }
        }
        return Self.best(hottest, count)
    }

    /// The `count` that were asked for most, each question once.
    private static func best(_ entries: [HotEntry], _ count: Int) -> [HotEntry] {
        var seen: Set<Question> = []
        let sorted = entries.sorted { $0.hits > $1.hits }
        return Array(sorted.filter { seen.insert($0.question).inserted }.prefix(count))
    }
}

/// A question that is asked often.
package struct HotEntry: Sendable, Equatable {
    package var question: Question

    /// Answers made from it; each new answer halves what those before it had.
    package var hits: UInt32

    /// Whether there still is a fresh answer to it.
    package var isFresh: Bool
}

extension AnswerTable {
    /// Those of some entries that are answers of others and were asked for more than `least` times.
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

    /// Stores what came out of a snapshot and tells how much of it, and how much of that is stale.
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
