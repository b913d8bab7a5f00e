// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("RRsets and truncation (RFC 2181 §5, §9)")
struct TruncationTests {
    private func addresses(_ count: UInt8, of name: Name) -> [Record] {
        (0..<count).map {
            Record(name: name, ttl: 60, data: .a(IPv4Address(value: 0xC000_0200 | UInt32($0))))
        }
    }

    @Test
    func `an RRset is written as a whole or dropped with TC set`() throws {
        var message = Message(
            header: Header(flags: 0x8180),
            questions: [Question(name: "a.example", type: .a)],
            answers: addresses(1, of: "a.example") + addresses(30, of: "b.example"),
            edns: EDNS(options: [.cookie(client: [1, 2, 3, 4, 5, 6, 7, 8], server: [])])
        )
        let whole = message.encoded()
        #expect(try Message(parsing: whole) == message)
        for limit in [whole.count - 1, 512, 128] {
            let cut = try Message(parsing: message.encoded(limit: limit))
            #expect(cut.header.isTruncated)
            #expect(cut.answers == addresses(1, of: "a.example"))
            #expect(cut.questions == message.questions)
            #expect(cut.edns == message.edns)
        }
        #expect(message.encoded(limit: whole.count) == whole)
        message.answers = []
        #expect(try !Message(parsing: message.encoded(limit: 128)).header.isTruncated)
    }

    @Test
    func `the records of an RRset need not be adjacent`() throws {
        let first = addresses(20, of: "a.example")
        let second = addresses(20, of: "b.example")
        let message = Message(answers: zip(first, second).flatMap { [$0, $1] })
        #expect(try Message(parsing: message.encoded()).answers == message.answers)
        let cut = try Message(parsing: message.encoded(limit: 512))
        #expect(cut.answers == first)
        #expect(cut.header.isTruncated)
    }

    @Test
    func `additional records are dropped without TC`() throws {
        let message = Message(
            answers: addresses(2, of: "a.example"),
            additionals: addresses(3, of: "b.example") + addresses(40, of: "c.example"),
            edns: EDNS()
        )
        let cut = try Message(parsing: message.encoded(limit: 512))
        #expect(!cut.header.isTruncated)
        #expect(cut.answers == message.answers)
        #expect(cut.additionals == addresses(3, of: "b.example"))
        #expect(cut.edns == message.edns)
    }

    @Test
    func `a missing authority section sets TC`() throws {
        let message = Message(
            answers: addresses(2, of: "a.example"),
            authorities: addresses(40, of: "b.example"),
            additionals: addresses(1, of: "c.example")
        )
        let cut = try Message(parsing: message.encoded(limit: 512))
        #expect(cut.header.isTruncated)
        #expect(cut.authorities.isEmpty && cut.additionals.isEmpty)
    }

    @Test
    func `OPT is written without options rather than dropped`() throws {
        let edns = EDNS(options: [.padding(count: 600)])
        let message = Message(questions: [Question(name: "a.example", type: .a)], edns: edns)
        let cut = try Message(parsing: message.encoded(limit: 512))
        #expect(cut.edns == EDNS())
        #expect(cut.questions == message.questions)
        #expect(message.encoded(limit: 12) == hex("0000 0200 0000 0000 0000 0000"))
    }

    @Test(arguments: [12, 13, 23, 40, 100, 512, 4096])
    func `no result exceeds its limit, and every result is valid`(limit: Int) throws {
        var random = RandomMessages(seed: 7)
        for _ in 0..<300 {
            let octets = random.message().encoded(limit: limit)
            #expect(octets.count <= limit)
            #expect(throws: Never.self) { try Message(parsing: octets) }
        }
    }

    @Test
    func `an RRset has records of one owner and type; RRSIG records also have one covered type`() {
        var records = addresses(3, of: "a.example") + addresses(2, of: "b.example")
        records[2].name = "A.EXAMPLE"
        let signature = Record(name: "a.example", type: .rrsig, ttl: 1, data: .opaque([0, 1]))
        let other = Record(name: "a.example", type: .rrsig, ttl: 2, data: .opaque([0, 28]))
        records += [signature, other]
        #expect(records.recordSets.map(\.count) == [3, 2, 1, 1])
    }
}
