// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import DNSWire

@Suite("Replies with a copied answer section")
struct PlainReplyTests {
    private static let question = Question(name: "www.example.com", type: .a)

    private static let questionEnd = 12 + question.octetCount

    private static func record(_ name: Name, ttl: UInt32 = 300, _ data: RecordData) -> Record {
        Record(name: name, ttl: ttl, data: data)
    }

    private static func address(
        _ name: Name = "www.example.com",
        ttl: UInt32 = 300,
        last: UInt32 = 1
    ) -> Record { record(name, ttl: ttl, .a(IPv4Address(value: 0xC000_0200 + last))) }

    private static func alias(_ name: Name, _ target: Name, ttl: UInt32 = 60) -> Record {
        record(name, ttl: ttl, .cname(target))
    }

    private static func reply(
        _ answers: [Record],
        type: RecordType = .a,
        _ change: (inout Message) -> Void = { _ in }
    ) -> [UInt8] {
        var header = Header()
        header.isResponse = true
        var question = question
        question.type = type
        var message = Message(header: header, questions: [question], answers: answers)
        message.edns = EDNS()
        change(&message)
        return message.encoded()
    }

    private static func copy(_ octets: [UInt8], type: RecordType = .a) -> PlainReply? {
        PlainReply(copying: octets.span, asked: type, questionEnd: questionEnd)
    }

    static let plain: [[Record]] = [
        [address()],
        [address(last: 1), address(last: 2), address(last: 3)],
        [alias("www.example.com", "a.example.net"), address("a.example.net")],
        [
            alias("www.example.com", "a.example.com"),
            alias("a.example.com", "a.cdn.example.net", ttl: 20),
            alias("a.cdn.example.net", "b.cdn.example.net", ttl: 30),
            address("b.cdn.example.net", ttl: 10, last: 1),
            address("b.cdn.example.net", ttl: 10, last: 2),
        ],
    ]

    @Test(arguments: plain)
    func `the copy has the same records as the decoded message`(_ answers: [Record]) throws {
        let copied = try #require(Self.copy(Self.reply(answers)))
        #expect(copied.sections.message(to: Self.question)?.answers == answers)
        #expect(copied.ttls.lowerBound == answers.map(\.ttl).min())
        #expect(copied.ttls.upperBound == answers.map(\.ttl).max())
        var aged = copied
        aged.mapTTLs { $0 - 7 }
        #expect(
            aged.sections.message(to: Self.question)?.answers.map(\.ttl)
                == answers.map { $0.ttl - 7 }
        )
        #expect(aged.ttls.lowerBound == copied.ttls.lowerBound - 7)
    }

    @Test
    func `the copy has no authority section, no additional section and no OPT record`() throws {
        let octets = Self.reply([Self.address()]) {
            $0.authorities = [Self.record("example.com", .ns("ns.example.com"))]
            $0.additionals = [Self.address("ns.example.com")]
            $0.edns = EDNS(options: [.unknown(code: 12, octets: [UInt8](repeating: 0, count: 20))])
            $0.header.authenticData = true
        }
        let copied = try #require(Self.copy(octets))
        #expect(copied.sections.message(to: Self.question)?.answers == [Self.address()])
        #expect(copied.sections.authorityCount == 0 && copied.sections.additionalCount == 0)
        #expect(copied.header.authenticData)
    }

    static let others: [(String, [UInt8])] = [
        ("no record", reply([])),
        ("only an alias", reply([alias("www.example.com", "a.example.net")])),
        ("another owner", reply([address("other.example.com")])),
        (
            "records in another order",
            reply([address("a.example.net"), alias("www.example.com", "a.example.net")])
        ),
        (
            "a loop",
            reply([
                alias("www.example.com", "a.example.net"),
                alias("a.example.net", "WWW.example.com"), address(),
            ])
        ),
        ("a repeated record", reply([address(last: 1), address(last: 2), address(last: 1)])),
        ("two TTLs in a set", reply([address(ttl: 300, last: 1), address(ttl: 299, last: 2)])),
        ("another type", reply([address(), record("www.example.com", .txt([[65]]))])),
        ("NXDOMAIN", reply([address()]) { $0.rcode = .nxDomain }),
        ("BADVERS", reply([address()]) { $0.rcode = .badVers }),
        ("a truncated reply", reply([address()]) { $0.header.isTruncated = true }),
        (
            "an extended error",
            reply([address()]) {
                $0.edns = EDNS(options: [.extendedError(code: .staleAnswer, text: "")])
            }
        ),
        ("cut octets", Array(reply([address()]).dropLast())),
        ("more octets", reply([address()]) + [0]),
        ("a TTL above 2^31 - 1", patched([0x80], at: 6)),
        ("another class", patched([3], at: 5)),
        ("a wrong length", patched([3], at: 11)),
    ]

    private static func patched(_ octets: [UInt8], at place: Int) -> [UInt8] {
        var reply = reply([address()])
        reply.replaceSubrange(
            questionEnd + place..<questionEnd + place + octets.count,
            with: octets
        )
        return reply
    }

    @Test(arguments: others)
    func `a reply that is not a plain answer is decoded, not copied`(
        _ example: (what: String, octets: [UInt8])
    ) {
        #expect(Self.copy(example.octets) == nil, "\(example.what)")
    }

    @Test
    func `names after the answer section are checked as strictly as in the decoder`() {
        let answered = Self.reply([Self.address()]) { $0.edns = nil }
        let start = answered.count
        let label = [63] + [UInt8](repeating: 0x61, count: 63)
        func long(_ last: Int, _ end: [UInt8]) -> [UInt8] {
            label + label + label + [UInt8(last)] + [UInt8](repeating: 0x61, count: last) + end
        }
        let names: [[UInt8]] = [
            [0], [1, 0x61, 0], [0xC0, 12], [1, 0x61, 0xC0, 16], [0xC0, 11], [0xC0, 0],
            [0xC0, UInt8(start)], [1, 0x61, 0xC0, UInt8(start)], [0xC0, UInt8(start + 2)],
            [0x40, 0], [0xBF, 0], [9, 0x61, 0], long(61, [0]), long(62, [0]),
            long(45, [0xC0, 12]), long(46, [0xC0, 12]),
        ]
        for name in names {
            var octets = answered
            octets[9] = 1
            octets += name + [0, 16, 0, 1, 0, 0, 0, 1, 0, 0]
            var reader = WireReader(octets.span, at: start)
            let isRead = (try? reader.name()) != nil && reader.remaining == 10
            #expect((Self.copy(octets) != nil) == isRead, "\(name)")
        }
    }

    @Test(arguments: [(126, true), (127, false)])
    func `a reply is copied only if names after its answer section have at most 127 pointers`(
        _ pointers: Int,
        _ isCopied: Bool
    ) {
        var octets = Self.reply([Self.address()]) { $0.edns = nil }
        octets[9] = 2
        // Each pointer leads to the pointer before it.
        octets += [
            0, 0, 16, 0, 1, 0, 0, 0, 1, UInt8(pointers * 2 >> 8), UInt8(pointers * 2 & 0xFF),
        ]
        var target = 12
        for _ in 0..<pointers {
            octets += [0xC0 | UInt8(target >> 8), UInt8(target & 0xFF)]
            target = octets.count - 2
        }
        octets += [0xC0 | UInt8(target >> 8), UInt8(target & 0xFF)]
        octets += [0, 16, 0, 1, 0, 0, 0, 1, 0, 0]
        #expect((Self.copy(octets) != nil) == isCopied)
    }

    private static func aliased(pointer: Int, ttl: [UInt8] = [0, 0, 0, 60]) -> [UInt8] {
        var octets = reply([])
        octets.removeLast(11)
        octets[11] = 0
        octets[7] = 2
        octets += [0xC0, 12, 0, 5, 0, 1] + ttl + [0, 4]
        let target = octets.count
        octets += [1, 0x61, 0xC0 | UInt8(pointer >> 8), UInt8(pointer & 0xFF)]
        octets += [0xC0, UInt8(target), 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1]
        return octets
    }

    @Test
    func `a reply is copied only if its pointers lead to labels of names in the copied part`() {
        #expect(Self.copy(Self.aliased(pointer: 12)) != nil)
        #expect(Self.copy(Self.aliased(pointer: 16)) != nil)
        #expect(Self.copy(Self.aliased(pointer: 28)) != nil)
        // Pointer targets that are not names: the middle of a label, a type field, and a TTL with
        // octets in the form of a name.
        #expect(Self.copy(Self.aliased(pointer: 27)) == nil)
        #expect(Self.copy(Self.aliased(pointer: 29)) == nil)
        let place = Self.questionEnd + 6
        #expect(Self.copy(Self.aliased(pointer: place + 1, ttl: [0, 1, 0x62, 0])) == nil)
    }

    @Test(arguments: [RecordType.txt, .any, .cname, .https])
    func `only addresses are copied`(_ type: RecordType) {
        #expect(Self.copy(Self.reply([Self.address()], type: type), type: type) == nil)
    }
}
