// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import DNSWire

@Suite("RFC 6052 and RFC 7050: IPv4 addresses under a NAT64 prefix")
struct NAT64PrefixTests {
    private static func prefix(_ text: String) throws -> NAT64Prefix {
        let network = try #require(IPPrefix(text))
        return try #require(NAT64Prefix(network))
    }

    /// Examples of RFC 6052 §2.4: a prefix, and the address that embeds 192.0.2.33 under it.
    static let vectors = [
        ("2001:db8::/32", "2001:db8:c000:221::"),
        ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
        ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
        ("64:ff9b::/96", "64:ff9b::192.0.2.33"),
    ]

    @Test("an IPv4 address is embedded as in RFC 6052 §2.4", arguments: vectors)
    func embedding(_ text: String, _ expected: String) throws {
        let (prefix, inner): (NAT64Prefix, IPv4Address) = (try Self.prefix(text), "192.0.2.33")
        let address = try #require(IPv6Address(expected))
        #expect(prefix.embed(inner) == address)
        #expect(prefix.extract(address) == inner)
        #expect("\(prefix)" == text)
    }

    @Test("an address with another prefix or a non-zero reserved octet contains no IPv4 address")
    func foreign() throws {
        let prefix = try Self.prefix("2001:db8:122:344::/64")
        for text in [
            "2001:db8:122:345:c0:2:2100::", "2001:db8:122:344:1c0:2:2100::",
            "2001:db8:122:344:c0:2:2100:1",
        ] {
            let address = try #require(IPv6Address(text))
            #expect(prefix.extract(address) == nil, "\(text)")
        }
    }

    @Test(
        "a private IPv4 address that is embedded under the prefix is found at any offset in data",
        arguments: ["2001:db8:64::/96", "2001:db8::/32", "2001:db8:122:344::/64"]
    )
    func embedded(_ text: String) throws {
        let prefix = try Self.prefix(text)
        let inside = prefix.embed("10.1.2.3").octets
        let outside = prefix.embed("8.8.8.8").octets
        for distance in [0, 1, 12] {
            let lead = [UInt8](repeating: 7, count: distance)
            #expect(prefix.embedsPrivateAddress(in: lead + inside + [1]))
            #expect(!prefix.embedsPrivateAddress(in: lead + outside + [1]))
            #expect(!prefix.embedsPrivateAddress(in: lead + inside.dropLast()))
        }
        #expect(!prefix.embedsPrivateAddress(in: []))
    }

    @Test(
        "a prefix with a wrong length, a non-zero reserved octet or local scope is invalid",
        arguments: [
            "64:ff9b::/95", "64:ff9b::/128", "2001:db8::/33", "2001:db8:0:0:100::/96", "::/96",
            "::/32", "fe80::/64", "ff02::/96", "192.0.2.0/32", "::ffff:0:0/96",
        ]
    )
    func refused(_ text: String) throws {
        let network = try #require(IPPrefix(text))
        #expect(NAT64Prefix(network) == nil)
    }

    @Test(
        "DNS64 synthesizes no address for a non-global IPv4 address under the well-known prefix",
        arguments: [
            ("192.0.2.1", true, true), ("10.0.0.1", false, true), ("100.64.0.1", false, true),
            ("192.168.1.1", false, true), ("127.0.0.1", false, false), ("0.0.0.0", false, false),
            ("169.254.1.1", false, false), ("224.0.0.1", false, false),
        ]
    )
    func scopes(_ text: String, _ wellKnown: Bool, _ ownPrefix: Bool) throws {
        let address = try #require(IPv4Address(text))
        #expect((NAT64Prefix.wellKnown.synthesize(address) != nil) == wellKnown)
        let own = try Self.prefix("2001:db8:64::/96")
        #expect((own.synthesize(address) != nil) == ownPrefix)
    }

    @Test("an address under the prefix has the scope of the embedded address", arguments: vectors)
    func scopeUnderPrefix(_ text: String, _ example: String) throws {
        let prefix = try Self.prefix(text)
        for (inner, reach) in [
            ("192.0.2.33", AddressReach.global), ("192.168.1.1", .local), ("127.0.0.1", .none),
        ] {
            let address = IPAddress.v6(prefix.embed(try #require(IPv4Address(inner))))
            #expect(address.reach(through: [prefix]) == reach, "\(address)")
        }
        let other = try Self.prefix("2001:db8:ffff::/96")
        #expect(try #require(IPAddress(example)).reach(through: [other, prefix]) == .global)
        #expect(try #require(IPAddress("fd00::1")).reach(through: [prefix]) == .local)
        #expect(try #require(IPAddress("10.0.0.1")).reach(through: [prefix]) == .local)
    }

    @Test("an address that embeds a private IPv4 address is local even if reserved bits are not 0")
    func scopeWithSuffix() throws {
        let prefix = try Self.prefix("2001:db8:122:344::/64")
        for text in ["2001:db8:122:344:1c0:a801:100::", "2001:db8:122:344:c0:a801:100:1"] {
            let address = try #require(IPAddress(text))
            #expect(address.reach == .global)
            #expect(address.reach(through: [prefix]) == .local, "\(text)")
        }
    }

    @Test(
        "the prefix is found in the AAAA records that a DNS64 creates for ipv4only.arpa",
        arguments: vectors.map(\.0)
    )
    func discovery(_ text: String) throws {
        let prefix = try Self.prefix(text)
        let addresses = NAT64Prefix.wellKnownAddresses.map(prefix.embed)
        #expect(NAT64Prefix(discoveredIn: addresses) == prefix)
        #expect(NAT64Prefix(discoveredIn: [addresses[1]]) == prefix)
    }

    @Test("discovery selects the prefix that embeds both well-known addresses, not a chance match")
    func ambiguity() throws {
        // The prefix itself contains the octets of 192.0.0.170.
        let prefix = try Self.prefix("2001:db8:c000:aa::/96")
        let addresses = NAT64Prefix.wellKnownAddresses.map(prefix.embed)
        #expect(NAT64Prefix(discoveredIn: addresses) == prefix)
        #expect(NAT64Prefix(discoveredIn: addresses.reversed()) == prefix)
    }

    @Test("the current prefix stays in use while the AAAA records, in any order, contain it")
    func severalPrefixes() throws {
        let prefixes = try ["2001:db8:aaaa::/96", "2001:db8:bbbb::/96"].map(Self.prefix)
        let addresses = prefixes.flatMap { NAT64Prefix.wellKnownAddresses.map($0.embed) }
        for current in prefixes {
            let found = NAT64Prefix(discoveredIn: addresses.reversed(), current: current)
            #expect(found == current)
        }
        let other = try Self.prefix("2001:db8:cccc::/96")
        #expect(NAT64Prefix(discoveredIn: addresses, current: other) == prefixes[0])
    }

    @Test(
        "discovery ignores an AAAA record without a well-known address or with a local prefix",
        arguments: ["2001:db8::1", "::ffff:192.0.0.170", "::192.0.0.170", "fe80::192.0.0.170"]
    )
    func nothing(_ text: String) throws {
        let address = try #require(IPv6Address(text))
        #expect(NAT64Prefix(discoveredIn: [address]) == nil)
        #expect(NAT64Prefix(discoveredIn: []) == nil)
    }

    @Test(
        "a reverse name is converted to its address",
        arguments: ["192.0.2.1", "0.0.0.0", "255.10.100.9", "::", "2001:db8::1"]
    )
    func reversed(_ text: String) throws {
        let address = try #require(IPAddress(text))
        let name = Name(reverseOf: address)
        #expect(name.reversedAddress == address)
        #expect(try Name(name.text.uppercased()).reversedAddress == address)
    }

    @Test(
        "a name in any other form is not a reverse name",
        arguments: [
            ".", "arpa", "1.2.0.192.in-addr.example", "1.2.0.192.in-adr.arpa",
            "2.0.192.in-addr.arpa",
            "1.1.2.0.192.in-addr.arpa", "01.2.0.192.in-addr.arpa", "256.2.0.192.in-addr.arpa",
            "a.2.0.192.in-addr.arpa",
        ]
    )
    func notReversed(_ text: String) throws {
        #expect(try Name(text).reversedAddress == nil)
    }

    @Test("the reverse name of an IPv6 address is read in any letter case")
    func reverse() throws {
        let address: IPv6Address = "2001:db8::abcd:ef01"
        let name = Name(reverseOf: .v6(address))
        #expect(name.reversedIPv6 == address)
        #expect(try Name("\(name)".uppercased()).reversedIPv6 == address)
        let text = "\(name)"
        for text in ["g\(text.dropFirst())", "\(text.dropFirst(2))", "33.2.0.192.in-addr.arpa"] {
            #expect(try Name(text).reversedIPv6 == nil, "\(text)")
        }
    }
}
