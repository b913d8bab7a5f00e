// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("Mnemonics and unknown numbers (RFC 3597 §5)")
struct RegistryTests {
    @Test(
        arguments: [
            ("A", 1), ("aaaa", 28), ("HTTPS", 65), ("svcb", 64), ("TYPE65280", 65_280),
            ("type1", 1),
            ("ANY", 255), ("CAA", 257), ("NSEC3", 50), ("NSAP-PTR", 23), ("DNAME", 39),
        ] as [(String, UInt16)]
    )
    func `type mnemonics and numbers are parsed`(case: (String, UInt16)) {
        #expect(RecordType(`case`.0)?.rawValue == `case`.1)
    }

    @Test(arguments: ["", "TYPE", "TYPE65536", "TYPE-1", "TYPE+1", "A ", "QQ", "TYPE1x", "1"])
    func `text that is neither a mnemonic nor a number is not a type`(text: String) {
        #expect(RecordType(text) == nil)
    }

    @Test
    func `every number survives conversion to text and back`() {
        for number in UInt16.min...UInt16.max {
            let type = RecordType(rawValue: number)
            #expect(RecordType(type.description) == type)
            let recordClass = RecordClass(rawValue: number)
            #expect(RecordClass(recordClass.description) == recordClass)
        }
        for number in UInt16(0)...4095 {
            let rcode = RCode(rawValue: number)
            #expect(RCode(rcode.description) == rcode)
        }
    }

    @Test
    func `numbers without a mnemonic are printed as numbers`() {
        #expect(RecordType(rawValue: 65_280).description == "TYPE65280")
        #expect(RecordClass.any.description == "CLASS255")
        #expect(RecordClass.in.description == "IN")
        #expect(RCode.badCookie.description == "BADCOOKIE")
        #expect(RCode(rawValue: 3841).description == "RCODE3841")
        #expect(RCode("RCODE4096") == nil)
    }

    @Test
    func `only A and AAAA are address types`() {
        #expect(RecordType.a.isAddress && RecordType.aaaa.isAddress && !RecordType.mx.isAddress)
    }

    @Test
    func `extended errors have names`() {
        #expect(ExtendedError.staleAnswer.description == "Stale Answer")
        #expect(ExtendedError.networkError.rawValue == 23)
        #expect(ExtendedError.invalidQueryType.description == "Invalid Query Type")
        #expect(ExtendedError(rawValue: 4711).description == "code 4711")
    }
}

@Suite("Header (RFC 1035 §4.1.1)")
struct HeaderTests {
    @Test
    func `each flag has its own bit`() {
        let flags: [(WritableKeyPath<Header, Bool>, UInt16)] = [
            (\.isResponse, 0x8000), (\.isAuthoritative, 0x0400), (\.isTruncated, 0x0200),
            (\.recursionDesired, 0x0100), (\.recursionAvailable, 0x0080),
            (\.authenticData, 0x0020), (\.checkingDisabled, 0x0010),
        ]
        for (path, mask) in flags {
            var header = Header()
            header[keyPath: path] = true
            #expect(header.flags == mask)
            #expect(header[keyPath: path])
            header.flags = 0xFFFF
            header[keyPath: path] = false
            #expect(header.flags == ~mask)
            #expect(!header[keyPath: path])
        }
    }

    @Test
    func `setting opcode or RCODE keeps all other bits`() {
        var header = Header(flags: 0xFFFF)
        header.opcode = 4
        #expect(header.flags == 0xA7FF)
        #expect(header.opcode == 4)
        header.rcode = .nxDomain
        #expect(header.flags == 0xA7F3)
        #expect(header.rcode == .nxDomain)
    }
}
