// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

// These tests also use addresses of RFC 1918, RFC 3927 and RFC 4193.
@Suite("Scope of special-purpose addresses (RFC 6890, RFC 4380, RFC 6052)")
struct AddressReachTests {
    @Test(arguments: [
        "0.0.0.0", "0.255.255.255", "127.0.0.1", "127.255.255.255", "169.254.169.254", "224.0.0.1",
        "239.255.255.255", "240.0.0.0", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
        "::ffff:0:127.0.0.1",
        "::127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::224.0.0.1", "2002:7f00:1::1",
        "2001:0:7f00:1::1", "2001:0:102:304::80ff:fffe", "fe80::1", "febf::1", "ff00::", "ff02::fb",
        "100::", "100::ffff:ffff:ffff:ffff", "100:0:0:1::1",
    ])
    func `loopback, link-local, multicast and reserved addresses are never valid in answers`(
        _ text: String
    ) throws { #expect(try #require(IPAddress(text)).reach == .none) }

    @Test(arguments: [
        "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255",
        "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.8", "192.0.0.11", "192.0.0.169",
        "192.0.0.172", "192.0.0.255", "192.168.0.0", "192.168.255.255", "198.18.0.0",
        "198.19.255.255", "::ffff:100.64.0.1", "::10.0.0.1", "64:ff9b::192.168.1.1",
        "64:ff9b:1::", "64:ff9b:1:ffff::1.1.1.1", "2002:a00:1::", "2002:6440:1::1",
        "2001:0:a00:1::fefd:fdfc", "2001:0:102:304::f5ff:fffe", "2001:2::1", "5f00::1", "fc00::",
        "fdff::1", "fec0::1", "feff::1",
    ])
    func `an address that is reachable only in one network is local`(_ text: String) throws {
        #expect(try #require(IPAddress(text)).reach == .local)
    }

    @Test(arguments: [
        "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
        "191.255.255.255", "192.0.0.9", "192.0.0.10", "192.0.0.170", "192.0.0.171", "192.0.1.0",
        "192.0.2.1", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
        "198.51.100.1", "203.0.113.1", "223.255.255.255", "::ffff:192.0.2.1", "::192.0.2.1",
        "64:ff9a:ffff::1", "64:ff9b::1.1.1.1", "64:ff9b::192.0.0.170", "64:ff9b:2::10.0.0.1",
        "100:0:0:2::", "2001:db8::1", "2001:0:102:304::f6ff:fffe", "2001:3::1", "2002:102:304::1",
        "2606:4700::1111", "3fff::1", "5eff::1", "5f01::1", "fbff::1", "fe7f::1", "fe00::1",
        "::fffe:10.0.0.1", "2003::10.0.0.1",
    ])
    func `a public address or an address for documentation is global`(_ text: String) throws {
        #expect(try #require(IPAddress(text)).reach == .global)
    }
}
