// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

private struct Made {
    let query: [UInt8]
    let octets: [UInt8]

    init(
        _ query: [UInt8],
        _ sections: AnswerSections,
        rcode: RCode = .noError,
        flags: UInt16 = 0,
        options: [UInt8] = [],
        age: UInt32 = 0,
        limit: Int = 65_535
    ) throws {
        let facts = try QueryFacts(checking: query.rawSpan)
        var buffer = query + [UInt8](repeating: 0xEE, count: max(0, limit - query.count))
        let count = buffer.withMutableRawSpan { buffer in
            let answer = ReadyAnswer(
                rcode: rcode.rawValue,
                flags: flags,
                answerCount: sections.answerCount,
                authorityCount: sections.authorityCount,
                additionalCount: sections.additionalCount,
                sections: sections.octets.rawSpan,
                ttlOffsets: sections.ttlOffsets.rawSpan,
                options: options.rawSpan,
                age: age
            )
            return facts.reply(with: answer, in: &buffer, limit: limit)
        }
        self.query = query
        octets = Array(buffer[..<count])
    }

    init(_ query: [UInt8], rcode: UInt16, moreFlags: UInt16 = 0) throws {
        let facts = try QueryFacts(checking: query.rawSpan)
        var buffer = query + [UInt8](repeating: 0xEE, count: 512)
        let count = buffer.withMutableRawSpan { buffer in
            facts.reply(rcode: rcode, moreFlags: moreFlags, in: &buffer)
        }
        self.query = query
        octets = Array(buffer[..<count])
    }

    var message: Message { get throws { try Message(parsing: octets) } }
}

@Suite("Replies written over their query (RFC 6891 §6.1.1, RFC 2181 §9)")
struct QueryViewReplyTests {
    private static let question = Question(name: "www.example.com", type: .a)

    private static func addresses(_ count: Int) throws -> AnswerSections {
        try AnswerSections(
            question: question,
            answers: (0..<count).map { index in
                Record(
                    name: "www.example.com",
                    ttl: 300,
                    data: .a(IPv4Address(value: 0xC000_0200 + UInt32(index)))
                )
            }
        )
    }

    @Test(arguments: [
        ("nothing", "0000", "8080"), ("RD", "0100", "8180"), ("CD", "0010", "8090"),
        ("RD and CD", "0110", "8190"), ("AA TC RA Z AD and an RCODE", "06EF", "8080"),
        ("everything but QR and the opcode", "07FF", "8190"),
    ])
    func `a reply keeps RD and CD, sets QR and RA, and clears all other flags`(
        _ label: String,
        _ flags: String,
        _ expected: String
    ) throws {
        let query = RawQuery(label) { $0.flags = flags }.octets
        #expect(
            try Made(query, Self.addresses(1)).octets[..<4] == (hex("1234") + hex(expected))[...]
        )
        #expect(try Made(query, rcode: 0).octets[..<4] == (hex("1234") + hex(expected))[...])
    }

    @Test(arguments: [
        ("neither AD nor DO", "0100", nil, false), ("AD without EDNS", "0120", nil, true),
        ("EDNS without DO", "0100", "0000", false), ("DO", "0100", "8000", true),
        ("AD and DO", "0120", "8000", true), ("AD, CD and DO", "0130", "8000", true),
        ("AD and EDNS without DO", "0020", "0000", true),
    ])
    func `AD of validated answers is set for clients that support it (RFC 6840 §5.7, §5.8)`(
        _ label: String,
        _ flags: String,
        _ optFlags: String?,
        _ isTold: Bool
    ) throws {
        let query = RawQuery(label) { raw in
            raw.flags = flags
            if let optFlags { raw.addOPT(flags: optFlags) }
        }.octets
        let ad = HeaderFlags.authenticData
        let validated = try Made(query, Self.addresses(1), flags: ad).message
        #expect(validated.header.authenticData == isTold)
        let plain = try Made(query, Self.addresses(1)).message
        #expect(!plain.header.authenticData)
        var same = validated
        same.header.authenticData = false
        #expect(same == plain)
        let cut = try Made(query, Self.addresses(60), flags: ad, limit: 512).message
        #expect(cut.header.isTruncated && !cut.header.authenticData)
    }

    @Test
    func `the question keeps its letter case`() throws {
        let query = RawQuery("0x20") { $0.name = "03 775777 07 6558414D506C45 03 436F4D 00" }.octets
        let made = try Made(query, Self.addresses(2))
        #expect(made.octets[12..<33] == query[12..<33])
        let spelt = try made.message.answers.map { $0.name.octets }
        #expect(spelt == [Array(query[12..<29]), Array(query[12..<29])])
    }

    @Test
    func `the reply has an OPT record if and only if the query has an OPT record`() throws {
        let plain = try Made(RawQuery("plain").octets, Self.addresses(1))
        #expect(try plain.message.edns == nil)
        let edns = try Made(
            RawQuery("EDNS") {
                $0.addOPT(payload: "1000", flags: "8000", options: "000C 0002 0000")
            }
            .octets,
            Self.addresses(1)
        )
        let opt = try #require(try edns.message.edns)
        #expect(opt.udpPayloadSize == 1232)
        #expect(opt.version == 0)
        #expect(opt.flags == 0x8000)
        #expect(opt.options == [])
    }

    @Test
    func `flags of the client's OPT other than DO are not echoed`() throws {
        let query = RawQuery("flags") { $0.addOPT(flags: "7FFF") }.octets
        #expect(try Made(query, rcode: 0).message.edns?.flags == 0)
    }

    @Test
    func `an extended error is sent only to clients with EDNS`() throws {
        let options = hex("000F 0004 0016 6E6F")
        let query = RawQuery("EDNS") { $0.addOPT() }.octets
        let made = try Made(query, .empty, rcode: .servFail, options: options)
        let told = try #require(try made.message.edns?.extendedErrors.first)
        #expect(told.code.rawValue == 22)
        #expect(told.text == "no")
        let plain = try Made(RawQuery("plain").octets, .empty, rcode: .servFail, options: options)
        #expect(try plain.message == Made(RawQuery("plain").octets, rcode: 2).message)
    }

    @Test
    func `an answer above the size limit is replaced by an empty answer with TC`() throws {
        let sections = try Self.addresses(40)
        let query = RawQuery("EDNS") { $0.addOPT(options: "000C 0000") }.octets
        let whole = try Made(query, sections)
        let fits = try Made(query, sections, limit: whole.octets.count)
        #expect(fits.octets == whole.octets)
        #expect(try !whole.message.header.isTruncated)

        let cut = try Made(query, sections, limit: whole.octets.count - 1)
        let message = try cut.message
        #expect(message.header.isTruncated)
        #expect(message.answers.isEmpty)
        #expect(message.edns?.udpPayloadSize == 1232)
        #expect(cut.octets.count == 33 + 11)
        #expect(cut.octets[12..<33] == query[12..<33])
    }

    @Test(
        arguments: [
            ("no age", 0, 300), ("a second", 1, 299), ("the last second", 299, 1), ("over", 300, 0),
            ("long over", 4_000_000_000, 0),
        ] as [(String, UInt32, UInt32)]
    )
    func `TTLs count down to zero`(_ label: String, _ age: UInt32, _ ttl: UInt32) throws {
        let made = try Made(RawQuery(label).octets, Self.addresses(3), age: age)
        #expect(try made.message.answers.map(\.ttl) == [ttl, ttl, ttl])
    }

    @Test
    func `an RCODE beyond four bits is split between header and OPT`() throws {
        let query = RawQuery("EDNS") { $0.addOPT(version: "01") }.octets
        #expect(try Made(query, rcode: RCode.badVers.rawValue).message.rcode == .badVers)
        #expect(try Made(query, .empty, rcode: .badCookie).message.rcode == .badCookie)
        #expect(try Made(RawQuery("plain").octets, rcode: 16).message.rcode == .noError)
    }

    @Test(arguments: [
        (QueryFault.malformed, "0100", "8181"), (.malformed, "0010", "8081"),
        (.otherOpcode, "2400", "A004"), (.otherOpcode, "2900", "A904"),
    ])
    func `an invalid message is answered with a header only`(
        _ fault: QueryFault,
        _ flags: String,
        _ expected: String
    ) {
        var buffer = RawQuery("\(fault)") { $0.flags = flags }.octets
        let length = buffer.count
        let count = buffer.withMutableRawSpan { buffer in fault.reply(to: length, in: &buffer) }
        #expect(Array(buffer[..<count]) == hex("1234" + expected + "0000 0000 0000 0000"))
    }

    @Test(arguments: [
        (QueryFault.otherOpcode, "1000", "9004"), (.otherOpcode, "2400", "A004"),
        (.malformed, "0100", "8181"),
    ])
    func `an invalid message with EDNS is answered with EDNS (RFC 6891 §6.1.1)`(
        _ fault: QueryFault,
        _ flags: String,
        _ expected: String
    ) {
        let record = "C00C 0006 0001 00000000 0000"
        var buffer = hex(
            "1234" + flags + "0001 0001 0000 0001" + "0161 0162 00 0006 0001" + record
                + "00 0029 04D0 00 00 8000 0008 0003 0004 61626364"
        )
        let length = buffer.count
        let count = buffer.withMutableRawSpan { buffer in fault.reply(to: length, in: &buffer) }
        #expect(
            Array(buffer[..<count])
                == hex("1234" + expected + "0000 0000 0000 0001" + "00 0029 04D0 00 00 0000 0000")
        )
        var cut = hex(
            "1234" + flags + "0001 0001 0000 0001" + "0161 0162 00 0006 0001" + record
                + "00 0029 04D0 00 00 8000 0008 0003 0004 616263"
        )
        let cutLength = cut.count
        let bare = cut.withMutableRawSpan { buffer in fault.reply(to: cutLength, in: &buffer) }
        #expect(bare == 12)
    }

    @Test(arguments: [QueryFault.ignored, .unusual])
    func `ignored messages get no reply and stay unchanged`(_ fault: QueryFault) {
        let query = RawQuery("\(fault)").octets
        var buffer = query
        let length = buffer.count
        let count = buffer.withMutableRawSpan { buffer in fault.reply(to: length, in: &buffer) }
        #expect(count == 0)
        #expect(buffer == query)
    }

    @Test
    func `an in-place reply equals the reply that the message builder writes`() throws {
        var random = RandomMessages(seed: 11)
        for round in 0..<1_500 {
            let question = random.question()
            var answer = random.message()
            var header = Header(id: UInt16(round), flags: random.random.next16())
            header.isResponse = false
            header.opcode = 0
            var query = Message(header: header)
            query.questions = [question.respelt(&random.random)]
            if Bool.random(using: &random.random) { query.edns = random.edns() }
            let sections = try AnswerSections(
                question: question,
                answers: answer.answers,
                authorities: answer.authorities,
                additionals: answer.additionals
            )
            let age = UInt32.random(in: 0...0x7FFF_FFFF, using: &random.random)
            let rcode = RCode(rawValue: random.random.next16() & 0xF)
            let made = try Made(query.encoded(), sections, rcode: rcode, age: age)

            var expected = Header(id: UInt16(round))
            expected.isResponse = true
            expected.recursionDesired = header.recursionDesired
            expected.recursionAvailable = true
            expected.checkingDisabled = header.checkingDisabled
            answer.header = expected
            answer.questions = query.questions
            answer.edns = query.edns.map { edns in
                var ours = EDNS(udpPayloadSize: 1232)
                ours.dnssecOK = edns.dnssecOK
                return ours
            }
            answer.rcode = rcode
            answer.age(by: age)
            let message = try made.message
            #expect(message == answer, "round \(round)")
            #expect(message.questions[0].name.octets == query.questions[0].name.octets)
        }
    }
}

extension Question {
    fileprivate func respelt(_ random: inout Seeded) -> Question {
        var question = self
        question.name = name.respelt(&random)
        return question
    }
}

extension Name {
    func respelt(_ random: inout Seeded) -> Name {
        let octets = octets.map { octet -> UInt8 in
            guard (0x41...0x5A).contains(octet & 0xDF), Bool.random(using: &random) else {
                return octet
            }
            return octet ^ 0x20
        }
        return (try? Name(wire: octets)) ?? self
    }
}

extension Message {
    fileprivate mutating func age(by age: UInt32) {
        func aged(_ records: [Record]) -> [Record] {
            records.map { record in
                var record = record
                record.ttl -= min(record.ttl, age)
                return record
            }
        }
        answers = aged(answers)
        authorities = aged(authorities)
        additionals = aged(additionals)
    }
}
