// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("SVCB and HTTPS (RFC 9460, RFC 9461, RFC 9848)")
struct ServiceBindingTests {
    private func read(_ data: String) throws -> ServiceBinding {
        let octets = header(0, 1, 0, 0) + record([0], 65, hex(data))
        guard case .svcb(let binding) = try Message(parsing: octets).answers[0].data else {
            throw WireError.badRDATA(at: 0)
        }
        return binding
    }

    @Test(arguments: [
        ("alias", "0000 01 61 00", "0 a."),
        ("no parameters", "0001 00", "1 ."),
        ("port", "0010 00 0003 0002 0035", "16 . port=53"),
        ("unknown key", "0001 00 029b 0005 68656c6c6f", #"1 . key667="hello""#),
        ("unknown octets", "0001 00 029b 0003 68d2ff", #"1 . key667="h\210\255""#),
        ("alpn", "0001 00 0001 0006 02 6832 02 6833", #"1 . alpn="h2,h3""#),
        (
            "alpn with comma and backslash (RFC 9460 §D.2)",
            "0010 00 0001 000C 08 665c6f6f2c626172 02 6832", #"16 . alpn="f\\\\oo\\,bar,h2""#
        ),
        (
            "mandatory and hints",
            "0001 00 0000 0004 0001 0004 0001 0003 02 6832 0004 0004 C0000201",
            #"1 . mandatory=alpn,ipv4hint alpn="h2" ipv4hint=192.0.2.1"#
        ),
        (
            "ipv6hint", "0001 00 0006 0010 20010db8 00000000 00000000 00000001",
            "1 . ipv6hint=2001:db8::1"
        ),
        ("no-default-alpn", "0001 00 0002 0000", "1 . no-default-alpn"),
        ("ech", "0001 00 0005 0004 00010203", #"1 . ech="AAECAw==""#),
        (
            "dohpath", "0001 00 0007 0010 2f646e732d71756572797b3f646e737d",
            #"1 . dohpath="/dns-query{?dns}""#
        ),
        ("empty unknown", "0001 00 029b 0000", "1 . key667"),
        ("port of three octets", "0001 00 0003 0003 003541", #"1 . key3="\0005A""#),
        ("hint of five octets", "0001 00 0004 0005 C000020141", #"1 . key4="\192\000\002\001A""#),
    ])
    func `bindings are printed as in zone files`(case: (String, String, String)) throws {
        let binding = try read(`case`.1)
        #expect(binding.description == `case`.2)
        #expect(RecordData.svcb(binding).octets == hex(`case`.1))
    }

    @Test(
        arguments: [
            ("compressed target", "0001 C00C", .compressedName(at: 25)),
            ("keys falling", "0001 00 0003 0000 0001 0000", .badRDATA(at: 30)),
            ("a key twice", "0001 00 0003 0000 0003 0000", .badRDATA(at: 30)),
            ("a value cut", "0001 00 0003 0002 00", .badRDATA(at: 30)),
            ("a key cut", "0001 00 00", .badRDATA(at: 26)),
            ("no target", "0001", .badRDATA(at: 25)),
        ] as [(String, String, WireError)]
    )
    func `malformed bindings are refused`(case: (String, String, WireError)) {
        #expect(throws: `case`.2) { try read(`case`.1) }
    }

    @Test
    func `hints are replaced, added and removed`() throws {
        var binding = try read("0001 00 0001 0003 02 6832 0004 0004 C0000201")
        #expect(binding.addresses(of: .ipv4Hint) == [.v4("192.0.2.1")])
        #expect(binding.addresses(of: .ipv6Hint) == nil)
        let all: [IPAddress] = [.v4("192.0.2.7"), .v6("2001:db8::1"), .v4("192.0.2.8")]
        binding.setHint(.ipv4Hint, all)
        binding.setHint(.ipv6Hint, all, most: 1)
        #expect(binding.addresses(of: .ipv6Hint) == [.v6("2001:db8::1")])
        #expect(
            binding.description
                == #"1 . alpn="h2" ipv4hint=192.0.2.7,192.0.2.8 ipv6hint=2001:db8::1"#
        )
        binding.setHint(.ipv4Hint, [])
        binding.setHint(.ipv6Hint, [])
        #expect(binding.description == #"1 . alpn="h2""#)
    }

    @Test
    func `a removed key is removed from the mandatory parameter`() throws {
        var binding = try read("0001 00 0000 0004 0001 0004 0001 0003 02 6832 0004 0004 C0000201")
        binding.setHint(.ipv4Hint, [])
        #expect(binding.description == #"1 . mandatory=alpn alpn="h2""#)
        binding.remove(.alpn)
        #expect(binding.description == "1 .")
    }

    @Test
    func `a hint of invalid length is ignored`() throws {
        #expect(try read("0001 00 0004 0003 C00002").addresses(of: .ipv4Hint) == nil)
        #expect(try read("0001 00 0006 0004 C0000201").addresses(of: .ipv6Hint) == nil)
    }

    @Test
    func `parameters are sorted`() {
        let binding = ServiceBinding(
            priority: 1,
            target: .root,
            parameters: [.init(key: .port, value: [0, 53]), .init(key: .noDefaultALPN, value: [])]
        )
        #expect(binding.description == "1 . no-default-alpn port=53")
        #expect(binding.value(of: .port) == [0, 53])
        #expect(binding.value(of: .ech) == nil)
        #expect(!binding.isAlias && ServiceBinding(priority: 0, target: .root).isAlias)
    }
}
