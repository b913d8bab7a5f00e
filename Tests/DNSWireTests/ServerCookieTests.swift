// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import DNSWire

@Suite("Server cookies (RFC 9018)")
struct ServerCookieTests {
    /// Secret of the examples in RFC 9018 A.1 to A.3.
    private static let secret = CookieSecret(
        low: 0x3FA4_B2A6_E573_E9E5,
        high: 0xCFBF_379E_84DC_E748
    )

    private struct Example: CustomTestStringConvertible {
        let testDescription: String
        let client: UInt64
        let address: String

        var sent: ServerCookie?
        let time: UInt32
        let expected: ServerCookie
        let isProven: Bool
    }

    private static let examples = [
        Example(
            testDescription: "A.1, learning a new server cookie",
            client: 0x2464_C4AB_CF10_C957,
            address: "198.51.100.100",
            time: 1_559_731_985,
            expected: ServerCookie(head: 0x0100_0000_5CF7_9F11, hash: 0x1F81_30C3_EEE2_9480),
            isProven: false
        ),
        Example(
            testDescription: "A.2, the same client after forty minutes",
            client: 0x2464_C4AB_CF10_C957,
            address: "198.51.100.100",
            sent: ServerCookie(head: 0x0100_0000_5CF7_9F11, hash: 0x1F81_30C3_EEE2_9480),
            time: 1_559_734_385,
            expected: ServerCookie(head: 0x0100_0000_5CF7_A871, hash: 0xD4A5_64A1_442A_CA77),
            isProven: true
        ),
        Example(
            testDescription: "A.3, reserved octets that are not zero",
            client: 0xFC93_FC62_807D_DB86,
            address: "203.0.113.203",
            sent: ServerCookie(head: 0x01AB_CDEF_5CF7_8F71, hash: 0xA314_227B_6679_EBF5),
            time: 1_559_728_492,
            expected: ServerCookie(head: 0x01AB_CDEF_5CF7_8F71, hash: 0xA314_227B_6679_EBF5),
            isProven: true
        ),
    ]

    @Test(arguments: examples)
    private func `the examples of appendix A are reproduced`(_ example: Example) throws {
        let decision = CookieSecrets(Self.secret).decision(
            on: example.sent,
            client: example.client,
            address: try #require(IPAddress(example.address)),
            time: example.time
        )
        #expect(decision.cookie == example.expected)
        #expect(decision.isProven == example.isProven)
    }

    @Test
    func `the example with IPv6 and a renewed secret is reproduced (A.4)`() throws {
        var secrets = CookieSecrets(
            CookieSecret(low: 0xB178_B644_93DF_3BDD, high: 0x15A7_FC60_CBF5_A685)
        )
        secrets.renew(with: CookieSecret(low: 0x9832_51D2_BC36_5544, high: 0x62C9_6396_375D_5A07))
        let decision = secrets.decision(
            on: ServerCookie(head: 0x0100_0000_5CF7_C579, hash: 0x2655_6BD0_934C_72F8),
            client: 0x2268_1AB9_7D52_C298,
            address: try #require(IPAddress("2001:db8:220:1:59de:d0f4:8769:82b8")),
            time: 1_559_741_961
        )
        #expect(decision.isProven)
        #expect(
            decision.cookie
                == ServerCookie(head: 0x0100_0000_5CF7_C609, hash: 0xA6BB_79D1_6625_507A)
        )
    }

    @Test(arguments: [
        ("just made", 0, true, false), ("half an hour less a second", 1_799, true, false),
        ("half an hour", 1_800, true, true), ("an hour", 3_600, true, true),
        ("an hour and a second", 3_601, false, true), ("a day", 86_400, false, true),
        ("five minutes ahead", -300, true, false), ("further ahead", -301, false, true),
        ("the largest difference", Int(Int32.min), false, true),
    ])
    func `a cookie is valid for an hour, and renewed after half an hour`(
        _ label: String,
        _ age: Int,
        _ isProven: Bool,
        _ isNew: Bool
    ) throws {
        let secrets = CookieSecrets(Self.secret)
        let address = try #require(IPAddress("192.0.2.1"))
        // The timestamp wraps in 2106 (RFC 1982).
        let made: UInt32 = 0xFFFF_FFF0
        let first = secrets.decision(on: nil, client: 7, address: address, time: made)
        let again = secrets.decision(
            on: first.cookie,
            client: 7,
            address: address,
            time: made &+ UInt32(bitPattern: Int32(age))
        )
        #expect(again.isProven == isProven)
        #expect((again.cookie != first.cookie) == isNew)
    }

    @Test
    func `a cookie is bound to its client and address, and valid under two secrets`() throws {
        var secrets = CookieSecrets(Self.secret)
        let address = try #require(IPAddress("192.0.2.1"))
        let cookie = secrets.decision(on: nil, client: 7, address: address, time: 1_000).cookie
        func isProven(
            _ cookie: ServerCookie,
            client: UInt64 = 7,
            at text: String = "192.0.2.1"
        ) throws -> Bool {
            let address = try #require(IPAddress(text))
            return secrets.decision(on: cookie, client: client, address: address, time: 1_001)
                .isProven
        }
        #expect(try isProven(cookie))
        #expect(try !isProven(cookie, client: 8))
        #expect(try !isProven(cookie, at: "192.0.2.2"))
        #expect(try !isProven(cookie, at: "2001:db8::1"))
        #expect(try !isProven(ServerCookie(head: cookie.head, hash: cookie.hash ^ 1)))
        #expect(try !isProven(ServerCookie(head: cookie.head ^ 1, hash: cookie.hash)))
        #expect(try !isProven(ServerCookie(head: cookie.head ^ 3 << 56, hash: cookie.hash)))

        var random = Seeded(seed: 5)
        secrets.renew(with: CookieSecret(using: &random))
        #expect(try isProven(cookie))
        let renewed = secrets.decision(on: cookie, client: 7, address: address, time: 1_001)
        #expect(renewed.cookie != cookie)
        secrets.renew(with: CookieSecret(using: &random))
        #expect(try !isProven(cookie))
        #expect(try isProven(renewed.cookie))
    }

    @Test
    func `SipHash-2-4 matches the authors' test vectors`() {
        func hash(_ words: UInt64...) -> UInt64 {
            var hash = SipHash(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)
            for word in words { hash.absorb(word) }
            return hash.finish()
        }
        #expect(hash(0) == 0x726F_DB47_DD0E_0E31)
        #expect(hash(0x0706_0504_0302_0100, 8 << 56) == 0x93F5_F579_9A93_2462)
        #expect(hash(0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908) == 0xA129_CA61_49BE_45E5)
    }
}

@Suite("Cookies in queries (RFC 7873 §4, §5.2)")
struct ClientCookieTests {
    private static func facts(_ options: String) throws -> (QueryFacts, [UInt8]) {
        let octets = RawQuery("cookie") { $0.addOPT(options: options) }.octets
        return (try QueryFacts(checking: octets.rawSpan), octets)
    }

    @Test(arguments: [
        ("client only", "000A 0008 0102030405060708", 0x0102_0304_0506_0708 as UInt64, false),
        (
            "one of ours",
            "000A 0018 0102030405060708 0100000000000001 1112131415161718",
            0x0102_0304_0506_0708, true
        ),
        (
            "another server's of 8 octets", "000A 0010 0102030405060708 1112131415161718",
            0x0102_0304_0506_0708, false
        ),
        (
            "behind another option", "0003 0001 AA 000A 0008 0102030405060708",
            0x0102_0304_0506_0708, false
        ),
        (
            "the first of two", "000A 0008 0102030405060708 000A 0008 2122232425262728",
            0x0102_0304_0506_0708, false
        ),
        (
            "the longest",
            "000A 0028 0102030405060708 "
                + String(repeating: "1112131415161718", count: 4),
            0x0102_0304_0506_0708, false
        ),
    ])
    func `cookies are parsed`(
        _ label: String,
        _ options: String,
        _ client: UInt64,
        _ hasServer: Bool
    ) throws {
        let (facts, octets) = try Self.facts(options)
        let edns = try #require(facts.edns)
        #expect(edns.hasCookie)
        let found = edns.cookies(in: octets.rawSpan)
        let cookies = try #require(found)
        #expect(cookies.client == client)
        #expect(
            cookies.server
                == (hasServer
                    ? ServerCookie(head: 0x0100_0000_0000_0001, hash: 0x1112_1314_1516_1718) : nil)
        )
    }

    @Test(arguments: [0, 1, 7, 9, 15, 41, 100])
    func `a cookie of invalid length is an error`(_ count: Int) throws {
        let length = String(count, radix: 16)
        let (facts, octets) = try Self.facts(
            "000A " + String(repeating: "0", count: 4 - length.count) + length
                + String(repeating: "AB", count: count)
        )
        let edns = try #require(facts.edns)
        #expect(edns.hasCookie)
        let found = edns.cookies(in: octets.rawSpan)
        #expect(found == nil)
    }

    @Test
    func `a message without a question may request a cookie, and is not a plain query`() throws {
        let query = RawQuery("no question") {
            $0.addOPT(options: "000A 0008 0102030405060708")
            $0.counts = "0000 0000 0000 0001"
            ($0.name, $0.type, $0.recordClass) = ("", "", "")
        }
        #expect(fault(of: query.octets) == .unusual)
    }
}
