// SPDX-License-Identifier: Apache-2.0
import DNSWire
import TestWorld
import Testing

@testable import DNSCache

private final class Notebook: AnswerMirror, @unchecked Sendable {
    var copies: [String: Int64] = [:]
    var hits: [MirroredHits] = []
    var idle: [MirroredHits] = []
    var known: [String: MirroredHits] = [:]
    var room = 100
    var suspensions = (now: 0, all: 0)

    func store(
        _ answer: MirroredAnswer,
        name: RawSpan,
        ttlOffsets: RawSpan,
        sections: RawSpan
    ) -> Bool {
        guard copies.count < room else { return false }
        let key = key(name, answer.type, answer.variant)
        copies[key] = answer.endsAt
        known[key] = MirroredHits(of: answer, times: 1)
        return true
    }

    func remove(name: RawSpan, type: UInt16, variant: AnswerVariant) {
        copies[key(name, type, variant)] = nil
    }

    func change(_ changes: () -> Void) { changes() }

    func suspend() { suspensions = (suspensions.now + 1, suspensions.all + 1) }

    func resume() { suspensions.now -= 1 }

    func newHits(from position: Int, count: Int) -> MirroredHitStride {
        var stride = MirroredHitStride()
        let end = min(position + count, hits.count)
        stride.hits = Array(hits[position..<end])
        stride.next = end < hits.count ? end : nil
        if stride.next == nil {
            stride.idle = idle
            (hits, idle) = ([], [])
        }
        return stride
    }

    private func key(_ name: RawSpan, _ type: UInt16, _ variant: AnswerVariant) -> String {
        let octets = (0..<name.byteCount).map { name.uint8(at: $0) }
        let text = (try? Name(wire: octets)).map { "\($0)" } ?? "?"
        return "\(text) \(type) \(variant.rawValue)"
    }
}

@Suite("Copies of cached answers in the kernel (mirror)")
struct MirrorTests {
    private let origin = Instant(nanoseconds: 1 << 50)
    private let cache: AnswerCache
    private let mirror = Notebook()
    private let www = "www.example.com. 1 255"

    init() {
        cache = AnswerCache(limit: 1 << 20, origin: origin, seed: 5)
        cache.setMirror(mirror)
    }

    private func ask(_ name: Name, times: Int = 1, at time: Duration = .zero) throws {
        for _ in 0..<times {
            _ = try cache.withTable(now: origin + time) { table, now in
                Result { try table.ask(Asked(name: name), now: now) }
            }.get()
        }
        cache.writeOffers(now: origin + time)
    }

    private func store(_ answer: CachedAnswer, at time: Duration = .zero) {
        cache.insert(answer, now: origin + time)
    }

    @Test("the second hit on an answer copies the answer to the kernel, with its expiry time")
    func offered() throws {
        store(try .addresses("www.example.com", ttl: 60), at: .seconds(1))
        try ask("www.example.com", at: .seconds(2))
        #expect(mirror.copies.isEmpty)
        try ask("www.example.com", at: .seconds(2))
        #expect(mirror.copies == [www: 61_000])
    }

    @Test("failures, rotated answers, and answers with an EDE or more than 16 TTLs are not copied")
    func refused() throws {
        store(.failure("failed.example.com", ttl: 10))
        var explained = try CachedAnswer.denial("explained.example.com")
        explained.options = [0, 15, 0, 2, 0, 3]
        store(explained)
        store(try .addresses("many.example.com", (0..<17).map { 0xC000_0200 + $0 }))
        for name: Name in ["failed.example.com", "explained.example.com", "many.example.com"] {
            try ask(name, times: 3)
        }
        #expect(mirror.copies.isEmpty)
        cache.setRotation(true)
        store(try .addresses("two.example.com", [1, 2]))
        try ask("two.example.com", times: 3)
        #expect(mirror.copies.isEmpty)
    }

    @Test("if two cached answers match the same query, the kernel gets no copy of these answers")
    func rivals() throws {
        store(try .addresses("www.example.com", variant: .any))
        try ask("www.example.com", times: 2)
        #expect(mirror.copies.count == 1)
        store(try .addresses("www.example.com", [7], variant: .plain))
        #expect(mirror.copies.isEmpty)
        try ask("www.example.com", times: 3)
        #expect(mirror.copies.isEmpty)
    }

    @Test(
        "the cache removes the copy of an entry before it changes or removes the entry",
        arguments: [
            "replace", "remove", "classify", "stale", "order", "rotation", "another mirror",
        ]
    )
    func withdrawn(_ how: String) throws {
        let name: Name = "www.example.com"
        store(try .addresses(name, [1, 2]))
        try ask(name, times: 2)
        #expect(mirror.copies.count == 1)
        switch how {
        case "replace": store(try .addresses(name, [3]))
        case "remove": cache.remove(.name(name, nil), now: origin)
        case "classify": cache.remove(now: origin) { _, _, _, _ in true }
        case "stale": cache.markStale(.all, now: origin)
        case "order":
            let first = IPAddress.v4(IPv4Address(value: 2))
            cache.reorder(Question(name: name, type: .a), variant: .any, [first], now: origin)
        case "rotation": cache.setRotation(true)
        default: cache.setMirror(nil)
        }
        #expect(mirror.copies.isEmpty)
        #expect(mirror.suspensions.now == 0)
    }

    @Test("while a sweep changes the cache, the kernel answers no queries from copies")
    func rests() throws {
        cache.remove(.all, now: origin)
        cache.markStale(.all, now: origin)
        #expect(mirror.suspensions == (0, 2))
    }

    @Test("if an entry is due for a refresh, its copy is removed; later hits store a new copy")
    func refreshed() throws {
        store(try .addresses("www.example.com", ttl: 100, refreshAfter: 75))
        try ask("www.example.com", times: 2)
        #expect(mirror.copies == [www: 75_000])
        try ask("www.example.com", at: .seconds(76))
        #expect(mirror.copies.isEmpty)
        try ask("www.example.com", at: .seconds(77))
        #expect(mirror.copies == [www: 100_000])
    }

    @Test("if the cache evicts an entry, it also removes the copy of this entry in the kernel")
    func evicted() throws {
        let cache = AnswerCache(limit: AnswerCache.sizes.smallest, origin: origin, seed: 5)
        cache.setMirror(mirror)
        for number in 0..<5000 {
            let name = try Name("n\(number).example.com")
            cache.insert(try .addresses(name), now: origin)
            for _ in 0..<2 {
                _ = try cache.withTable(now: origin) { table, now in
                    Result { try table.ask(Asked(name: name), now: now) }
                }.get()
            }
            mirror.room = 10_000
            cache.writeOffers(now: origin)
        }
        #expect(mirror.copies.count == Int(cache.numbers.entries))
    }

    @Test("hits on a copy count for the copied entry, and for the server of this entry")
    func counted() throws {
        store(try .addresses("www.example.com", server: 3))
        try ask("www.example.com", times: 2)
        var hits = try #require(mirror.known[www])
        hits.times = 40
        mirror.hits = [hits]
        let noted = cache.collectMirroredHits()
        #expect(noted == [hits])
        #expect(cache.names(of: noted) == [("www.example.com" as Name).octets])
        let entry = try #require(
            cache.entries(named: "www.example.com", type: nil, now: origin).first
        )
        #expect(entry.hits == 42)
        #expect(cache.hitsByServer[3] == 42)
    }

    @Test(
        "if the kernel has no space for a copy, the cache retries after it has read the hit counts"
    )
    func roomAgain() throws {
        mirror.room = 0
        store(try .addresses("www.example.com"))
        try ask("www.example.com", times: 2)
        mirror.room = 1
        try ask("www.example.com", times: 2)
        #expect(mirror.copies.isEmpty)
        _ = cache.collectMirroredHits()
        try ask("www.example.com")
        #expect(mirror.copies.count == 1)
    }

    @Test("if the kernel has no space for a copy, the cache removes copies that got no hits")
    func full() throws {
        mirror.room = 1
        store(try .addresses("www.example.com"))
        store(try .addresses("new.example.com"))
        try ask("www.example.com", times: 2)
        try ask("new.example.com", times: 2)
        #expect(Array(mirror.copies.keys) == [www])
        mirror.idle = [try #require(mirror.known[www])]
        _ = cache.collectMirroredHits()
        try ask("new.example.com")
        #expect(Array(mirror.copies.keys) == ["new.example.com. 1 255"])
    }
}
