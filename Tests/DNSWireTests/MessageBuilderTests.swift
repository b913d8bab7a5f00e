// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("Building messages")
struct MessageBuilderTests {
    private let question = Question(name: "www.example.com", type: .a)
    private let address = Record(name: "WWW.example.com", ttl: 60, data: .a("192.0.2.1"))

    @Test
    func `names are compressed with earlier names in any letter case`() throws {
        var builder = MessageBuilder(header: Header(id: 1, flags: 0x8180))
        try builder.append(question)
        try builder.append(address, to: .answer)
        let alias = Record(name: "a.EXAMPLE.com", ttl: 1, data: .cname("b.a.example.COM"))
        try builder.append(alias, to: .answer)
        #expect(
            builder.finish()
                == hex(
                    """
                    0001 8180 0001 0002 0000 0000
                    03 777777 07 6578616d706c65 03 636f6d 00 0001 0001
                    C00C 0001 0001 0000003C 0004 C0000201
                    01 61 C010 0005 0001 00000001 0004 01 62 C031
                    """
                )
        )
    }

    @Test
    func `types newer than RFC 1035 have no compressed names and no pointer targets`() throws {
        var builder = MessageBuilder(header: Header())
        let data = RecordData.srv(priority: 0, weight: 0, port: 1, target: "sip.example.com")
        try builder.append(Record(name: "example.com", ttl: 1, data: data), to: .answer)
        let other = Record(name: "sip.example.com", ttl: 1, data: .a("192.0.2.1"))
        try builder.append(other, to: .answer)
        let octets = builder.finish()
        #expect(octets[41..<58].elementsEqual("\u{3}sip\u{7}example\u{3}com\u{0}".utf8))
        #expect(octets[58..<64].elementsEqual([3] + ascii("sip") + [0xC0, 12]))
    }

    @Test
    func `the offsets of TTLs are returned, without that of OPT`() throws {
        var builder = MessageBuilder(header: Header())
        try builder.append(question)
        try builder.append(address, to: .answer)
        try builder.append(address, to: .additional)
        try builder.append(EDNS())
        #expect(builder.ttlOffsets == [39, 55])
        let offsets = builder.ttlOffsets
        let octets = builder.finish()
        for offset in offsets {
            #expect(octets[Int(offset)..<Int(offset) + 4].elementsEqual([0, 0, 0, 60]))
        }
    }

    @Test
    func `a name beyond the range of pointers is not a target of a pointer`() throws {
        var builder = MessageBuilder(header: Header())
        let filler = Record(
            name: .root,
            type: .caa,
            ttl: 1,
            data: .opaque([UInt8](repeating: 7, count: 0x4000 - 12 - 11 - 4))
        )
        try builder.append(filler, to: .answer)
        let record = Record(name: "abcdef.example.com", ttl: 1, data: .a("192.0.2.1"))
        try builder.append(record, to: .answer)
        let start = builder.octets.count
        try builder.append(record, to: .answer)
        #expect(builder.octets.count - start == 2 + 14)
        let deeper = Record(name: "example.com", ttl: 1, data: .a("192.0.2.1"))
        try builder.append(deeper, to: .answer)
        #expect(builder.octets.count - start == 16 + 13 + 14)
        #expect(try Message(parsing: builder.finish()).answers.count == 4)
    }

    @Test
    func `more names than the compression table holds are written uncompressed`() throws {
        var message = Message()
        for index in 0..<200 {
            let name = try Name("n\(index).z\(index % 90).example")
            message.answers.append(Record(name: name, ttl: 1, data: .ns(name)))
        }
        #expect(try Message(parsing: message.encoded()) == message)
    }

    @Test(arguments: [(16, 16), (17, 20)])
    func `a name is compared with at most 16 names of equal length`(
        _ names: Int,
        _ recordOctets: Int
    ) throws {
        var builder = MessageBuilder(header: Header(id: 1))
        try builder.append(Question(name: "example", type: .a))
        for index in 10..<(10 + names) {
            let name = try Name("n\(index).example")
            try builder.append(Record(name: name, ttl: 1, data: .a("192.0.2.1")), to: .answer)
        }
        let start = builder.octets.count
        let first = Record(name: "n10.example", ttl: 1, data: .a("192.0.2.2"))
        try builder.append(first, to: .answer)
        #expect(builder.octets.count - start == recordOctets)
        #expect(try Message(parsing: builder.finish()).answers.last == first)
    }
}

@Suite("Cached replies for questions in any letter case")
struct AnswerSectionsTests {
    @Test
    func `sections are valid after a question in any letter case`() throws {
        let question = Question(name: "www.example.com", type: .a)
        let answers = [
            Record(name: "WWW.EXAMPLE.COM", ttl: 60, data: .cname("web.example.com")),
            Record(name: "web.example.com", ttl: 30, data: .a("192.0.2.1")),
        ]
        let authority = Record(name: "example.com", ttl: 5, data: .ns("ns.example.com"))
        let glue = Record(name: "ns.example.com", ttl: 6, data: .aaaa("2001:db8::1"))
        let sections = try AnswerSections(
            question: question,
            answers: answers,
            authorities: [authority],
            additionals: [glue]
        )
        #expect(sections.octets.starts(with: [0xC0, 0x0C]))
        #expect(sections.answerCount == 2)
        #expect(sections.authorityCount == 1)
        #expect(sections.additionalCount == 1)
        for spelling in ["www.example.com", "wWw.ExAmPlE.cOm"] {
            let name = try Name(spelling)
            var octets = header(1, 2, 1, 1) + name.octets + hex("0001 0001")
            let start = octets.count
            octets += sections.octets
            let message = try Message(parsing: octets)
            #expect(message.answers == answers)
            #expect(message.answers[0].name.octets == name.octets)
            #expect(message.authorities == [authority])
            #expect(message.additionals == [glue])
            let ttls = sections.ttlOffsets.map { octets[Int($0) + 3] }
            #expect(ttls == [60, 30, 5, 6])
            #expect(sections.ttlOffsets.allSatisfy { Int($0) > start })
        }
    }

    @Test
    func `cached sections may be empty`() throws {
        let sections = try AnswerSections(question: Question(name: .root, type: .ns))
        #expect(sections.octets.isEmpty)
        #expect(sections.ttlOffsets.isEmpty)
    }

    @Test
    func `sections that exceed a message are refused`() {
        let data = RecordData.opaque([UInt8](repeating: 0, count: 40_000))
        let record = Record(name: .root, type: .caa, ttl: 1, data: data)
        #expect(throws: BuildError.messageFull) {
            try AnswerSections(
                question: Question(name: .root, type: .caa),
                answers: [record, record]
            )
        }
    }
}
