// SPDX-License-Identifier: Apache-2.0
import DNSWire
import TestWorld
import Testing

@testable import DNSCache

@Suite("Entries that the operator marks as stale (`httpdnsctl flush --soft`)")
struct MarkingTests {
    private let origin = Instant(nanoseconds: 1 << 50)
    private let cache: AnswerCache

    init() {
        cache = AnswerCache(limit: 1 << 20, origin: origin, seed: 13)
    }

    private func ask(_ name: Name, at time: Duration) throws -> Answered? {
        try cache.withTable(now: origin + time) { table, now in
            Result { try table.ask(Asked(name: name), now: now) }
        }.get()
    }

    @Test(arguments: [0.0, 0.999, 1, 59.999])
    func `a marked entry is no longer answered but stays in the cache`(_ seconds: Double) throws {
        cache.insert(try .addresses("www.example.com", ttl: 60), now: origin)
        let time = Duration.seconds(seconds)
        #expect(cache.markStale(.all, now: origin + time) == 1)
        #expect(try ask("www.example.com", at: time) == nil)
        #expect(cache.numbers.entries == 1)
        #expect(cache.numbers.markedStale == 1)
        let entry = try #require(
            cache.entries(named: "www.example.com", type: nil, now: origin + time).first
        )
        #expect(entry.remaining == 0)
        #expect(entry.age == UInt64(seconds))
    }

    @Test
    func `a stale entry is not marked again`() throws {
        cache.insert(try .addresses("old.example.com", ttl: 5), now: origin)
        cache.insert(try .addresses("new.example.com", ttl: 60), now: origin)
        let now = origin + .seconds(5)
        #expect(cache.markStale(.stale, now: now) == 0)
        #expect(cache.markStale(.all, now: now) == 1)
        #expect(cache.markStale(.all, now: now) == 0)
        #expect(cache.numbers.markedStale == 1)
    }

    @Test
    func `a new answer clears the mark`() throws {
        cache.insert(try .addresses("www.example.com", [1]), now: origin)
        cache.markStale(.name("www.example.com", .a), now: origin + .seconds(1))
        cache.insert(try .addresses("www.example.com", [2]), now: origin + .seconds(2))
        #expect(try ask("www.example.com", at: .seconds(3))?.addresses == [2])
        #expect(cache.numbers.entries == 1)
    }

    private static let selections: [(String, AnswerCache.Selection, [Name])] = [
        ("stale", .stale, ["old.example.com"]),
        ("vendors", .source(.vendor), ["new.example.com", "old.example.com"]),
        ("upstreams", .source(.upstream), ["none.example.com"]),
        ("this daemon", .source(.local), []),
        ("some servers", .servers([2, 7, 9]), ["new.example.com", "none.example.com"]),
        ("no server", .servers([]), []),
    ]

    @Test(arguments: selections)
    func `entries can be selected by freshness and source together`(
        _ label: String,
        _ selection: AnswerCache.Selection,
        _ selected: [Name]
    ) throws {
        cache.insert(try .addresses("old.example.com", ttl: 5, server: 1), now: origin)
        cache.insert(try .addresses("new.example.com", server: 7), now: origin)
        cache.insert(try .denial("none.example.com"), now: origin)
        let now = origin + .seconds(6)
        let fresh = selected.filter { $0 != "old.example.com" }
        #expect(cache.markStale(selection, now: now) == (selection == .stale ? 0 : fresh.count))
        for name in ["new.example.com", "none.example.com"] as [Name] {
            let answered = try ask(name, at: .seconds(6))
            #expect((answered == nil) == selected.contains(name), "\(name)")
        }
        cache.insert(try .addresses("new.example.com", server: 7), now: now)
        cache.insert(try .denial("none.example.com"), now: now)
        #expect(cache.remove(selection, now: now) == selected.count)
        #expect(cache.numbers.entries == 3 - UInt64(selected.count))
    }

    @Test
    func `marking in several steps marks each entry once`() throws {
        let cache = AnswerCache(limit: 4 << 20, origin: origin, seed: 4)
        for index in 0..<5_000 {
            cache.insert(try .addresses(try Name("n\(index).example.com")), now: origin)
        }
        #expect(cache.markStale(.tree("example.com"), now: origin) == 5_000)
        #expect(cache.numbers.entries == 5_000)
        #expect(cache.remove(.stale, now: origin) == 5_000)
    }
}
