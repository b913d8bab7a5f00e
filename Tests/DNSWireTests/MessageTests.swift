// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("Messages (RFC 1035 §4)")
struct MessageTests {
    private let packet = hex(
        """
        BEEF 8583 0001 0002 0001 0002
        03 777777 07 6578616d706c65 03 636f6d 00 0001 0001
        C00C 0005 0001 0000003C 0006 03 776562 C010
        C02D 0001 0001 00000E10 0004 C0000201
        C010 0006 0001 00000384 001D
            02 6e73 C010 01 68 C010 00000001 00000002 00000003 00000004 00000005
        00 0029 04D0 00 00 8000 000C 000A 0008 0102030405060708
        0161 C010 001C 0001 00000005 0010 20010db8000000000000000000000001
        """
    )

    @Test
    func `every field of a packet is parsed`() throws {
        let message = try Message(parsing: packet)
        #expect(message.header.id == 0xBEEF)
        #expect(message.header.isResponse)
        #expect(message.header.opcode == 0)
        #expect(message.header.isAuthoritative)
        #expect(!message.header.isTruncated)
        #expect(message.header.recursionDesired && message.header.recursionAvailable)
        #expect(message.rcode == .nxDomain)
        #expect(message.question == Question(name: "www.example.com", type: .a))
        #expect(
            message.answers.map(\.description) == [
                "www.example.com. 60 IN CNAME web.example.com.",
                "web.example.com. 3600 IN A 192.0.2.1",
            ]
        )
        #expect(
            message.authorities.map(\.description) == [
                "example.com. 900 IN SOA ns.example.com. h.example.com. 1 2 3 4 5"
            ]
        )
        #expect(message.additionals.map(\.description) == ["a.example.com. 5 IN AAAA 2001:db8::1"])
        #expect(message.edns?.udpPayloadSize == 1232)
        #expect(message.edns?.dnssecOK == true)
    }

    @Test
    func `an encoded message is parsed as the same message, with OPT last`() throws {
        let message = try Message(parsing: packet)
        let written = message.encoded()
        #expect(written.count == packet.count)
        #expect(try Message(parsing: written) == message)
        #expect(try Message(parsing: written).encoded() == written)
    }

    @Test
    func `every shorter message is refused`() {
        for count in 0..<packet.count {
            #expect(throws: WireError.self) { try Message(parsing: Array(packet[..<count])) }
        }
    }

    @Test
    func `octets after the last record are refused`() {
        #expect(throws: WireError.trailingOctets(at: packet.count)) {
            try Message(parsing: packet + [0])
        }
    }

    @Test(arguments: [
        ("questions", [2, 0, 0, 0]), ("answers", [1, 1, 0, 0]), ("authorities", [1, 0, 1, 0]),
        ("additionals", [1, 0, 0, 1]), ("all", [65_535, 65_535, 65_535, 65_535]),
    ])
    func `a message with a wrong section count is refused`(case: (String, [Int])) {
        let counts = `case`.1
        let octets =
            header(counts[0], counts[1], counts[2], counts[3]) + hex("01 61 00 0001 0001")
        #expect(throws: WireError.truncated(at: octets.count)) { try Message(parsing: octets) }
    }

    @Test(
        arguments: [
            ("two", [0, 0, 0, 2], "O O", .secondOPT(at: 23)),
            ("in the answer section", [0, 1, 0, 0], "O", .misplacedOPT(at: 12)),
            ("in the authority section", [0, 0, 1, 0], "O", .misplacedOPT(at: 12)),
            ("with an owner", [0, 0, 0, 1], "01 61 O", .namedOPT(at: 12)),
        ] as [(String, [Int], String, WireError)]
    )
    func `a message has at most one OPT record, of the root, in the additional section`(
        case: (String, [Int], String, WireError)
    ) {
        let (_, counts, text, expected) = `case`
        let opt = "00 0029 0200 00000000 0000"
        let octets =
            header(counts[0], counts[1], counts[2], counts[3])
            + hex(text.replacing("O", with: opt))
        #expect(throws: expected) { try Message(parsing: octets) }
    }

    @Test
    func `an empty message is a header`() throws {
        let octets = header(0, 0, 0, 0)
        #expect(try Message(parsing: octets).encoded() == octets)
        #expect(throws: WireError.truncated(at: 0)) { try Message(parsing: []) }
        #expect(throws: WireError.truncated(at: 10)) {
            try Message(parsing: Array(octets.dropLast()))
        }
    }

    @Test
    func `a message with exactly one question returns this question`() {
        let question = Question(name: "example.com", type: .a)
        #expect(Message(questions: [question]).question == question)
        #expect(Message().question == nil)
        #expect(Message(questions: [question, question]).question == nil)
    }

    @Test
    func `an RRset has records of one owner and type; RRSIG records also have one covered type`() {
        let keys = [
            Record(name: "a.example", ttl: 60, data: .a("192.0.2.1")),
            Record(name: "A.EXAMPLE", ttl: 60, data: .a("192.0.2.2")),
            Record(name: "b.example", ttl: 60, data: .a("192.0.2.1")),
            Record(name: "a.example", type: .rrsig, ttl: 1, data: .opaque([0, 1])),
            Record(name: "a.example", type: .rrsig, ttl: 2, data: .opaque([0, 28])),
        ].map(\.setKey)
        #expect(keys[0] == keys[1] && Set(keys).count == 4)
    }
}
