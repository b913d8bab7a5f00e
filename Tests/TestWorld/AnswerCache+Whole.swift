// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
package import Monotonic

extension AnswerCache {
    package func entries(named name: Name, type: RecordType?, now: Instant) -> [CacheEntry] {
        var walk = CacheWalk(self, .name(name, type))
        var found: [CacheEntry] = []
        while let entries = walk.next(now: now) { found += entries }
        return found.inOrder
    }

    @discardableResult
    package func remove(_ selection: Selection, now: Instant) -> Int {
        run(CacheSweep(self, selection, .remove), now: now)
    }

    @discardableResult
    package func remove(now: Instant, where classify: @escaping CacheSweep.Judge) -> Int {
        run(CacheSweep(removingFrom: self, now: now, where: classify), now: now)
    }

    @discardableResult
    package func markStale(_ selection: Selection, now: Instant) -> Int {
        run(CacheSweep(self, selection, .markStale), now: now)
    }

    private func run(_ sweep: consuming CacheSweep, now: Instant) -> Int {
        while sweep.step(now: now) {}
        return sweep.count
    }

    package func collectMirroredHits() -> [MirroredHits] {
        var (hits, next) = collectMirroredHits(from: 0)
        while let position = next {
            let step = collectMirroredHits(from: position)
            hits += step.hits
            next = step.next
        }
        return hits
    }

    /// Stores the entries of a snapshot; stores no entry if the file is damaged.
    package func restore(
        _ file: [UInt8],
        now: Instant,
        wallTime: UInt64,
        selecting selection: @escaping SnapshotReader.Selection = { _ in { _ in true } },
        believing believes: @escaping (String) -> Bool = { _ in false },
        serverNumber: (String) -> UInt16
    ) throws(SnapshotError) -> SnapshotSummary {
        var checker = SnapshotReader(into: nil, now: now, wallTime: wallTime, believing: believes)
        try checker.readAll(file) { _ in 0 }
        var reader = SnapshotReader(
            into: self,
            now: now,
            wallTime: wallTime,
            selecting: selection,
            believing: believes
        )
        return try reader.readAll(file, serverNumber)
    }
}

extension SnapshotReader {
    @discardableResult
    fileprivate mutating func readAll(
        _ file: [UInt8],
        _ serverNumber: (String) -> UInt16
    ) throws(SnapshotError) -> SnapshotSummary {
        for position in stride(from: 0, to: file.count, by: 64 << 10) {
            try read(file[position..<min(position + 64 << 10, file.count)], serverNumber)
        }
        return try finish()
    }
}
