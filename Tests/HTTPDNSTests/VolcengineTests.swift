// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

@Suite("Volcengine (documents 6758/113991, 174756 and 174757)")
struct VolcengineTests {
    private let vendor: Volcengine

    init() throws {
        vendor = try Volcengine(account: "1023", secret: Secret("QlgAuFMwNUwN"))
    }

    private func read(_ body: String, families: Families = .both) throws -> VendorAnswer {
        try #require(
            try vendor.answers(
                to: lookup("www.example.com", families: families),
                in: ok(body)
            ).first
        )
    }

    @Test("the signature equals the example in the vendor's document")
    func signature() throws {
        #expect(
            try vendor.signature(of: ["1566808387000", "1023", "www.a.com,www.b.com", "", ""])
                == "4b00a808d49a334991b7e50d324a9287"
        )
    }

    @Test("the request contains its expiry time in milliseconds")
    func request() throws {
        var question = try lookup("www.a.com")
        let make = {
            try vendor.request(
                for: question,
                at: try server("192.0.2.1:443"),
                now: 1_566_807_787,
                entropy: .system
            ).url
        }
        let signature = try vendor.signature(of: ["1566808387000", "1023", "www.a.com", "", ""])
        #expect(
            try make()
                == "https://httpdns.volcengineapi.com/resolve?domain=www.a.com&account_id=1023"
                + "&sign=\(signature)&timestamp=1566808387000"
        )
        question.clientSubnet = try address("192.0.2.7")
        let other = try vendor.signature(
            of: ["1566808387000", "1023", "www.a.com", "192.0.2.7", ""])
        #expect(try make().hasSuffix("&sign=\(other)&timestamp=1566808387000&ip=192.0.2.7"))
    }

    @Test("the addresses in a reply are divided by family")
    func mixed() throws {
        let body = #"""
            {"cip":"192.0.2.99","host":"www.example.com",
            "ips":["2001:db8::1","192.0.2.1","192.0.2.2"],"ttl":52}
            """#
        let answer = try read(body)
        #expect(
            answer.v4
                == AddressSet(
                    addresses: [try address("192.0.2.1"), try address("192.0.2.2")],
                    ttl: 52
                )
        )
        #expect(answer.v6 == AddressSet(addresses: [try address("2001:db8::1")], ttl: 52))
        #expect(try read(body, families: .v6).v4 == nil)
    }

    @Test("if a reply has addresses of one family, the other family is unknown")
    func oneFamily() throws {
        let answer = try read(#"{"host":"www.example.com","ips":["192.0.2.1"],"ttl":1}"#)
        #expect(answer.v4?.addresses.count == 1 && answer.v6 == nil)
        #expect(try read(#"{"host":"www.example.com","ips":[],"ttl":1}"#).isEmpty)
    }

    @Test("HTTP statuses have their usual meaning")
    func statuses() throws {
        let expected: [(Int, VendorError)] = [
            (403, .unauthorized(status: 403)), (405, .serverStatus(405)),
            (429, .limited(retryAfter: nil)), (500, .serverStatus(500)),
        ]
        for (status, error) in expected {
            #expect(throws: error) {
                try vendor.answers(to: lookup("www.example.com"), in: HTTPReply(status, "{}"))
            }
        }
    }
}
