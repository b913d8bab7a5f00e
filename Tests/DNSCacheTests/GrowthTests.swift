// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Glibc
import Testing

@testable import DNSCache

@Suite("The memory use of the cache grows and shrinks with its content")
struct GrowthTests {
    private static func name(_ number: Int) throws -> Name { try Name("n\(number).example.com") }

    private static func fill(_ table: inout AnswerTable, _ numbers: Range<Int>) throws {
        for number in numbers {
            let answer = try CachedAnswer.addresses(try name(number), [UInt32(number)], ttl: 3600)
            let isStored = table.insert(answer, now: 0)
            #expect(isStored)
        }
    }

    private static func known(_ table: inout AnswerTable, _ numbers: Range<Int>) throws -> Int {
        try numbers.count { number in
            let answer = try table.ask(Asked(name: try name(number)), now: 1000, limit: 512)
            return answer?.addresses == [UInt32(number)]
        }
    }

    @Test
    func `a growing index loses almost no entries`() throws {
        var table = AnswerTable(limit: 16 << 20, seed: 3)
        for count in stride(from: 0, to: 50_000, by: 5_000) {
            try Self.fill(&table, count..<count + 5_000)
            #expect(table.faults() == [])
        }
        let known = try Self.known(&table, 0..<50_000)
        #expect(known == Int(table.numbers.entries))
        // A few entries are missing: an insertion evicts an entry if both buckets of the new name
        // are full.
        #expect(known >= 49_998)
    }

    @Test
    func `an insertion adds few buckets, and the index is as small as its load requires`() throws {
        var table = AnswerTable(limit: 16 << 20, seed: 4)
        var before = table.index.octets
        var hurries = 0
        for number in 0..<30_000 {
            try Self.fill(&table, number..<number + 1)
            let added = (table.index.octets - before) / 64
            #expect(added <= 66)
            if added > 2 { hurries += 1 }
            before = table.index.octets
            // The index begins with one page. If the index is 70 % full, it starts to double its
            // size.
            #expect(before <= max(8192, (number + 1) * 8 * 20 / 7 + 66 * 64))
        }
        #expect(hurries < 10)
        #expect(table.numbers.indexOctets == UInt64(before))
    }

    @Test
    func `an index at its maximum size replaces entries`() throws {
        var table = AnswerTable(limit: 256 << 10, seed: 5)
        try Self.fill(&table, 0..<20_000)
        #expect(table.index.octets == table.index.mostOctets)
        #expect(table.ring.capacity + table.index.mostOctets <= 256 << 10)
        #expect(table.faults() == [])
    }

    @Test
    func `removed entries release memory, and the cache remains usable`() throws {
        var table = AnswerTable(limit: 16 << 20, seed: 6)
        for round in 0..<5 {
            let numbers = round * 10_000..<round * 10_000 + 40_000
            try Self.fill(&table, numbers)
            let known = try Self.known(&table, numbers)
            #expect(known > 39_990)
            #expect(table.residentOctets > 3 << 20)
            let end = table.walk(from: 0, count: .max) { _, _ in .remove }
            #expect(end == nil)
            var turns = 0
            while table.giveBack() { turns += 1 }
            #expect(turns > 30)
            #expect(table.faults() == [])
            #expect(table.residentOctets <= 1 << 19)
            #expect(table.numbers.indexOctets == 4096)
        }
    }

    @Test
    func `free memory that follows a live entry is kept for the next insertions`() throws {
        var table = AnswerTable(limit: 16 << 20, seed: 7)
        try Self.fill(&table, 0..<40_000)
        let kept = try Self.name(20_000)
        _ = table.walk(from: 0, count: .max) { $0.name($1) == kept ? .keep : .remove }
        while table.giveBack() {}
        let isThere = try Self.known(&table, 20_000..<20_001) == 1
        #expect(isThere)
        let isFirst = table.ring.isLive(table.ring.reference(at: table.ring.tail))
        #expect(isFirst)
        try Self.fill(&table, 0..<40_000)
        #expect(table.faults() == [])
        let known = try Self.known(&table, 0..<40_000)
        #expect(known > 39_990)
    }
}

extension AnswerTable {
    fileprivate var residentOctets: Int {
        ring.pages.residentOctets + index.pages.residentOctets
    }
}

extension Pages {
    fileprivate var residentOctets: Int {
        var map = [UInt8](repeating: 0, count: octets / Self.size)
        #expect(mincore(start, octets, &map) == 0)
        return map.count { $0 & 1 != 0 } * Self.size
    }
}
