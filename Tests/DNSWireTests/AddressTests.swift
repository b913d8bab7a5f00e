// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("IP addresses (RFC 4291, RFC 5952)")
struct AddressTests {
    @Test(arguments: ["0.0.0.0", "192.0.2.1", "255.255.255.255", "10.0.0.200"])
    func `dotted quads are parsed and printed`(text: String) throws {
        let address = try #require(IPv4Address(text))
        #expect(address.description == text)
        #expect(IPv4Address(octets: address.octets) == address)
        #expect(IPAddress(text) == .v4(address))
    }

    @Test(arguments: [
        "", "1.2.3", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1..2.3", "256.1.1.1", "01.2.3.4",
        "1.2.3.04", "00.0.0.0", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4\0", "0x7f.0.0.1", "2130706433",
        "1.2.3.-4", "1.2.3.+4", "１.2.3.4", "1.2.3.4294967297",
    ])
    func `text that is not in strict dotted-decimal form is not an IPv4 address`(text: String) {
        #expect(IPv4Address(text) == nil)
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("2001:DB8::0:1", "2001:db8::1"),
        ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("0001:0002::", "1:2::"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1"), ("::FFFF:C000:201", "::ffff:192.0.2.1"),
        ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("fe80::", "fe80::"),
    ])
    func `IPv6 addresses are printed in canonical form`(case: (String, String)) throws {
        let address = try #require(IPv6Address(`case`.0))
        #expect(address.description == `case`.1)
        #expect(IPv6Address(octets: address.octets) == address)
        #expect(IPv6Address(`case`.1) == address)
    }

    @Test(arguments: [
        "", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", ":1::2", "1::2:",
        "12345::", "g::", "::1.2.3", "::1.2.3.4.5", "1.2.3.4::", "::1%eth0", "[::1]", " ::1",
        "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:1.2.3.4", "::01.2.3.4",
        "::1.2.3.4:5", "0000000000000000000000000000000000000000000000::",
    ])
    func `text that violates the IPv6 text format is not an IPv6 address`(text: String) {
        #expect(IPv6Address(text) == nil)
        #expect(IPAddress(text) == nil)
    }

    @Test
    func `an IPv4-mapped address is unmapped`() {
        let mapped: IPv6Address = "::ffff:192.0.2.1"
        #expect(mapped.mapped == "192.0.2.1")
        #expect(IPAddress.v6(mapped).unmapped == .v4("192.0.2.1"))
        #expect(IPAddress.v6("2001:db8::1").unmapped == .v6("2001:db8::1"))
    }

    @Test(arguments: [0, 3, 5, 15, 17])
    func `addresses have 4 or 16 octets`(count: Int) {
        #expect(IPAddress(octets: [UInt8](repeating: 1, count: count)) == nil)
    }

    // RFC 1122 §3.2.1.3 (0/8, 127/8), RFC 5771 and RFC 6890.
    @Test(arguments: [
        ("0.0.0.0", "unspecified"), ("0.1.2.3", "unspecified"), ("::", "unspecified"),
        ("::ffff:0.0.0.0", "unspecified"), ("127.0.0.1", "loopback"),
        ("127.255.255.255", "loopback"), ("::1", "loopback"), ("::ffff:127.0.0.1", "loopback"),
        ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"), ("ff02::fb", "multicast"),
        ("::ffff:224.0.0.251", "multicast"), ("1.0.0.1", ""), ("126.255.255.255", ""),
        ("128.0.0.1", ""), ("223.255.255.255", ""), ("240.0.0.1", ""), ("::2", ""),
        ("fe00::1", ""), ("::ffff:192.0.2.1", ""), ("::fffe:127.0.0.1", ""),
    ])
    func `unspecified, loopback and multicast addresses are recognized`(case: (String, String))
        throws
    {
        let address = try #require(IPAddress(`case`.0))
        var classes: [String] = []
        if address.isUnspecified { classes.append("unspecified") }
        if address.isLoopback { classes.append("loopback") }
        if address.isMulticast { classes.append("multicast") }
        #expect(classes.joined(separator: " ") == `case`.1)
    }
}

@Suite("Networks")
struct PrefixTests {
    @Test(arguments: [
        ("192.0.2.0/24", "192.0.2.0/24"), ("0.0.0.0/0", "0.0.0.0/0"), ("::/0", "::/0"),
        ("192.0.2.1", "192.0.2.1/32"), ("192.0.2.1/32", "192.0.2.1/32"),
        ("2001:db8::/32", "2001:db8::/32"), ("::1", "::1/128"), ("fe80::/10", "fe80::/10"),
        ("2001:db8:0:0:8000::/65", "2001:db8:0:0:8000::/65"),
        ("::ffff:192.0.2.0/120", "192.0.2.0/24"), ("::ffff:0:0/96", "0.0.0.0/0"),
    ])
    func `networks are parsed and printed`(case: (String, String)) throws {
        #expect(try #require(IPPrefix(`case`.0)).description == `case`.1)
    }

    @Test(arguments: [
        "", "/", "192.0.2.0/", "/24", "192.0.2.0/33", "::/129", "192.0.2.1/24", "2001:db8::1/32",
        "192.0.2.0/024", "192.0.2.0/-1", "192.0.2.0/+8", "192.0.2.0/8 ", "192.0.2.0/24/24",
        "192.0.2/24", "::ffff:192.0.2.1/120", "192.0.2.0/1000", "::1/127", "::ffff:0:0/95",
    ])
    func `text with host bits or without a valid prefix length is not a network`(text: String) {
        #expect(IPPrefix(text) == nil)
    }

    @Test(arguments: [
        ("127.0.0.0/8", "127.255.255.255", true), ("127.0.0.0/8", "128.0.0.0", false),
        ("192.0.2.128/25", "192.0.2.127", false), ("192.0.2.128/25", "192.0.2.128", true),
        ("0.0.0.0/0", "255.1.1.1", true), ("0.0.0.0/0", "::1", false), ("::/0", "ff::", true),
        ("::/0", "192.0.2.1", false), ("::/0", "::ffff:192.0.2.1", false),
        ("127.0.0.0/8", "::ffff:127.0.0.1", true), ("::1/128", "::1", true),
        ("::1/128", "::2", false), ("2001:db8::/32", "2001:db8:ffff::1", true),
        ("2001:db8::/32", "2001:db9::", false), ("2001:db8:0:0:8000::/65", "2001:db8::", false),
        ("2001:db8:0:0:8000::/65", "2001:db8::ffff:0:0:1", true),
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
        ("2001:db8::/64", "2001:db8::1:0:0:1", true), ("2001:db8::/64", "2001:db8:0:1::", false),
    ])
    func `a network contains the right addresses`(case: (String, String, Bool)) throws {
        let (network, candidate, expected) = `case`
        let prefix = try #require(IPPrefix(network))
        #expect(try prefix.contains(#require(IPAddress(candidate))) == expected)
    }

    @Test
    func `the network of any address is its prefix`() throws {
        let address = try #require(IPAddress("192.0.2.77"))
        #expect(IPPrefix(containing: address, length: 24) == IPPrefix("192.0.2.0/24"))
        #expect(IPPrefix(containing: address, length: 0) == IPPrefix("0.0.0.0/0"))
        #expect(IPPrefix(containing: address, length: 33) == nil)
        #expect(IPPrefix(containing: address, length: -1) == nil)
    }
}
