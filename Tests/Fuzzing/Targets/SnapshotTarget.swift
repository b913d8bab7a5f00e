// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import TestWorld

extension FuzzTarget {
    /// If the lowest bit of the first octet is 1, the target first corrects the checksums of the
    /// file, as an attacker would do.
    static let snapshot = FuzzTarget(name: "snapshot") { octets in
        var input = FuzzInput(octets)
        let isMadeUp = input.octet() & 1 != 0
        let file = Array(input.rest)
        try SnapshotOracle().judge(isMadeUp ? SnapshotOracle.withChecksums(file) : file)
    }
}

private struct SnapshotOracle {
    private let cache: AnswerCache
    private let start: Instant

    private static let wallTime: UInt64 = 1_000_000

    init() {
        start = Instant(nanoseconds: 1 << 50)
        cache = AnswerCache(limit: 0, origin: start, seed: 7)
    }

    func judge(_ file: [UInt8]) throws {
        let summary: SnapshotSummary
        do throws(SnapshotError) {
            summary = try cache.restore(file, now: start, wallTime: Self.wallTime) { _ in 1 }
        } catch {
            try promise(cache.numbers.insertions == 0, "\(error), but some of it is used")
            try promise((0...file.count).contains(error.offset), "\(error) is not in the file")
            return
        }
        try promise(summary.restored <= summary.entries, "more restored than in the file")
        let entries = self.entries
        try promise(entries.count <= summary.restored, "an entry was not restored")
        for entry in entries { try judge(entry, in: file) }
        try judgeAnother(entries)
    }

    private func judge(_ entry: CacheEntry, in file: [UInt8]) throws {
        try promise(file.has(entry.name.octets), "\(entry.name) is not in the file")
        guard let message = entry.message else {
            throw Finding(description: "unreadable records of \(entry.name)")
        }
        // The TTL of a restored record can have changed, but the file must contain the same data.
        for record in message.answers where record.name == entry.name {
            try promise(file.has(record.data.octets) || isCompressed(record), "\(record) is new")
        }
        _ = cache.staleAnswer(
            for: Question(name: entry.name, type: entry.type),
            variant: AnswerVariant(dnssecOK: false, checkingDisabled: false),
            ttl: 30,
            now: start
        )
    }

    private func isCompressed(_ record: Record) -> Bool {
        switch record.data {
        case .a, .aaaa, .txt: false
        default: true
        }
    }

    private func judgeAnother(_ entries: [CacheEntry]) throws {
        var writer = SnapshotWriter(of: cache, now: start, wallTime: Self.wallTime)
        var file: [UInt8] = []
        while let octets = writer.next({ "server \($0)" }) { file += octets }
        let other = SnapshotOracle(cache: AnswerCache(limit: 0, origin: start, seed: 8), start)
        _ = try other.cache.restore(file, now: start, wallTime: Self.wallTime) { _ in 1 }
        let kept = entries.filter { $0.remaining + $0.staleRemaining > 0 }
        try promise(Set(other.entries.map(Key.init)) == Set(kept.map(Key.init)), "another cache")
    }

    private init(cache: AnswerCache, _ start: Instant) {
        self.cache = cache
        self.start = start
    }

    private struct Key: Hashable {
        let question: Question
        let variant: AnswerVariant
        let sections: AnswerSections

        init(_ entry: CacheEntry) {
            question = Question(name: entry.name, type: entry.type)
            variant = entry.variant
            sections = entry.sections
        }
    }

    private var entries: [CacheEntry] {
        var names: Set<Name> = []
        cache.remove(now: start) { name, _, _, _ in
            names.insert(name)
            return false
        }
        return names.flatMap { cache.entries(named: $0, type: nil, now: start) }
    }

    static func withChecksums(_ file: [UInt8]) -> [UInt8] {
        var file = file
        var block = 10
        while block + 9 <= file.count {
            let count = file[block + 1..<block + 5].reduce(0) { $0 << 8 | Int($1) }
            guard count <= file.count - block - 9 else { break }
            let sum = checksum(file[block..<block + 5] + file[block + 9..<block + 9 + count])
            for place in 0..<4 {
                file[block + 5 + place] = UInt8(truncatingIfNeeded: sum >> UInt32(24 - 8 * place))
            }
            block += 9 + count
        }
        return file
    }

    private static func checksum(_ octets: some Sequence<UInt8>) -> UInt32 {
        var sum = UInt32.max
        for octet in octets {
            sum ^= UInt32(octet)
            for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1) * 0x82F6_3B78 }
        }
        return ~sum
    }
}
