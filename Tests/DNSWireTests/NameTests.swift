// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("Names (RFC 1035 §3.1, RFC 4343)")
struct NameTests {
    @Test
    func `names are compared without regard to the case of ASCII letters`() {
        let small: Name = "www.example.com"
        let mixed: Name = "WwW.eXaMpLe.CoM."
        #expect(small == mixed)
        #expect(small.hashValue == mixed.hashValue)
        #expect(Set([small, mixed]).count == 1)
        #expect(mixed.octets != small.octets)
        #expect(mixed.lowercased.octets == small.octets)
    }

    @Test
    func `octets next to the letters have no case`() {
        // These octets are not letters: the neighbours of the ASCII letters, and 0xC1, which is `A`
        // with the top bit set.
        #expect(Name("\\@a") != Name("`a"))
        #expect(Name("[a") != Name("{a"))
        #expect(Name("\\193") != Name("\\225"))
    }

    @Test
    func `an escaped dot inside a label does not separate labels`() {
        #expect(Name("a\\.b.example") != Name("a.b.example"))
        #expect(Name("a\\.b.example").labelCount == 2)
    }

    @Test
    func `labels are listed from the left, and the root has none`() {
        let name: Name = "a.bc.def"
        #expect(name.labels.map(Array.init) == [ascii("a"), ascii("bc"), ascii("def")])
        #expect(name.labelCount == 3)
        #expect(Name.root.labels.map(Array.init).isEmpty)
        #expect(Name.root.labelCount == 0)
        #expect(Name.root.isRoot)
    }

    @Test
    func `parents lead to the root, which has no parent`() {
        let name: Name = "www.example.com"
        #expect(name.parent == "example.com")
        #expect(name.parent?.parent?.parent == .root)
        #expect(Name.root.parent == nil)
    }

    @Test(arguments: [
        ("www.example.com", "example.com", true), ("example.com", "EXAMPLE.com", true),
        ("example.com", "www.example.com", false), ("notexample.com", "example.com", false),
        ("example.com", ".", true), (".", ".", true), (".", "com", false),
        ("a.b.c", "b.d", false),
        ("x\\003com", "com", false),
    ])
    func `a name is below each of its suffixes`(case: (String, String, Bool)) throws {
        let (name, other, expected) = `case`
        #expect(try Name(name).isEqualOrBelow(Name(other)) == expected)
    }

    @Test(arguments: [
        ("www.example.com", true), ("_dns.resolver.arpa", true), ("XN--Bcher-kva.Example", true),
        ("1-2.example", true), (".", false), ("a\\.b", false), ("a\\032b", false),
        ("a/b", false), ("\\228.example", false), ("*.example", false), ("a\\000", false),
    ])
    func `only letters, digits, hyphen and underscore make a host name`(
        case: (String, Bool)
    ) throws {
        let name = try Name(`case`.0)
        #expect(name.isHostname == `case`.1)
        var text: [UInt8] = []
        #expect(name.appendHostText(to: &text) == `case`.1)
        if `case`.1 { #expect(text == Array(name.lowercased.text.utf8)) }
    }

    @Test(arguments: [
        ("a.b", "a.b", true), ("a.b", "A.B.", true), ("a.B", "a.b", true), ("a.b", "a.b..", false),
        ("a.b", "ab", false), ("a.b", "a-b", false), ("a.b", "a.c", false), ("a.b", "a.bc", false),
        ("ab.c", "a.bc", false), ("a\\.b", "a.b", false), ("a\\032b", "a b", false),
        ("a", "", false), ("a", ".", false), (".", ".", false), (".", "", false),
    ])
    func `the text of a host name is recognized`(case: (String, String, Bool)) throws {
        let text = Array("<\(`case`.1)>".utf8)
        let name = try Name(`case`.0)
        #expect(name.isWritten(in: text, at: 1..<text.count - 1) == `case`.2)
    }

    @Test(
        arguments: [
            ("root", "00", nil),
            ("one label", "01 61 00", nil),
            ("nothing", "", .truncated(at: 0)),
            ("no root label", "01 61", .truncated(at: 2)),
            ("cut in a label", "03 61 62", .truncated(at: 3)),
            ("octets after it", "01 61 00 00", .trailingOctets(at: 3)),
            ("a pointer", "01 61 C0 00", .compressedName(at: 2)),
            ("label type 01", "40 61 00", .reservedLabel(at: 0)),
            ("label type 10", "80 61 00", .reservedLabel(at: 0)),
        ] as [(String, String, WireError?)]
    )
    func `the wire form is one complete name`(case: (String, String, WireError?)) {
        let (_, octets, expected) = `case`
        guard let expected else {
            #expect(throws: Never.self) { try Name(wire: hex(octets)) }
            return
        }
        #expect(throws: expected) { try Name(wire: hex(octets)) }
    }

    @Test
    func `a name has at most 255 octets`() {
        let label = [63] + [UInt8](repeating: 0x61, count: 63)
        let fits = label + label + label + [61] + [UInt8](repeating: 0x62, count: 61) + [0]
        #expect(fits.count == 255)
        #expect(throws: Never.self) { try Name(wire: fits) }
        let over = label + label + label + [62] + [UInt8](repeating: 0x62, count: 62) + [0]
        #expect(throws: WireError.nameTooLong(at: 192)) { try Name(wire: over) }
    }

    @Test
    func `reverse names start with the last octet`() throws {
        let four = try #require(IPAddress("192.0.2.10"))
        #expect(Name(reverseOf: four).text == "10.2.0.192.in-addr.arpa")
        let six = try #require(IPAddress("2001:db8::567:89ab"))
        #expect(
            Name(reverseOf: six).text
                == "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"
        )
        let mapped = try #require(IPAddress("::ffff:192.0.2.10"))
        #expect(Name(reverseOf: mapped) == Name(reverseOf: four))
    }
}
