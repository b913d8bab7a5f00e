// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("EDNS (RFC 6891)")
struct EDNSTests {
    private func query(_ options: String) -> [UInt8] {
        header(0, 0, 0, 1) + hex("00 0029 04D0 00 00 8000") + two(hex(options).count) + hex(options)
    }

    @Test
    func `OPT has its fields in place of class and TTL`() throws {
        let octets = hex("0000 800F 0000 0000 0000 0001 00 0029 1000 A5 01 C003 0000")
        let message = try Message(parsing: octets)
        let edns = try #require(message.edns)
        #expect(edns.udpPayloadSize == 4096)
        #expect(edns.extendedRCode == 0xA5)
        #expect(edns.version == 1)
        #expect(edns.dnssecOK)
        #expect(edns.flags == 0xC003)
        #expect(message.rcode.rawValue == 0xA5F)
        #expect(message.additionals.isEmpty)
        #expect(message.encoded() == octets)
    }

    @Test
    func `an extended RCODE is split between header and OPT`() throws {
        var message = Message(header: Header(flags: 0x8000), edns: EDNS())
        message.rcode = .badVers
        #expect(message.header.rcode == .noError)
        #expect(message.edns?.extendedRCode == 1)
        #expect(try Message(parsing: message.encoded()).rcode == .badVers)
        message.rcode = .badCookie
        #expect(message.header.flags == 0x8007)
        #expect(message.rcode == .badCookie)
        message.rcode = .nxDomain
        #expect(message.edns?.extendedRCode == 0)
    }

    @Test
    func `without EDNS an extended RCODE becomes SERVFAIL`() {
        var message = Message()
        message.rcode = .badVers
        #expect(message.rcode == .servFail)
        message.rcode = .refused
        #expect(message.rcode == .refused)
    }

    @Test(arguments: [
        "0007 0001 18 00 C00002", "000B 0002 38 30 20010db8000000", "0004 0001 00 00",
        "0004 0000 00 00", "0005 0001 03 00 E0",
    ])
    func `valid client subnets are accepted (RFC 7871 §6)`(option: String) throws {
        let octets = query("0008" + option)
        #expect(try Message(parsing: octets).encoded() == octets)
    }

    @Test(arguments: [
        ("subnet with too few octets", "0008 0006 0001 18 00 C000"),
        ("subnet with too many octets", "0008 0008 0001 18 00 C0000200"),
        ("subnet with bits after the prefix", "0008 0007 0001 14 00 C00001"),
        ("subnet of 33 bits", "0008 0009 0001 21 00 C000020100"),
        ("subnet of scope 33", "0008 0007 0001 18 21 C00002"),
        ("subnet of family 3", "0008 0007 0003 18 00 C00002"),
        ("subnet of no family with an address", "0008 0005 0000 08 00 C0"),
        ("subnet cut", "0008 0003 0001 18"),
        ("cookie of 7", "000A 0007 01020304050607"),
        ("cookie of 9", "000A 0009 010203040506070809"),
        ("cookie of 15", "000A 000F 010203040506070801020304050607"),
        ("cookie of none", "000A 0000"),
        ("keepalive of 1", "000B 0001 00"),
        ("keepalive of 3", "000B 0003 000000"),
        ("extended error of 1", "000F 0001 00"),
        ("option cut in its code", "00"),
        ("option without a length", "000A"),
        ("option longer than the record", "FDE9 0003 0102"),
        ("octets after the last option", "FDE9 0001 01 00"),
    ])
    func `malformed options are refused`(case: (String, String)) {
        let octets = query(`case`.1)
        let error = #expect(throws: WireError.self) { try Message(parsing: octets) }
        guard case .badOption(let offset) = error else {
            Issue.record("\(`case`.0): \(String(describing: error))")
            return
        }
        #expect(23...octets.count ~= offset)
    }

    @Test
    func `a cookie of 41 octets is refused`() {
        let cookie = String(repeating: "00", count: 41)
        #expect(throws: WireError.badOption(at: 27)) {
            try Message(parsing: query("000A 0029" + cookie))
        }
    }

    @Test
    func `options keep their order`() throws {
        let octets = query(
            "000A 0008 0102030405060708 000B 0000 000B 0002 0064 000C 0003 000000 "
                + "000F 0006 0003 7374616c FDE9 0000 000F 0003 0016 FF"
        )
        let message = try Message(parsing: octets)
        #expect(
            message.edns?.options == [
                .cookie(client: [1, 2, 3, 4, 5, 6, 7, 8], server: []), .keepalive(timeout: nil),
                .keepalive(timeout: 100), .unknown(code: 12, octets: [0, 0, 0]),
                .extendedError(code: .staleAnswer, text: "stal"),
                .unknown(code: 65_001, octets: []),
                .unknown(code: 15, octets: [0, 22, 0xFF]),
            ]
        )
        #expect(message.edns?.cookie?.client == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(message.edns?.extendedErrors.map(\.code) == [.staleAnswer])
        #expect(message.encoded() == octets)
    }

    @Test
    func `DO is set and cleared without other flags (RFC 3225 §3)`() {
        var edns = EDNS(dnssecOK: true)
        #expect(edns.flags == 0x8000)
        edns.flags = 0xFFFF
        edns.dnssecOK = false
        #expect(edns.flags == 0x7FFF)
        #expect(edns.cookie == nil && edns.extendedErrors.isEmpty)
    }
}
