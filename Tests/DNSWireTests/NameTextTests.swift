// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("Names as text (RFC 1035 §5.1)")
struct NameTextTests {
    @Test(arguments: [
        ("root", ".", "00"), ("final dot", "com.", "03 636f6d 00"),
        ("no final dot", "com", "03 636f6d 00"), ("two labels", "a.b", "01 61 01 62 00"),
        ("escaped dot", "a\\.b", "03 612e62 00"), ("decimal", "\\065\\000\\255", "03 4100ff 00"),
        ("escaped letter", "\\a", "01 61 00"), ("escaped space", "a\\ b", "03 612062 00"),
        ("escaped backslash", "\\\\", "01 5c 00"), ("quote", "\"", "01 22 00"),
    ])
    func `text is parsed into octets`(case: (String, String, String)) throws {
        #expect(try Name(`case`.1).octets == hex(`case`.2))
    }

    @Test(
        arguments: [
            ("nothing", "", .empty), ("two dots", "a..b", .emptyLabel(at: 2)),
            ("dot first", ".a", .emptyLabel(at: 0)), ("only dots", "..", .emptyLabel(at: 0)),
            ("dots last", "a..", .emptyLabel(at: 2)), ("space", "a b", .unescaped(at: 1)),
            ("line end", "a\n", .unescaped(at: 1)), ("not ASCII", "bücher", .unescaped(at: 1)),
            ("NUL", "\0", .unescaped(at: 0)), ("backslash last", "a\\", .badEscape(at: 1)),
            ("256", "\\256", .badEscape(at: 0)), ("two digits", "\\12", .badEscape(at: 0)),
            ("digits and letter", "\\12a", .badEscape(at: 0)),
            ("escaped ü", "\\ü", .badEscape(at: 0)),
            ("64 octets", "a." + String(repeating: "b", count: 64), .labelTooLong(at: 2)),
        ] as [(String, String, NameTextError)]
    )
    func `invalid text is refused with its place`(case: (String, String, NameTextError)) {
        #expect(throws: `case`.2) { try Name(`case`.1) }
    }

    @Test
    func `the longest name has 127 labels of one octet`() throws {
        let longest = String(repeating: "a.", count: 127)
        #expect(try Name(longest).octets.count == 255)
        #expect(try Name(longest.dropLast()).octets.count == 255)
        #expect(throws: NameTextError.nameTooLong) { try Name(longest + "a") }
        let four = String(repeating: "b", count: 63)
        let three = "\(four).\(four).\(four)."
        #expect(try Name(three + four.dropLast(2)).octets.count == 255)
        #expect(throws: NameTextError.nameTooLong) { try Name(three + four.dropLast()) }
    }

    @Test(
        arguments: [
            ("root", "00", ".", "."), ("plain", "03 57 77 57 00", "WwW.", "WwW"),
            ("specials", "08 22 3b 40 24 28 29 5c 2e 00", #"\"\;\@\$\(\)\\\.."#, nil),
            ("controls", "04 00 0a 1b 7f 00", #"\000\010\027\127."#, nil),
            ("space and high", "03 20 80 ff 00", #"\032\128\255."#, nil),
        ] as [(String, String, String, String?)]
    )
    func `the text of any name is safe in a log`(case: (String, String, String, String?)) throws {
        let name = try Name(wire: hex(`case`.1))
        #expect(name.description == `case`.2)
        if let text = `case`.3 { #expect(name.text == text) }
    }

    @Test
    func `every octet survives conversion to text and back`() throws {
        for first in UInt8.min...UInt8.max {
            let name = try Name(wire: [2, first, 0x30, 0])
            #expect(name.description.utf8.allSatisfy { 0x21...0x7E ~= $0 })
            #expect(try Name(name.description).octets == name.octets)
            #expect(try Name(name.text).octets == name.octets)
        }
    }
}
