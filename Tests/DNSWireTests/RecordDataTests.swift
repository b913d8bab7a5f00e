// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("Record data (RFC 1035 §3.3, RFC 2782, RFC 3596, RFC 3597)")
struct RecordDataTests {
    private func reply(_ type: Int, _ data: String, recordClass: Int = 1) -> [UInt8] {
        header(1, 1, 0, 0) + hex("07 6578616d706c65 03 636f6d 00 0001 0001")
            + record(hex("C00C"), type, hex(data), recordClass: recordClass)
    }

    private func read(_ octets: [UInt8]) throws(WireError) -> Record {
        try Message(parsing: octets).answers[0]
    }

    @Test(arguments: [
        ("A", 1, "C0000201", "A 192.0.2.1"),
        ("AAAA", 28, "20010db8 00000000 00000000 00000001", "AAAA 2001:db8::1"),
        ("NS compressed", 2, "02 6e73 C00C", "NS ns.example.com."),
        ("CNAME of the root", 5, "00", "CNAME ."),
        ("PTR", 12, "C00C", "PTR example.com."),
        ("MX", 15, "000A 02 6d78 C00C", "MX 10 mx.example.com."),
        ("MX without exchange", 15, "0000 00", "MX 0 ."),
        ("TXT", 16, "03 612262 00 02 5c09", #"TXT "a\"b" "" "\\\009""#),
        ("SRV", 33, "0001 0002 01BB 01 61 00", "SRV 1 2 443 a."),
        ("SRV compressed", 33, "0001 0002 01BB 01 61 C00C", "SRV 1 2 443 a.example.com."),
        (
            "SOA", 6, "C00C 01 68 C00C 00000001 00000002 00000003 00000004 00000005",
            "SOA example.com. h.example.com. 1 2 3 4 5"
        ),
        ("HINFO", 13, "07 52464338343832 00", "HINFO \\# 9 075246433834383200"),
        ("unknown", 65_280, "C00C", "TYPE65280 \\# 2 c00c"),
        ("unknown and empty", 65_280, "", "TYPE65280 \\# 0"),
    ])
    func `data is printed as in zone files`(case: (String, Int, String, String)) throws {
        let (_, type, data, expected) = `case`
        let answer = try read(reply(type, data))
        #expect(answer.description == "example.com. 300 IN " + expected)
    }

    @Test(
        arguments: [
            ("A of 3 octets", 1, "C00002", .badRDATA(at: 43)),
            ("A of 5 octets", 1, "C000020101", .badRDATA(at: 45)),
            ("A of none", 1, "", .badRDATA(at: 41)),
            ("AAAA of 15 octets", 28, "20010db8 00000000 00000000 000000", .badRDATA(at: 55)),
            ("NS of none", 2, "", .badRDATA(at: 41)),
            ("NS with octets after it", 2, "C00C 00", .badRDATA(at: 43)),
            ("NS cut", 2, "02 6e", .badRDATA(at: 43)),
            ("NS that points at itself", 2, "C029", .forwardPointer(at: 41)),
            ("MX of 1 octet", 15, "00", .badRDATA(at: 41)),
            ("MX without a name", 15, "000A", .badRDATA(at: 43)),
            ("TXT of none", 16, "", .badRDATA(at: 41)),
            ("TXT longer than its data", 16, "03 6161", .badRDATA(at: 42)),
            ("SRV without a name", 33, "0001 0002 01BB", .badRDATA(at: 47)),
            (
                "SOA cut", 6, "C00C C00C 00000001 00000002 00000003 00000004 000000",
                .badRDATA(at: 63)
            ),
            ("SVCB of none", 64, "", .badRDATA(at: 41)),
            ("DNAME with an invalid label type", 39, "93", .reservedLabel(at: 41)),
            ("DNAME with octets after it", 39, "C00C 00", .badRDATA(at: 43)),
            ("NAPTR cut", 35, "0001 0001 01", .badRDATA(at: 46)),
        ] as [(String, Int, String, WireError)]
    )
    func `data with an invalid form for its type is refused`(
        case: (String, Int, String, WireError)
    ) {
        let (_, type, data, expected) = `case`
        #expect(throws: expected) { try read(reply(type, data)) }
    }

    @Test
    func `A and AAAA data are addresses in class IN only`() throws {
        #expect(try read(reply(1, "C0", recordClass: 3)).data == .opaque([0xC0]))
        #expect(try read(reply(28, "", recordClass: 4)).data == .opaque([]))
        #expect(try read(reply(16, "01 61", recordClass: 3)).data == .txt([ascii("a")]))
    }

    @Test
    func `an update may have records without data (RFC 2136 §2.4)`() throws {
        #expect(try read(reply(5, "", recordClass: 255)).data == .opaque([]))
        #expect(try read(reply(1, "", recordClass: 254)).data == .opaque([]))
        #expect(try read(reply(5, "C00C", recordClass: 254)).data == .cname("example.com"))
    }

    @Test(arguments: [
        ("MINFO", 14, "C00C 01 61 C00C", "N 0161 N"), ("MB", 7, "C00C", "N"),
        ("RP", 17, "C00C C00C", "N N"), ("AFSDB", 18, "0001 C00C", "0001 N"),
        ("RT", 21, "0001 C00C", "0001 N"), ("PX", 26, "0001 C00C C00C", "0001 N N"),
        // RFC 3403 §4.1 forbids compression, but the reader accepts it.
        ("NAPTR", 35, "00010002 0141 00 0142 C00C", "00010002 0141 00 0142 N"),
        ("NXT", 30, "C00C 4000", "N 4000"),
        (
            "SIG", 24, "0001 05 03 00000e10 00000002 00000001 1234 C00C AABB",
            "0001 05 03 00000e10 00000002 00000001 1234 N AABB"
        ),
        // RFC 6672 §2.5 forbids compression. The reader nevertheless expands a pointer, because a
        // copied pointer would lead to another name.
        ("DNAME", 39, "C00C", "N"),
        // Compression is forbidden (RFC 4034 §3.1.7), so the reader does not change the data.
        ("RRSIG is not decompressed", 46, "C00C", "C00C"),
    ])
    func `compressed names are expanded before data is stored`(
        case: (String, Int, String, String)
    ) throws {
        let (_, type, data, expected) = `case`
        let name = "07 6578616d706c65 03 636f6d 00"
        let answer = try read(reply(type, data))
        #expect(answer.data == .opaque(hex(expected.replacing("N", with: name))))
    }

    @Test(
        arguments: [
            ("highest", "7FFFFFFF", 0x7FFF_FFFF), ("top bit", "80000000", 0),
            ("all", "FFFFFFFF", 0),
        ] as [(String, String, UInt32)]
    )
    func `a TTL above 2^31 - 1 is read as 0 (RFC 2181 §8)`(case: (String, String, UInt32)) throws {
        let octets = header(0, 1, 0, 0) + hex("00 0001 0001 \(`case`.1) 0004 C0000201")
        #expect(try read(octets).ttl == `case`.2)
    }

    @Test
    func `record data matches only its own types`() {
        #expect(RecordData.a("192.0.2.1").fits(.a))
        #expect(!RecordData.a("192.0.2.1").fits(.aaaa))
        let binding = RecordData.svcb(ServiceBinding(priority: 1, target: .root))
        #expect(binding.fits(.https) && binding.fits(.svcb) && !binding.fits(.a))
        #expect(RecordData.opaque([]).fits(.caa) && !RecordData.opaque([]).fits(.opt))
    }

    @Test
    func `the data of A and AAAA records has an address, other data has none`() {
        #expect(RecordData.a("192.0.2.1").address == .v4("192.0.2.1"))
        #expect(RecordData.aaaa("2001:db8::1").address == .v6("2001:db8::1"))
        #expect(RecordData.opaque([192, 0, 2, 1]).address == nil)
    }

    @Test
    func `the question of a record has its owner, type and class`() {
        let record = Record(name: "example.com", ttl: 1, data: .a("192.0.2.1"))
        #expect(record.question == Question(name: "EXAMPLE.com", type: .a))
        #expect(record.question.description == "example.com. IN A")
    }

    @Test
    func `a record with data of another type traps`() async {
        await #expect(processExitsWith: .failure) {
            _ = Record(name: .root, type: .aaaa, ttl: 1, data: .a(IPv4Address(value: 1)))
        }
        await #expect(processExitsWith: .failure) {
            _ = Record(name: .root, ttl: 1, data: .opaque([]))
        }
        await #expect(processExitsWith: .failure) {
            _ = Record(name: .root, ttl: 0x8000_0000, data: .a(IPv4Address(value: 1)))
        }
    }
}
