// SPDX-License-Identifier: Apache-2.0
import DNSWire
import TestWorld
import Testing

@testable import DNSCache

@Suite("Listings and sweeps hold the cache's lock only for a few entries at a time")
struct LookingTests {
    private let origin = Instant(nanoseconds: 1 << 50)

    private func cache(_ count: Int) throws -> AnswerCache {
        let cache = AnswerCache(limit: 4 << 20, origin: origin, seed: 9)
        for index in 0..<count {
            cache.insert(try .addresses(try Name("n\(index).example.com"), ttl: 60), now: origin)
        }
        cache.insert(try .addresses("www.example.org", ttl: 60), now: origin)
        return cache
    }

    @Test("one step of a sweep removes at most 256 entries")
    func removing() throws {
        let cache = try cache(5_000)
        var sweep = CacheSweep(cache, .tree("example.com"), .remove)
        var steps = 0
        var before = 0
        while sweep.step(now: origin) {
            steps += 1
            #expect(sweep.count - before <= AnswerCache.stride)
            #expect(cache.numbers.entries == 5_001 - UInt64(sweep.count))
            before = sweep.count
            let other = Question(name: "www.example.org", type: .a)
            #expect(cache.entry(answering: other, variant: .any, now: origin) != nil)
        }
        #expect(sweep.count == 5_000 && steps >= 5_000 / AnswerCache.stride)
        #expect(cache.numbers.entries == 1)
        #expect(AnswerCache.stride <= 256, "some 20 µs")
    }

    @Test("a sweep that marks entries as stale marks each fresh entry once")
    func marking() throws {
        let cache = try cache(1_000)
        var sweep = CacheSweep(cache, .all, .markStale)
        while sweep.step(now: origin) {}
        #expect(sweep.count == 1_001)
        var again = CacheSweep(cache, .all, .markStale)
        while again.step(now: origin) {}
        #expect(again.count == 0 && cache.numbers.entries == 1_001)
    }

    @Test(
        "a sweep does not remove or mark entries that are stored during the sweep",
        arguments: [true, false]
    )
    func present(_ removes: Bool) throws {
        let cache = try cache(5_000)
        var sweep =
            removes
            ? CacheSweep(removingFrom: cache, now: origin) { _, _, _, _ in true }
            : CacheSweep(cache, .all, .markStale, storedUpTo: origin)
        let later = origin + .milliseconds(1)
        var news = 0
        while sweep.step(now: later) {
            cache.insert(try .addresses(try Name("s\(news).example.org"), ttl: 60), now: later)
            news += 1
        }
        #expect(sweep.count == 5_001 && news >= 5_000 / AnswerCache.stride)
        var fresh = CacheSweep(cache, .all, .markStale, storedUpTo: later)
        while fresh.step(now: later) {}
        #expect(fresh.count == news)
    }

    @Test("a sweep finds all entries, even if insertions move some of them during the sweep")
    func overtaken() throws {
        let cache = AnswerCache(limit: 256 << 10, origin: origin, seed: 9)
        let old = try (0..<300).map { try Name("n\($0).example.com") }
        for name in old { cache.insert(try .addresses(name), now: origin) }
        var sweep = CacheSweep(removingFrom: cache, now: origin) { name, _, _, _ in
            "\(name)".hasSuffix("example.com.")
        }
        let later = origin + .milliseconds(1)
        var steps = 0
        while sweep.step(now: later) {
            guard !sweep.isLate else { continue }
            for index in 0..<AnswerCache.stride {
                for name in old where index.isMultiple(of: 16) {
                    let question = Question(name: name, type: .a)
                    _ = cache.staleAnswer(for: question, variant: .any, ttl: 30, now: later)
                }
                let name = try Name("s\(steps)-\(index).example.org")
                cache.insert(try .addresses(name), now: later)
            }
            steps += 1
            try #require(steps < 100)
        }
        for name in old { #expect(cache.entries(named: name, type: nil, now: later).isEmpty) }
    }

    @Test("a sweep ends after one pass over the cache, even if other threads insert entries")
    func lap() throws {
        let cache = AnswerCache(limit: 256 << 10, origin: origin, seed: 9)
        for index in 0..<1_000 {
            cache.insert(try .addresses(try Name("n\(index).example.com")), now: origin)
        }
        var sweep = CacheSweep(cache, .name("none.example.com", nil), .markStale)
        var steps = 0
        while sweep.step(now: origin) {
            for index in 0..<AnswerCache.stride {
                let name = try Name("s\(steps)-\(index).example.org")
                cache.insert(try .addresses(name), now: origin)
            }
            steps += 1
            try #require(steps < 100)
        }
        #expect(sweep.count == 0)
    }

    @Test("a listing contains each entry once, and does not count as a hit of an entry")
    func walking() throws {
        let cache = try cache(1_000)
        var walk = CacheWalk(cache)
        var names: [Name] = []
        while let entries = walk.next(now: origin + .seconds(20)) {
            #expect(entries.count <= CacheWalk.copies)
            #expect(entries.allSatisfy { $0.age == 20 && $0.remaining == 40 && $0.hits == 0 })
            names += entries.map(\.name)
        }
        #expect(names.count == 1_001 && Set(names).count == 1_001)
        #expect(walk.isAtEnd && CacheWalk.copies <= 16)
    }

    @Test("the selection of entries by name or domain ignores the letter case")
    func selecting() throws {
        let cache = AnswerCache(limit: 1 << 20, origin: origin, seed: 9)
        let names = [
            "example.com", "WWW.Example.COM", "a.b.example.com", "notexample.com", "com",
            "example.com.org", "xexample.com", "example.comm",
        ]
        for name in names { cache.insert(try .addresses(try Name(name)), now: origin) }
        #expect(cache.entries(named: "www.EXAMPLE.com", type: nil, now: origin).count == 1)
        #expect(cache.entries(named: "www.example.com", type: .aaaa, now: origin).isEmpty)
        #expect(cache.remove(.name("a.B.example.com", .a), now: origin) == 1)
        #expect(cache.remove(.tree("eXample.com"), now: origin) == 2)
        #expect(cache.remove(.tree("com"), now: origin) == 3)
        #expect(cache.remove(.tree("."), now: origin) == 2)
    }

    @Test("a read of an entry returns the same answer as a hit, but does not count as a hit")
    func answering() throws {
        let cache = try cache(1)
        let question = Question(name: "N0.example.com", type: .a)
        let variant = AnswerVariant(dnssecOK: true, checkingDisabled: false)
        for _ in 0..<2 {
            let entry = try #require(
                cache.entry(answering: question, variant: variant, now: origin + .seconds(59))
            )
            #expect(entry.remaining == 1 && entry.hits == 0)
        }
        let end = origin + .seconds(60)
        #expect(cache.entry(answering: question, variant: variant, now: end) == nil)
        #expect(cache.lastResort(for: question, variant: variant, now: end) == nil, "no window")
    }
}
