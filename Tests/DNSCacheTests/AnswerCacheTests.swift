// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Synchronization
import TestWorld
import Testing

@testable import DNSCache

@Suite("The cache, which all threads share")
struct AnswerCacheTests {
    private let origin = Instant(nanoseconds: 1 << 50)
    private let cache: AnswerCache

    init() {
        cache = AnswerCache(limit: 1 << 20, origin: origin, seed: 3)
    }

    private func ask(_ asked: Asked, at time: Duration = .zero) throws -> Answered? {
        let result = cache.withTable(now: origin + time) { table, now in
            Result { try table.ask(asked, now: now) }
        }
        return try result.get()
    }

    private func store(_ answer: CachedAnswer, at time: Duration = .zero) {
        cache.insert(answer, now: origin + time)
    }

    @Test(arguments: [
        ("when stored", 1.5, true), ("a little before its end", 61.499, true),
        ("at its end", 61.5, false),
    ])
    func `an answer expires in the millisecond in which its TTL ends`(
        _ label: String,
        _ time: Double,
        _ isHit: Bool
    ) throws {
        store(try .addresses("www.example.com", ttl: 60), at: .seconds(1.5))
        let answered = try ask(Asked(name: "www.example.com"), at: .seconds(time))
        #expect((answered != nil) == isHit)
    }

    @Test
    func `an instant before the creation of the cache counts as the instant of creation`() throws {
        store(try .addresses("www.example.com", ttl: 60), at: .seconds(-5))
        let answered = try ask(Asked(name: "www.example.com"), at: .seconds(59))
        #expect(answered?.ttls == [1])
    }

    @Test
    func `an answer with a lifetime of zero is not stored`() throws {
        store(try .addresses("www.example.com", ttl: 0))
        #expect(cache.numbers.entries == 0)
        #expect(cache.numbers.insertions == 0)
    }

    @Test
    func `a cache has at least the minimum size`() {
        let small = AnswerCache(limit: 0, origin: origin, seed: 1)
        #expect(small.numbers.limitOctets == UInt64(AnswerCache.sizes.smallest))
    }

    @Test
    func `entries of a name are listed with all their fields`() throws {
        store(try .addresses("www.example.com", [1, 2], ttl: 60, server: 7), at: .seconds(1))
        store(
            try .denial(
                "WWW.example.com",
                .noError,
                type: .aaaa,
                ttl: 30,
                variant: AnswerVariant(dnssecOK: true, checkingDisabled: false)
            ),
            at: .seconds(2)
        )
        store(try .addresses("example.com"))
        _ = try ask(Asked(name: "www.example.com"), at: .seconds(3))

        let entries = cache.entries(named: "www.EXAMPLE.com", type: nil, now: origin + .seconds(11))
        #expect(entries.map(\.type) == [.a, .aaaa])
        let first = try #require(entries.first)
        #expect(first.source == .vendor)
        #expect(first.server == 7)
        #expect(first.age == 10)
        #expect(first.remaining == 50)
        #expect(first.hits == 1)
        #expect(!first.isNegative)
        #expect(first.variant == .any)
        let message = try #require(first.message)
        #expect(message.answers.map(\.ttl) == [50, 50])
        #expect(message.edns == nil)
        #expect(entries[1].isNegative)
        #expect(entries[1].source == .upstream)
        #expect(entries[1].variant == AnswerVariant(dnssecOK: true, checkingDisabled: false))

        let only = cache.entries(named: "www.example.com", type: .aaaa, now: origin + .seconds(60))
        #expect(only.map(\.type) == [.aaaa])
        #expect(only.map(\.remaining) == [0])
        #expect(cache.entries(named: "com", type: nil, now: origin).isEmpty)
    }

    @Test
    func `listing entries does not count as a hit`() throws {
        store(try .addresses("www.example.com"))
        for _ in 0..<3 { _ = cache.entries(named: "www.example.com", type: nil, now: origin) }
        #expect(cache.entries(named: "www.example.com", type: nil, now: origin)[0].hits == 0)
    }

    @Test
    func `hits are counted per server, and the counts remain after the entry is removed`() throws {
        #expect(cache.hitsByServer == [0])
        store(try .addresses("www.example.com", server: 3))
        store(try .addresses("example.com", server: 1))
        for name in ["www.example.com", "example.com", "WWW.example.com", "com"] {
            _ = try ask(Asked(name: try Name(name)))
        }
        #expect(cache.hitsByServer == [0, 1, 0, 2])
        cache.remove(.all, now: origin)
        store(try .addresses("www.example.com", server: 0))
        _ = try ask(Asked(name: "www.example.com"))
        #expect(cache.hitsByServer == [1, 1, 0, 2])
        store(try .addresses("www.example.com", server: .max))
        _ = try ask(Asked(name: "www.example.com"))
        #expect(cache.hitsByServer.count == 65_536)
        #expect(cache.hitsByServer.last == 1)
    }

    private static let selections: [(String, AnswerCache.Selection, Int)] = [
        ("all", .all, 7),
        ("a name", .name("WWW.example.com", nil), 2),
        ("a name's type", .name("www.example.com", .aaaa), 1),
        ("a name that is not there", .name("nowhere.example.com", nil), 0),
        ("a tree", .tree("example.com"), 5),
        ("everything as a tree", .tree(.root), 7),
        ("a tree that only looks alike", .tree("ample.com"), 0),
        ("denials", .negative, 2),
    ]

    @Test(arguments: selections)
    func `selected entries are removed and counted`(
        _ label: String,
        _ selection: AnswerCache.Selection,
        _ count: Int
    ) throws {
        store(try .addresses("www.example.com"))
        store(try .addresses("www.example.com", type: .aaaa))
        store(try .addresses("example.com"))
        store(try .addresses("a.b.example.com"))
        store(try .denial("no.example.com"))
        store(try .denial("www.example.org", .noError))
        store(try .addresses("myexample.com"))
        #expect(cache.numbers.entries == 7)
        #expect(cache.remove(selection, now: origin) == count)
        #expect(cache.numbers.entries == 7 - UInt64(count))
        #expect(cache.remove(selection, now: origin) == 0)
        #expect(cache.withTable(now: origin) { table, _ in table.faults() } == [])
        let www = try ask(Asked(name: "www.example.com"))
        #expect(
            (www == nil)
                == [
                    .all, .tree(.root), .tree("example.com"),
                    .name("WWW.example.com", nil),
                ].contains(selection)
        )
    }

    @Test
    func `a walk in several steps visits every entry once`() throws {
        let cache = AnswerCache(limit: 4 << 20, origin: origin, seed: 4)
        for index in 0..<5_000 {
            cache.insert(try .addresses(try Name("n\(index).example.com")), now: origin)
        }
        #expect(cache.numbers.entries == 5_000)
        #expect(cache.remove(.tree("example.com"), now: origin) == 5_000)
        #expect(cache.numbers.octets == 0)
    }

    @Test
    func `a walk visits all remaining entries under concurrent changes`() throws {
        var random = Seeded(seed: 12)
        var table = AnswerTable(limit: 128 << 10, seed: 12)
        for index in 0..<1_500 {
            let name = try Name("n\(index).example.com")
            _ = table.insert(try .addresses(name, [UInt32(index)], ttl: 86_400), now: 0)
        }
        for round in 0..<5 {
            let before = table.hashes
            var seen: Set<UInt64> = []
            var position: Int? = 0
            while let next = position {
                position = table.walk(from: next, count: 7) { table, reference in
                    seen.insert(table.ring[reference].hash)
                    return .keep
                }
                for _ in 0..<3 {
                    let new = try Name("y\(random.next()).example.org")
                    _ = table.insert(try .addresses(new), now: 0)
                }
                for _ in 0..<20 {
                    let index = Int.random(in: 0..<1_500, using: &random)
                    let asked = Asked(name: try Name("n\(index).example.com"))
                    _ = try table.ask(asked, now: 0, limit: 512)
                }
            }
            let stayed = before.intersection(table.hashes)
            #expect(stayed.count > 100)
            #expect(stayed.subtracting(seen).isEmpty, "round \(round)")
        }
    }

    @Test
    func `threads that query during changes get only correct answers`() async throws {
        let cache = cache
        let origin = origin
        let names = try (0..<400).map { try Name("n\($0).example.com") }
        for (index, name) in names.enumerated() {
            cache.insert(try .addresses(name, [UInt32(index)]), now: origin)
        }
        let tally = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<3 {
                group.addTask { @Sendable in
                    var random = Seeded(seed: UInt64(thread))
                    for _ in 0..<6_000 {
                        let index = Int.random(in: names.indices, using: &random)
                        let answered = try cache.withTable(now: origin) { table, now in
                            Result {
                                try table.ask(Asked(name: names[index]), now: now, limit: 512)
                            }
                        }.get()
                        guard let answered else { continue }
                        let first = answered.addresses.first
                        tally.note(isRight: first.map { $0 % 400 } == UInt32(index))
                    }
                }
            }
            group.addTask { @Sendable in
                var random = Seeded(seed: 77)
                for round in 0..<6_000 {
                    let index = Int.random(in: names.indices, using: &random)
                    switch Int.random(in: 0..<20, using: &random) {
                    case 0: cache.remove(.name(names[index], nil), now: origin)
                    case 1: _ = cache.entries(named: names[index], type: nil, now: origin)
                    default:
                        let count = Int.random(in: 1...20, using: &random)
                        let value = UInt32(index + 400 * round)
                        cache.insert(
                            try .addresses(
                                names[index],
                                [UInt32](repeating: value, count: count)
                            ),
                            now: origin
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(tally.wrong.load(ordering: .relaxed) == 0)
        #expect(tally.right.load(ordering: .relaxed) > 1_000)
        #expect(cache.withTable(now: origin) { table, _ in table.faults() } == [])
    }
}

private final class Tally: Sendable {
    let right = Atomic(0)
    let wrong = Atomic(0)

    func note(isRight: Bool) {
        if isRight {
            right.add(1, ordering: .relaxed)
        } else {
            wrong.add(1, ordering: .relaxed)
        }
    }
}
