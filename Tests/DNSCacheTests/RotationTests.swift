// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import DNSCache

@Suite("Rotation of the addresses in cached replies (`order: rotate`)")
struct RotationTests {
    private static let name: Name = "www.example.com"

    private static func orders(
        of table: TestTable,
        _ asked: Asked = Asked(name: name),
        count: Int
    ) throws -> [[UInt32]] {
        try (0..<count).map { _ in
            let answered = try #require(try table.ask(asked, at: 10))
            return answered.addresses.map { $0 & 0xFF }
        }
    }

    private static func answer(
        _ answers: [Record],
        type: RecordType = .a,
        authorities: [Record] = []
    ) throws -> CachedAnswer {
        let question = Question(name: name, type: type)
        return CachedAnswer(
            question: question,
            variant: .any,
            rcode: .noError,
            sections: try AnswerSections(
                question: question,
                answers: answers,
                authorities: authorities
            ),
            lifetime: 60,
            source: .upstream,
            server: 1
        )
    }

    private static func a(_ last: UInt32, name: Name = name, ttl: UInt32 = 60) -> Record {
        Record(name: name, ttl: ttl, data: .a(IPv4Address(value: 0xC000_0200 | last)))
    }

    @Test
    func `each address is first in turn, and the others follow in order`() throws {
        let table = TestTable(rotates: true)
        table.insert(try .addresses(Self.name, [0xC000_0201, 0xC000_0202, 0xC000_0203]), at: 0)
        #expect(
            try Self.orders(of: table, count: 5) == [
                [1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 2, 3], [2, 3, 1],
            ]
        )
    }

    @Test
    func `without rotation the order is constant`() throws {
        let table = TestTable()
        table.insert(try .addresses(Self.name, [0xC000_0201, 0xC000_0202]), at: 0)
        #expect(try Self.orders(of: table, count: 3) == [[1, 2], [1, 2], [1, 2]])
    }

    @Test(arguments: 1...40)
    func `each address is first in one of the replies, and each reply has all addresses`(
        _ count: Int
    ) throws {
        let table = TestTable(rotates: true)
        let all = (1...UInt32(count)).map { $0 }
        table.insert(try .addresses(Self.name, all.map { 0xC000_0200 | $0 }), at: 0)
        let orders = try Self.orders(of: table, count: count)
        #expect(orders.map { $0[0] } == all)
        #expect(orders.allSatisfy { $0.sorted() == all })
    }

    @Test
    func `a rotated address keeps its TTL, which counts down`() throws {
        let table = TestTable(rotates: true)
        table.insert(try Self.answer([Self.a(1, ttl: 60), Self.a(2, ttl: 90)]), at: 0)
        #expect(try table.ask(Asked(name: Self.name), at: 10)?.ttls == [50, 80])
        #expect(try table.ask(Asked(name: Self.name), at: 20)?.ttls == [70, 40])
    }

    @Test
    func `aliases stay first; signatures and authority records stay last`() throws {
        let table = TestTable(rotates: true)
        let end: Name = "b.example.com"
        let signature = Record(
            name: end,
            type: .rrsig,
            ttl: 60,
            data: .opaque([0, 1] + [UInt8](repeating: 7, count: 30))
        )
        table.insert(
            try Self.answer(
                [
                    Record(name: Self.name, ttl: 60, data: .cname("a.example.com")),
                    Record(name: "a.example.com", ttl: 60, data: .cname(end)),
                    Self.a(1, name: end), Self.a(2, name: end), Self.a(3, name: end), signature,
                ],
                authorities: [
                    Record(name: "example.com", ttl: 60, data: .ns("ns.example.com"))
                ]
            ),
            at: 0
        )
        for first in [1, 2, 3, 1] {
            let message = try #require(
                try table.ask(Asked(name: Self.name, dnssecOK: true), at: 1)?.message
            )
            #expect(message.answers.map(\.type) == [.cname, .cname, .a, .a, .a, .rrsig])
            #expect(message.answers[2] == Self.a(UInt32(first), name: end, ttl: 59))
            #expect(message.answers[5].data == signature.data)
            #expect(message.authorities.map(\.type) == [.ns])
            #expect(message.edns?.dnssecOK == true)
        }
    }

    @Test
    func `IPv6 addresses are rotated`() throws {
        let table = TestTable(rotates: true)
        let records = (1...3).map { low in
            Record(
                name: Self.name,
                ttl: 60,
                data: .aaaa(IPv6Address(high: 0x2001_0DB8_0000_0000, low: UInt64(low)))
            )
        }
        table.insert(try Self.answer(records, type: .aaaa), at: 0)
        for turn in 0..<4 {
            let message = try #require(
                try table.ask(Asked(name: Self.name, type: .aaaa), at: 0)?.message
            )
            let expected = (0..<3).map { records[($0 + turn) % 3].data }
            #expect(message.answers.map(\.data) == expected)
        }
    }

    @Test
    func `records of other types keep their order`() throws {
        let table = TestTable(rotates: true)
        let records = ["a.example.com", "b.example.com"].map { (name: Name) in
            Record(name: Self.name, ttl: 60, data: .mx(preference: 1, exchange: name))
        }
        table.insert(try Self.answer(records, type: .mx), at: 0)
        for _ in 0..<3 {
            let message = try table.ask(Asked(name: Self.name, type: .mx), at: 0)?.message
            #expect(message?.answers == records)
        }
    }

    @Test
    func `with an alias of the size of an address record, the order is unchanged`()
        throws
    {
        let table = TestTable(rotates: true)
        let records = [
            Self.a(1),
            Record(name: Self.name, ttl: 60, data: .cname("b.example.com")),
            Self.a(2), Self.a(3),
        ]
        table.insert(try Self.answer(records), at: 0)
        for _ in 0..<3 {
            let message = try table.ask(Asked(name: Self.name), at: 0)?.message
            #expect(message?.answers == records)
        }
    }

    @Test
    func `addresses of the root, with an uncompressed owner, keep their order`() throws {
        let table = TestTable(rotates: true)
        table.insert(try .addresses(.root, [0xC000_0201, 0xC000_0202]), at: 0)
        #expect(try Self.orders(of: table, Asked(name: .root), count: 2) == [[1, 2], [1, 2]])
    }

    @Test
    func `a truncated answer has no rotation`() throws {
        let table = TestTable(rotates: true)
        table.insert(try .addresses(Self.name, (1...40).map { 0xC000_0200 | $0 }), at: 0)
        for _ in 0..<3 {
            let cut = try #require(try table.ask(Asked(name: Self.name), at: 0, limit: 512))
            #expect(cut.hit.isTruncated && cut.message.answers.isEmpty)
        }
        #expect(try table.ask(Asked(name: Self.name), at: 0)?.addresses.first == 0xC000_0204)
    }
}
