// SPDX-License-Identifier: Apache-2.0
import DNSWire
import TestWorld
import Testing

@testable import DNSCache

struct Life {
    let cache: AnswerCache
    let origin = Instant(nanoseconds: 1 << 50)

    init(limit: Int = 1 << 20) {
        cache = AnswerCache(limit: limit, origin: origin, seed: 31)
    }

    func at(_ seconds: Double) -> Instant { origin + .seconds(seconds) }

    func insert(_ answer: CachedAnswer, at seconds: Double = 0) {
        cache.insert(answer, now: at(seconds))
    }

    func ask(_ asked: Asked, at seconds: Double = 0) throws -> Answered? {
        try cache.withTable(now: at(seconds)) { table, now in
            Result { try table.ask(asked, now: now) }
        }.get()
    }

    func blocks(
        at seconds: Double = 0,
        wallTime: UInt64 = 1_000_000,
        digests: [String: UInt64] = [:]
    ) -> [[UInt8]] {
        var writer = SnapshotWriter(
            of: cache,
            now: at(seconds),
            wallTime: wallTime,
            digests: digests
        )
        var blocks: [[UInt8]] = []
        while let block = writer.next({ "server \($0)" }) { blocks.append(block) }
        return blocks
    }

    func snapshot(
        at seconds: Double = 0,
        wallTime: UInt64 = 1_000_000,
        digests: [String: UInt64] = [:]
    ) -> [UInt8] {
        Array(blocks(at: seconds, wallTime: wallTime, digests: digests).joined())
    }

    @discardableResult
    func load(
        _ file: [UInt8],
        at seconds: Double = 0,
        wallTime: UInt64 = 1_000_000
    ) throws -> SnapshotSummary {
        try cache.restore(file, now: at(seconds), wallTime: wallTime) { name in
            UInt16(name.dropFirst("server ".count)).map { $0 + 100 } ?? 0
        }
    }

    func entry(_ name: Name, at seconds: Double = 0) -> CacheEntry? {
        cache.entries(named: name, type: nil, now: at(seconds)).first
    }

    var faults: [String] { cache.withTable(now: origin) { table, _ in table.faults() } }
}

private let www: Name = "www.example.com"

@Suite("Snapshots of the cache, and caches restored from them")
struct SnapshotTests {
    @Test
    func `a restored cache has the same answers`() throws {
        let old = Life()
        let signed = AnswerVariant(dnssecOK: true, checkingDisabled: false)
        old.insert(try .addresses(www, [1, 2, 3], ttl: 300, server: 3, staleWindow: 900))
        old.insert(try .addresses(www, [4], ttl: 300, variant: signed, server: 7), at: 10)
        old.insert(try .addresses(www, type: .odd, ttl: 300, source: .upstream), at: 20)
        old.insert(try .denial("no.example.com", ttl: 90, staleWindow: 5), at: 30)
        old.insert(try .denial("empty.example.com", .noError, ttl: 90), at: 40)
        for _ in 0..<5 { _ = try old.ask(Asked(name: www), at: 41) }

        let new = Life()
        let file = old.snapshot(at: 50)
        let summary = try new.load(file, wallTime: 1_000_020)
        #expect(summary == SnapshotSummary(writtenAt: 1_000_000, entries: 5, restored: 5))
        for name in [www, "no.example.com", "empty.example.com"] as [Name] {
            let before = old.cache.entries(named: name, type: nil, now: old.at(70))
            let after = new.cache.entries(named: name, type: nil, now: new.origin)
            #expect(after.map(\.server) == before.map { $0.server + 100 })
            #expect(
                after.map { entry in
                    var entry = entry
                    entry.server -= 100
                    return entry
                } == before
            )
        }
        #expect(try new.ask(Asked(name: www))?.addresses == [1, 2, 3])
        #expect(try new.ask(Asked(name: www))?.ttls == [230, 230, 230])
        #expect(try new.ask(Asked(name: "no.example.com"))?.message.rcode == .nxDomain)
        #expect(new.faults == [])
    }

    @Test
    func `a restore passes the digests of the file to the function that selects answers`() throws {
        let (old, new) = (Life(), Life())
        old.insert(try .addresses(www, [1]))
        old.insert(try .denial("no.example.com"))
        let written: [String: UInt64] = ["routes": 0x0102_0304_0506_0708, "": 1]
        var digests: [[String: UInt64]] = []
        let summary = try new.cache.restore(
            old.snapshot(digests: written),
            now: new.origin,
            wallTime: 1_000_000,
            selecting: {
                digests.append($0)
                return { $0.question.name == www }
            },
            serverNumber: { _ in 1 }
        )
        #expect(digests == [written])
        #expect(summary.entries == 2)
        #expect(summary.restored == 1)
        #expect(new.entry(www) != nil)
    }

    @Test
    func `a failure since the start does not prevent restoring a good answer`()
        throws
    {
        let old = Life()
        old.insert(try .addresses(www, [1], ttl: 300, staleWindow: 900))
        let new = Life()
        new.insert(.failure(www), at: 9)
        #expect(try new.load(old.snapshot(), at: 10).restored == 1)
        #expect(try new.ask(Asked(name: www), at: 10)?.addresses == [1])
        #expect(new.faults == [])
    }

    @Test
    func `the snapshot of an empty cache can be restored`() throws {
        let file = Life().snapshot()
        let summary = try Life().load(file)
        #expect(summary == SnapshotSummary(writtenAt: 1_000_000, entries: 0, restored: 0))
    }

    @Test
    func `a restored cache has the same snapshot`() throws {
        let old = Life()
        for index in 0..<700 {
            old.insert(
                try .addresses(
                    try Name("n\(index).example.com"),
                    Array(0..<UInt32(index % 9)),
                    server: UInt16(index % 5),
                    staleWindow: 100,
                    refreshAfter: UInt32(index % 50)
                )
            )
        }
        let file = old.snapshot()
        let new = Life()
        _ = try new.cache.restore(file, now: new.origin, wallTime: 1_000_000) { name in
            UInt16(name.dropFirst("server ".count)) ?? 0
        }
        #expect(new.snapshot() == file)
    }

    @Test(arguments: [
        ("immediately", 0, "fresh"), ("a minute later", 60, "fresh"), ("at its end", 90, "stale"),
        ("before its window ends", 189, "stale"), ("as it ends", 190, "gone"),
        ("years later", 1_000_000_000, "gone"), ("a minute before it was written", -60, "fresh"),
        ("long before it was written", -5_000, "stale"),
    ])
    func `TTLs also count down while the daemon is stopped`(
        _ label: String,
        _ seconds: Int,
        _ state: String
    ) throws {
        let old = Life()
        old.insert(try .addresses(www, ttl: 100, staleWindow: 100))
        let new = Life()
        let file = old.snapshot(at: 10)
        let summary = try new.load(file, wallTime: UInt64(1_000_000 + seconds))
        #expect(summary.restored == (state == "gone" ? 0 : 1))
        #expect((try new.ask(Asked(name: www)) != nil) == (state == "fresh"))
        let stale = new.cache.staleAnswer(
            for: Question(name: www, type: .a),
            variant: .plain,
            ttl: 30,
            now: new.origin
        )
        #expect((stale != nil) == (state != "gone"))
        #expect((stale?.expiredFor != nil) == (state == "stale"))
        if state == "stale" { #expect(stale?.expiredFor == UInt64(max(0, seconds - 90))) }
    }

    @Test
    func `a snapshot does not raise the TTL of an entry`() throws {
        let old = Life()
        old.insert(try .addresses(www, ttl: 100))
        let new = Life()
        try new.load(old.snapshot(at: 10.5))
        #expect(try new.ask(Asked(name: www))?.ttls == [89])
    }

    @Test
    func `an entry marked as stale stays stale`() throws {
        let old = Life()
        old.insert(try .addresses(www, ttl: 100, staleWindow: 100))
        old.cache.markStale(.all, now: old.at(0.5))
        let new = Life()
        try new.load(old.snapshot(at: 1))
        #expect(try new.ask(Asked(name: www)) == nil)
        #expect(new.entry(www)?.staleRemaining == 99)
    }

    @Test
    func `failures and local answers are not written`() throws {
        let old = Life()
        old.insert(.failure(www, ttl: 100))
        old.insert(try .addresses("localhost", source: .local))
        old.insert(try .addresses("gone.example.com", ttl: 1))
        #expect(try Life().load(old.snapshot(at: 1)).entries == 0)
    }

    @Test
    func `a restore does not replace answers that were stored before the restore`() throws {
        let old = Life()
        old.insert(try .addresses(www, [1]))
        old.insert(try .addresses("other.example.com", [1]))
        let new = Life()
        new.insert(try .addresses(www, [2]))
        let summary = try new.load(old.snapshot(at: 1), at: 1)
        #expect(summary.restored == 1)
        #expect(try new.ask(Asked(name: www), at: 1)?.addresses == [2])
        #expect(try new.ask(Asked(name: "other.example.com"), at: 1)?.addresses == [1])
        #expect(new.faults == [])
    }

    @Test
    func `the first hit after a restart requests a due refresh`() throws {
        let old = Life()
        old.insert(try .addresses(www, ttl: 100, refreshAfter: 75))
        for _ in 0..<3 { _ = try old.ask(Asked(name: www), at: 80) }
        let new = Life()
        try new.load(old.snapshot(at: 81))
        #expect(new.entry(www)?.hits == 3)
        let wants = try (0..<3).map { _ in try new.ask(Asked(name: www))?.hit.wantsRefresh }
        #expect(wants == [true, false, false])
    }

    @Test
    func `server labels map to their new numbers, and long labels are truncated`() throws {
        let old = Life()
        old.insert(try .addresses(www, server: 9))
        var writer = SnapshotWriter(of: old.cache, now: old.origin, wallTime: 5)
        var file: [UInt8] = []
        let long = String(repeating: "ü", count: 200)
        while let block = writer.next({ _ in long }) { file += block }
        #expect(writer.entries == 1)
        let new = Life()
        var asked: [String] = []
        _ = try new.cache.restore(file, now: new.origin, wallTime: 5) { name in
            asked.append(name)
            return 77
        }
        #expect(asked == [String(repeating: "ü", count: 127)])
        #expect(new.entry(www)?.server == 77)
    }

    @Test
    func `a smaller cache restores as much as fits, entries with the most hits first`() throws {
        let old = Life(limit: 4 << 20)
        for index in 0..<10_000 {
            let name = try Name("n\(index).example.com")
            old.insert(try .addresses(name))
            if index < 100 { _ = try old.ask(Asked(name: name)) }
        }
        let new = Life(limit: 256 << 10)
        let summary = try new.load(old.snapshot())
        #expect(summary.entries == 10_000)
        #expect(new.cache.numbers.entries > 1_000)
        #expect(new.faults == [])
        let left = new.cache.withTable(now: new.origin) { table, _ in table.namesLeft }
        let hot = try (0..<100).filter { left.contains(try Name("n\($0).example.com")) }
        let cold = try (100..<200).filter { left.contains(try Name("n\($0).example.com")) }
        #expect(cold.isEmpty)
        #expect(hot.count > 90 || new.cache.numbers.evictions > 7_000)
    }

    @Test
    func `a block has a limited size, with many entries and with large entries`() throws {
        let old = Life(limit: 16 << 20)
        for index in 0..<1_000 {
            old.insert(try .addresses(try Name("n\(index).example.com")))
        }
        let values = Array(0..<UInt32(3_900))
        for index in 0..<20 {
            old.insert(try .addresses(try Name("l\(index).example.com"), values))
        }
        let blocks = old.blocks()
        #expect(blocks.count > 10)
        #expect(blocks.allSatisfy { $0.count < SnapshotFormat.largestPayload })
        let new = Life(limit: 16 << 20)
        #expect(try new.load(Array(blocks.joined())).restored == 1_020)
        #expect(try new.ask(Asked(name: "l7.example.com"))?.addresses == values)
    }

    @Test
    func `writing a snapshot ends despite concurrent insertions`() throws {
        let life = Life(limit: 256 << 10)
        var random = Seeded(seed: 5)
        var writer = SnapshotWriter(of: life.cache, now: life.origin, wallTime: 1)
        var blocks: [[UInt8]] = []
        while let block = writer.next({ "server \($0)" }) {
            blocks.append(block)
            try #require(blocks.count < 100)
            for _ in 0..<1_000 {
                life.insert(try .addresses(try Name("n\(random.next()).example.com")))
            }
        }
        let new = Life()
        #expect(try new.load(Array(blocks.joined())).entries == writer.entries)
        #expect(new.faults == [])
    }

    @Test
    func `the list of entries is sorted by hits, and has each question once`() throws {
        let life = Life(limit: 4 << 20)
        for index in 0..<3_000 {
            let name = try Name("n\(index).example.com")
            life.insert(try .addresses(name, ttl: index < 10 ? 5 : 60, staleWindow: 100))
            let hits = index < 10 ? 10 + index : index % 3
            for _ in 0..<hits { _ = try life.ask(Asked(name: name)) }
        }
        life.insert(
            try .addresses(www, variant: AnswerVariant(dnssecOK: true, checkingDisabled: false))
        )
        life.insert(
            try .addresses(www, variant: AnswerVariant(dnssecOK: false, checkingDisabled: false))
        )
        for count in 0..<50 { _ = try life.ask(Asked(name: www, dnssecOK: count > 20)) }
        life.insert(.failure("bad.example.com", ttl: 60))
        for _ in 0..<99 { _ = try life.ask(Asked(name: "bad.example.com")) }

        let hottest = life.cache.hottest(4, now: life.at(6))
        #expect(
            hottest.map(\.question.name) == [
                www, "n9.example.com", "n8.example.com", "n7.example.com",
            ]
        )
        #expect(hottest.map(\.hits) == [29, 19, 18, 17])
        #expect(hottest.map(\.isFresh) == [true, false, false, false])
        #expect(life.cache.hottest(0, now: life.origin).isEmpty)
        #expect(life.cache.hottest(.max, now: life.origin).count == 11 + 1_994)
    }
}
