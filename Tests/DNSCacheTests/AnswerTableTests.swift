// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import DNSCache

@Suite("Answers from the cache (RFC 2308, RFC 4035 §3.2)")
struct AnswerTableTests {
    private static func table() -> AnswerTable { AnswerTable(limit: 256 << 10, seed: 42) }

    @Test
    func `a stored answer is returned for any letter case, with its records`() throws {
        var table = Self.table()
        let isStored = table.insert(
            try .addresses("www.example.com", [0xC000_0201, 0xC000_0202]),
            now: 0
        )
        #expect(isStored)
        let answered = try #require(
            try table.ask(Asked(name: "wWw.eXample.COM", dnssecOK: false), now: 0)
        )
        #expect(answered.addresses == [0xC000_0201, 0xC000_0202])
        #expect(answered.message.rcode == .noError)
        #expect(answered.message.edns != nil)
        #expect(answered.hit.rcode == 0)
        #expect(!answered.hit.isEmpty)
        #expect(!answered.hit.isTruncated)
    }

    @Test
    func `another name or type is a miss`() throws {
        var table = Self.table()
        _ = table.insert(try .addresses("www.example.com"), now: 0)
        for asked in [
            Asked(name: "www.example.com", type: .aaaa), Asked(name: "example.com"),
            Asked(name: "www.example.org"), Asked(name: .root),
        ] {
            let answered = try table.ask(asked, now: 0)
            #expect(answered == nil, "\(asked.name) \(asked.type)")
        }
    }

    @Test(
        arguments: [
            ("immediately", 0, 60), ("before the first second is over", 999, 60),
            ("after the first second", 1_000, 59),
            ("in the last millisecond", 59_999, 1), ("when the TTL has passed", 60_000, nil),
            ("long after", 10_000_000, nil),
        ] as [(String, UInt64, UInt32?)]
    )
    func `TTLs count down to 1, and the entry expires when its TTL has passed`(
        _ label: String,
        _ age: UInt64,
        _ ttl: UInt32?
    ) throws {
        var table = Self.table()
        let stored: UInt64 = 12_345
        _ = table.insert(try .addresses("www.example.com", ttl: 60), now: stored)
        let answered = try table.ask(Asked(name: "www.example.com"), now: stored + age)
        #expect(answered?.ttls == ttl.map { [$0] })
    }

    @Test
    func `if the clock goes back, no TTL increases`() throws {
        var table = Self.table()
        _ = table.insert(try .addresses("www.example.com", ttl: 60), now: 5_000)
        let answered = try table.ask(Asked(name: "www.example.com"), now: 4_000)
        #expect(answered?.ttls == [60])
    }

    @Test(arguments: [
        (AnswerVariant.any, [true, true, true, true, true]),
        (
            AnswerVariant(dnssecOK: false, checkingDisabled: false),
            [true, true, false, false, false]
        ),
        (
            AnswerVariant(dnssecOK: true, checkingDisabled: false),
            [false, false, true, false, false]
        ),
        (
            AnswerVariant(dnssecOK: false, checkingDisabled: true),
            [false, false, false, true, false]
        ),
        (
            AnswerVariant(dnssecOK: true, checkingDisabled: true),
            [false, false, false, false, true]
        ),
    ])
    func `an answer is returned only to clients with matching DO and CD`(
        _ variant: AnswerVariant,
        _ expected: [Bool]
    ) throws {
        var table = Self.table()
        _ = table.insert(try .addresses("www.example.com", variant: variant), now: 0)
        var hits: [Bool] = []
        for (dnssecOK, checkingDisabled) in [
            (nil, false), (false, false), (true, false), (false, true), (true, true),
        ] as [(Bool?, Bool)] {
            let asked = Asked(
                name: "www.example.com",
                dnssecOK: dnssecOK,
                checkingDisabled: checkingDisabled
            )
            hits.append(try table.ask(asked, now: 0) != nil)
        }
        #expect(hits == expected)
    }

    @Test
    func `answers for different DO and CD are stored side by side`() throws {
        var table = Self.table()
        for bits in UInt8(0)...3 {
            _ = table.insert(
                try .addresses(
                    "www.example.com",
                    [UInt32(bits)],
                    variant: AnswerVariant(rawValue: bits)
                ),
                now: 0
            )
        }
        #expect(table.numbers.entries == 4)
        for bits in UInt32(0)...3 {
            let asked = Asked(
                name: "www.example.com",
                dnssecOK: bits & 1 != 0,
                checkingDisabled: bits & 2 != 0
            )
            let answered = try table.ask(asked, now: 0)
            #expect(answered?.addresses == [bits])
        }
    }

    @Test
    func `an expired failure does not hide an answer for all clients`() throws {
        var table = Self.table()
        let plain = AnswerVariant(dnssecOK: false, checkingDisabled: false)
        for index in 0..<64 {
            let name = try Name("n\(index).example.com")
            _ = table.insert(try .denial(name, .servFail, ttl: 1, variant: plain), now: 0)
            _ = table.insert(try .addresses(name), now: 1_500)
            let answered = try table.ask(Asked(name: name), now: 1_600)
            #expect(answered?.hit.rcode == 0, "\(name)")
        }
        for index in 64..<128 {
            let name = try Name("n\(index).example.com")
            _ = table.insert(try .addresses(name, ttl: 1), now: 0)
            _ = table.insert(try .addresses(name, [7], variant: plain), now: 1_500)
            let answered = try table.ask(Asked(name: name), now: 1_600)
            #expect(answered?.addresses == [7], "\(name)")
        }
        #expect(table.faults() == [])
    }

    @Test
    func `an answer for all clients replaces the answers for some clients`() throws {
        var table = Self.table()
        for bits in UInt8(0)...3 {
            _ = table.insert(
                try .denial("www.example.com", .servFail, variant: AnswerVariant(rawValue: bits)),
                now: 0
            )
        }
        _ = table.insert(try .addresses("www.example.com"), now: 1)
        #expect(table.numbers.entries == 1)
        let answered = try table.ask(Asked(name: "www.example.com"), now: 1)
        #expect(answered?.hit.rcode == 0)
        #expect(table.faults() == [])
    }

    @Test
    func `a new answer replaces the old answer`() throws {
        var table = Self.table()
        _ = table.insert(try .addresses("www.example.com", [1, 2, 3]), now: 0)
        _ = table.insert(try .addresses("WWW.example.com", [4]), now: 5_000)
        #expect(table.numbers.entries == 1)
        #expect(table.numbers.insertions == 2)
        #expect(table.numbers.expired == 0)
        let answered = try table.ask(Asked(name: "www.example.com"), now: 5_000)
        #expect(answered?.addresses == [4])
        #expect(answered?.ttls == [60])
        #expect(table.faults() == [])
    }

    @Test
    func `replacing an expired answer is counted`() throws {
        var table = Self.table()
        _ = table.insert(try .addresses("www.example.com", ttl: 10), now: 0)
        _ = table.insert(try .addresses("www.example.com", ttl: 10), now: 10_000)
        #expect(table.numbers.expired == 1)
        #expect(table.numbers.evictions == 0)
        #expect(table.numbers.entries == 1)
    }

    @Test(arguments: [RCode.nxDomain, .noError, .servFail])
    func `a cached denial is returned with its SOA record`(_ rcode: RCode) throws {
        var table = Self.table()
        _ = table.insert(try .denial("no.example.com", rcode, ttl: 30), now: 0)
        #expect(table.numbers.negativeEntries == (rcode == .servFail ? 0 : 1))
        let answered = try #require(try table.ask(Asked(name: "no.example.com"), now: 12_000))
        #expect(answered.message.rcode == rcode)
        #expect(answered.message.answers.isEmpty)
        #expect(answered.message.authorities.map(\.type) == [.soa])
        #expect(answered.ttls == [18])
        #expect(answered.hit.isEmpty)
    }

    @Test
    func `EDNS options of an answer are returned only to clients with EDNS`() throws {
        var table = Self.table()
        var answer = CachedAnswer.failure("www.example.com")
        answer.options = [0, 15, 0, 3, 0, 22, 0x21]
        _ = table.insert(answer, now: 0)
        let told = try #require(
            try table.ask(Asked(name: "www.example.com", dnssecOK: false), now: 0)
        )
        #expect(
            told.message.edns?.options == [.extendedError(code: .noReachableAuthority, text: "!")]
        )
        let plain = try #require(try table.ask(Asked(name: "www.example.com"), now: 0))
        #expect(plain.message.edns == nil)
        #expect(plain.hit.length == 12 + 17 + 4)
    }

    @Test
    func `EDNS options of more than 255 octets are omitted, and the answer is cached`() throws {
        var table = Self.table()
        for count in [255, 256, 70_000] {
            var answer = try CachedAnswer.addresses("www.example.com", [1, 2])
            answer.options = [0, 15, UInt8((count - 4) >> 8 & 0xFF), UInt8((count - 4) & 0xFF)]
            answer.options += [UInt8](repeating: 0x20, count: count - 4)
            _ = table.insert(answer, now: 0)
            let asked = Asked(name: "www.example.com", dnssecOK: false)
            let answered = try #require(try table.ask(asked, now: 0))
            #expect(answered.message.edns?.options.count == (count == 255 ? 1 : 0))
            #expect(answered.addresses == [1, 2])
            #expect(table.faults() == [])
        }
    }

    @Test
    func `an answer above the client's size limit is truncated, but cached completely`() throws {
        var table = Self.table()
        _ = table.insert(try .addresses("www.example.com", Array(0..<60)), now: 0)
        let asked = Asked(name: "www.example.com")
        let cut = try #require(try table.ask(asked, now: 0, limit: 512))
        #expect(cut.hit.isTruncated)
        #expect(cut.message.header.isTruncated)
        #expect(cut.addresses == [])
        let whole = try #require(try table.ask(asked, now: 0))
        #expect(!whole.hit.isTruncated)
        #expect(whole.addresses == Array(0..<60))
    }

    @Test
    func `the longest name and the largest answer can be stored`() throws {
        var table = Self.table()
        let label = String(repeating: "a", count: 63)
        let name = try Name("\(label).\(label).\(label)." + String(repeating: "b", count: 61))
        _ = table.insert(try .addresses(name, Array(0..<4_076)), now: 0)
        let answered = try #require(try table.ask(Asked(name: name), now: 0))
        #expect(answered.hit.length > 65_000)
        #expect(answered.addresses == Array(0..<4_076))
    }

    @Test
    func `an answer larger than half of the ring buffer is not stored`() throws {
        var table = AnswerTable(limit: 64 << 10, seed: 1)
        let large = try CachedAnswer.addresses("www.example.com", Array(0..<2_000))
        let isStored = table.insert(large, now: 0)
        #expect(!isStored)
        #expect(table.numbers.entries == 0)
        #expect(table.numbers.insertions == 0)
        #expect(table.faults() == [])
    }
}
