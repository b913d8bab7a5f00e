// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import Configuration

@Suite("Settings of NAT64 and DNS64 (RFC 6147, RFC 8880)")
struct SettingsTranslationTests {
    @Test("the defaults are prefix discovery (`nat64: auto`) and `dns64: vendors`")
    func defaults() throws {
        let loaded = try settings(of: isp)
        #expect(loaded.nat64 == .automatic)
        #expect(loaded.dns64 == .vendors)
        #expect(loaded.answers.a == .keep)
    }

    @Test(
        "a prefix of each permitted length is accepted",
        arguments: [
            "64:ff9b::/96", "2001:db8::/32", "2001:db8:100::/40", "2001:db8:122::/48",
            "2001:db8:122:300::/56", "2001:db8:122:344::/64",
        ]
    )
    func prefixes(_ text: String) throws {
        guard case .prefix(let prefix) = try settings(of: isp + "nat64: \"\(text)\"").nat64 else {
            Issue.record("no prefix")
            return
        }
        #expect("\(prefix)" == text)
    }

    @Test("`nat64` accepts `auto` and `off`, and `dns64` accepts `all` and `off`")
    func words() throws {
        #expect(try settings(of: isp + "nat64: auto").nat64 == .automatic)
        #expect(try settings(of: isp + "nat64: off").nat64 == .off)
        #expect(try settings(of: isp + "dns64: all").dns64 == .all)
        #expect(try settings(of: isp + "dns64: off").dns64 == .off)
    }

    @Test(
        "text that is not a NAT64 prefix is an error",
        arguments: [
            "64:ff9b::", "64:ff9b::/95", "64:ff9b::1/96", "fe80::/64", "::/96", "192.0.2.0/24",
            "on", "2001:db8:0:0:100::/96",
        ]
    )
    func noPrefixes(_ text: String) { #expect(problems(in: isp + "nat64: \"\(text)\"").count == 1) }

    @Test("A and AAAA cannot both be suppressed")
    func bothFamilies() {
        let found = problems(in: isp + "answers: {a: suppress, aaaa: suppress}")
        #expect(found.count == 1)
        #expect(problems(in: isp + "answers: {a: suppress}").isEmpty)
    }
}
