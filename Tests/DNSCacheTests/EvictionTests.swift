// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import DNSCache

@Suite("Eviction from a full cache")
struct EvictionTests {
    @Test
    func `the cache never exceeds its size limit`() throws {
        var random = Seeded(seed: 1)
        var table = AnswerTable(limit: 256 << 10, seed: 5)
        #expect(table.numbers.limitOctets == 256 << 10)
        #expect(UInt64(table.ring.capacity + table.index.octets) <= table.numbers.limitOctets)
        for index in 0..<20_000 {
            let name = try Name("n\(index).example.com")
            let count = Int.random(in: 0..<100, using: &random) == 0 ? 3_000 : 3
            _ = table.insert(try .addresses(name, Array(0..<UInt32(count))), now: UInt64(index))
            guard table.ring.head - table.ring.tail <= table.ring.capacity,
                table.numbers.octets <= UInt64(table.ring.head - table.ring.tail)
            else {
                Issue.record("beyond the bound after \(index)")
                return
            }
        }
        #expect(table.faults() == [])
        #expect(table.numbers.evictions > 0)
        #expect(
            table.numbers.insertions
                == table.numbers.entries + table.numbers.evictions + table.numbers.expired
        )
    }

    @Test
    func `a flood of large answers leaves most other answers in the cache`() throws {
        var table = AnswerTable(limit: 1 << 20, seed: 6)
        func large(_ name: Name, _ source: AnswerSource) throws -> CachedAnswer {
            try .addresses(name, Array(0..<UInt32(500)), source: source)
        }
        let isFirst = table.insert(try large("first.example.org", .upstream), now: 0)
        #expect(isFirst)
        for index in 0..<20_000 where table.ring.hasRoom(for: 1_000) {
            let name = try Name("used\(index).example.com")
            _ = table.insert(try .addresses(name, ttl: 86_400), now: 0)
        }
        let before = table.numbers.entries
        var stored = 0
        for index in 0..<1_000 {
            let name = try Name("x\(index).example.org")
            if table.insert(try large(name, .upstream), now: UInt64(index)) { stored += 1 }
        }
        #expect((10...20).contains(stored), "an eighth of the ring buffer: \(stored)")
        #expect(table.numbers.entries > before * 8 / 10)
        // Without the cache entry, each query would cause a billed call.
        let isKept = table.insert(try large("v.example.com", .vendor), now: 1_001)
        #expect(isKept)
        let later = LargeAnswers.period + 1_000
        let isStored = table.insert(try large("y.example.org", .upstream), now: later)
        #expect(isStored)
        #expect(table.faults() == [])
    }

    @Test
    func `names in use survive a flood of names queried once`() throws {
        var table = AnswerTable(limit: 256 << 10, seed: 6)
        let used = try (0..<200).map { try Name("used\($0).example.com") }
        for (index, name) in used.enumerated() {
            _ = table.insert(try .addresses(name, [UInt32(index)], ttl: 86_400), now: 0)
        }
        var lost = 0
        for index in 0..<100_000 {
            let now = UInt64(index)
            _ = table.insert(try .addresses(try Name("x\(index).example.org")), now: now)
            guard index.isMultiple(of: 500) else { continue }
            for (number, name) in used.enumerated() {
                if let answered = try table.ask(Asked(name: name), now: now, limit: 512) {
                    #expect(answered.addresses == [UInt32(number)])
                } else {
                    lost += 1
                    _ = table.insert(
                        try .addresses(name, [UInt32(number)], ttl: 86_400),
                        now: now
                    )
                }
            }
        }
        // One insertion can move at most 32 fresh entries with hits to the head of the ring. So
        // eviction removes at least one of 33 examined entries.
        #expect(lost < 400)
        #expect(table.faults() == [])
        #expect(table.numbers.evictions > 90_000)
    }

    @Test(arguments: [3, 40, 90])
    func `popular answers of vendors survive a flood of other answers`(_ addresses: Int) throws {
        var table = AnswerTable(limit: 1 << 20, seed: 6)
        let used = try (0..<1_000).map { try Name("used\($0).example.com") }
        for name in used { _ = table.insert(try .addresses(name, ttl: 86_400), now: 0) }
        let (flood, values) = (20_000, Array(0..<UInt32(addresses)))
        var (lost, stored) = (0, 0)
        for index in 0..<flood {
            if index.isMultiple(of: 100) {
                for name in used where try table.ask(Asked(name: name), now: 0, limit: 512) == nil {
                    lost += 1
                    _ = table.insert(try .addresses(name, ttl: 86_400), now: 0)
                }
            }
            let name = try Name("x\(index).example.org")
            let answer = try CachedAnswer.addresses(name, values, source: .upstream)
            if table.insert(answer, now: 0) { stored += 1 }
        }
        #expect(lost == 0)
        #expect(stored > flood * 8 / 10)
        #expect(table.faults() == [])
    }

    @Test
    func `names that are no longer queried are evicted`() throws {
        var table = AnswerTable(limit: 256 << 10, seed: 7)
        _ = table.insert(try .addresses("www.example.com", ttl: 86_400), now: 0)
        _ = try table.ask(Asked(name: "www.example.com"), now: 0)
        for index in 0..<10_000 {
            _ = table.insert(try .addresses(try Name("x\(index).example.org")), now: 1)
        }
        let answered = try table.ask(Asked(name: "www.example.com"), now: 1)
        #expect(answered == nil)
    }

    @Test
    func `expired entries are evicted, even those with many hits, and counted as expired`() throws {
        var table = AnswerTable(limit: 256 << 10, seed: 8)
        for index in 0..<500 {
            let name = try Name("old\(index).example.com")
            _ = table.insert(try .addresses(name, ttl: 10), now: 0)
            _ = try table.ask(Asked(name: name), now: 0, limit: 512)
        }
        for index in 0..<5_000 {
            _ = table.insert(try .addresses(try Name("x\(index).example.org")), now: 10_000)
        }
        #expect(table.numbers.expired == 500)
        #expect(table.faults() == [])
    }

    private func survivors(
        fresh: Bool,
        asks: (inout AnswerTable, Name, _ now: UInt64) throws -> Void
    ) throws -> Int {
        var table = AnswerTable(limit: 256 << 10, seed: 17)
        let names = try (0..<100).map { try Name("old\($0).example.com") }
        for name in names {
            let answer = try CachedAnswer.addresses(
                name,
                ttl: fresh ? 86_400 : 10,
                staleWindow: 86_400
            )
            _ = table.insert(answer, now: 0)
        }
        for index in 0..<20_000 {
            let now = 20_000 + UInt64(index)
            _ = table.insert(
                try .addresses(try Name("x\(index).example.org"), staleWindow: 86_400),
                now: now
            )
            if index.isMultiple(of: 500) { for name in names { try asks(&table, name, now) } }
        }
        #expect(table.faults() == [])
        return table.namesLeft.intersection(names).count
    }

    @Test
    func `stale names in use survive a flood of names queried once`() throws {
        let asked = try survivors(fresh: false) { table, name, now in
            let question = Question(name: name, type: .a)
            _ = table.staleAnswer(
                for: question,
                variant: AnswerVariant(rawValue: 0),
                ttl: 30,
                now: now
            )
        }
        let unasked = try survivors(fresh: false) { _, _, _ in }
        let fresh = try survivors(fresh: true) { table, name, now in
            _ = try table.ask(Asked(name: name), now: now, limit: 512)
        }
        #expect(asked > 80)
        #expect(unasked == 0)
        #expect(fresh >= asked)
    }

    @Test
    func `in a cache full of names in use, stale names are evicted first`() throws {
        var table = AnswerTable(limit: 256 << 10, seed: 18)
        var stale: Set<Name> = []
        var index = 0
        while table.ring.hasRoom(for: 200) {
            let isFresh = index.isMultiple(of: 2)
            let name = try Name("n\(index).example.com")
            let answer = try CachedAnswer.addresses(
                name,
                ttl: isFresh ? 86_400 : 1,
                staleWindow: 86_400
            )
            _ = table.insert(answer, now: 0)
            _ = try table.ask(Asked(name: name), now: 0, limit: 512)
            if !isFresh { stale.insert(name) }
            index += 1
        }
        let before = table.namesLeft
        for index in 0..<60 {
            let name = try Name("y\(index).example.org")
            _ = table.insert(try .addresses(name), now: 10_000)
        }
        let lost = before.subtracting(table.namesLeft)
        #expect(lost.count > 30)
        #expect(lost.isSubset(of: stale))
    }

    @Test
    func `a cache full of names in use accepts new names`() throws {
        var table = AnswerTable(limit: 256 << 10, seed: 9)
        for index in 0..<20_000 {
            let name = try Name("x\(index).example.org")
            let isStored = table.insert(try .addresses(name), now: 0)
            let answered = try table.ask(Asked(name: name), now: 0, limit: 512)
            guard isStored, answered != nil else {
                Issue.record("\(name) was not stored")
                return
            }
        }
        #expect(table.faults() == [])
    }

    @Test
    func `entries of every length wrap around the end of the ring`() throws {
        var random = Seeded(seed: 10)
        var table = AnswerTable(limit: 32 << 10, seed: 10)
        var stored: [(name: Name, count: Int)] = []
        for index in 0..<4_000 {
            let name = try Name("x\(index).example.org")
            let count = Int.random(in: 0..<40, using: &random)
            _ = table.insert(try .addresses(name, Array(0..<UInt32(count))), now: 0)
            stored.append((name, count))
            for (name, count) in stored.suffix(30) where Bool.random(using: &random) {
                let answered = try table.ask(Asked(name: name), now: 0)
                if let answered, answered.addresses.count != count {
                    Issue.record("\(name) has other records")
                    return
                }
            }
            if index.isMultiple(of: 20) {
                let faults = table.faults()
                guard faults.isEmpty else {
                    Issue.record("\(faults) after \(index)")
                    return
                }
            }
        }
        #expect(table.numbers.evictions > 3_000)
    }

    @Test
    func `questions that would collide in an XOR hash all fit in an empty cache`() throws {
        // If the cache used the hash `seed ^ type * K ^ (first 8 octets of the name)`, all these
        // questions would be in the same two buckets.
        var table = AnswerTable(limit: 64 << 20, seed: .random(in: .min ... .max))
        let chosen = try Self.cancelling(120)
        for (name, type) in chosen {
            _ = table.insert(try .addresses(name, type: type), now: 0)
        }
        #expect(table.numbers.entries == 120)
        #expect(table.numbers.evictions == 0)
        #expect(table.faults() == [])
    }

    /// Returns questions with an equal value of (first 8 octets of the name) XOR (type times K).
    private static func cancelling(_ count: Int) throws -> [(Name, RecordType)] {
        var chosen: [(Name, RecordType)] = []
        for type in UInt16(256)...65_000 where chosen.count < count {
            let word = 0x2121_2121_2121_211F ^ UInt64(type) &* 0x9E37_79B9_7F4A_7C15
            let octets = (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
            let hasUpper = octets.dropFirst().contains { (0x41...0x5A).contains($0) }
            guard (7...63).contains(octets[0]), octets[0] & 1 == 1, !hasUpper else { continue }
            let wire = octets + [UInt8](repeating: 1, count: 58) + [0]
            let name = try wire.withUnsafeBytes { try Name(wire: $0) }
            chosen.append((name, RecordType(rawValue: type)))
        }
        return chosen
    }
}
