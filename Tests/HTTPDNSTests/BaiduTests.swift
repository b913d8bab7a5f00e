// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

@Suite("Baidu (document Vjwvxm96x)")
struct BaiduTests {
    private let vendor: Baidu

    init() throws {
        vendor = try Baidu(account: "107080", secret: Secret("1234567890"))
    }

    private func url(_ lookup: VendorQuery) throws -> String {
        try vendor.request(
            for: lookup,
            at: try server("180.76.76.200:443"),
            now: 1_513_602_134,
            entropy: .system
        ).url
    }

    @Test("the request is signed as in the vendor's example", arguments: [Families.v4, .v6, .both])
    func request(families: Families) throws {
        let type =
            switch families {
            case .both: "dual_stack"
            case .v4: "ipv4"
            case .v6: "ipv6"
            }
        #expect(
            try url(lookup("www.baidu.com", families: families))
                == "https://httpdns.baidubce.com/v4/resolve?account_id=107080&dn=www.baidu.com"
                + "&t=1513602734&sign=9d4eac35c33b8fa1610476ff1532643d&type=\(type)"
        )
    }

    @Test("a request can contain ten names and a client address")
    func batch() throws {
        var question = try lookup("b.example.com", "A.example.com")
        question.clientSubnet = try address("2001:db8::1")
        let url = try url(question)
        #expect(url.contains("&dn=b.example.com,a.example.com&"))
        #expect(url.hasSuffix("&type=dual_stack&ip=2001:db8::1"))
        #expect(vendor.facts.maximumNames == 10 && vendor.facts.kind == "baidu")
        for server in Baidu.defaultServers {
            #expect(SocketAddress(server, defaultPort: vendor.facts.defaultPort) != nil)
        }
    }

    @Test("each name of a batch gets its answer")
    func answers() throws {
        let answers = try vendor.answers(
            to: lookup("a.example.com", "b.example.com", "c.example.com"),
            in: ok(
                #"""
                {"msg":"ok","data":{
                "B.example.com":{"ipv4":{"ip":["192.0.2.2"],"ttl":300},"ipv6":{"ip":[],"ttl":60}},
                "a.example.com":{"ipv4":{"ip":["192.0.2.1"]},"ipv6":{"ip":["2001:db8::1"],"ttl":5}}},
                "clientip":"192.0.2.99","timestamp":1513602134,"serverip":{"ipv4":["192.0.2.7"]}}
                """#
            )
        )
        #expect(answers[0].v4 == AddressSet(addresses: [try address("192.0.2.1")], ttl: 60))
        #expect(answers[0].v6 == AddressSet(addresses: [try address("2001:db8::1")], ttl: 5))
        #expect(answers[1].v4 == AddressSet(addresses: [try address("192.0.2.2")], ttl: 300))
        #expect(answers[1].v6?.addresses == [])
        #expect(answers[2].isEmpty)
    }

    @Test("the error for an expired signature has the vendor's time", arguments: [200, 400, 403])
    func expired(status: Int) throws {
        let error = try #require(throws: VendorError.self) {
            try vendor.answers(
                to: lookup("a.example.com"),
                in: HTTPReply(status, #"{"msg":"SignatureExpired","timestamp":1513602134}"#)
            )
        }
        let code = try #require(VendorCode("SignatureExpired"))
        #expect(error == .wrongTime(status: status, code: code, vendorSeconds: 1_513_602_134))
        #expect(error.mayBeClockSkew)
    }

    @Test("the HTTP status determines the error for an unknown error text")
    func words() throws {
        let code = try #require(VendorCode("Account not found"))
        let expected: [(Int, VendorError)] = [
            (200, .serverStatus(200, code: code)), (403, .unauthorized(status: 403, code: code)),
            (500, .serverStatus(500, code: code)), (429, .limited(retryAfter: nil)),
        ]
        for (status, error) in expected {
            #expect(throws: error) {
                try vendor.answers(
                    to: lookup("a.example.com"),
                    in: HTTPReply(status, #"{"msg":"Account not found"}"#)
                )
            }
        }
    }

    @Test("a reply with a name that was not requested, or with a name twice, is rejected")
    func names() throws {
        let entry = #"{"ipv4":{"ip":["192.0.2.1"],"ttl":9}}"#
        #expect(throws: VendorError.unreadable(.member("data"))) {
            try vendor.answers(
                to: lookup("a.example.com"),
                in: ok(
                    #"{"msg":"ok","data":{"a.example.com":\#(entry),"A.example.com":\#(entry)}}"#
                )
            )
        }
        #expect(throws: VendorError.wrongName) {
            try vendor.answers(
                to: lookup("a.example.com"),
                in: ok(#"{"msg":"ok","data":{"b.example.com":\#(entry)}}"#)
            )
        }
    }

    @Test("invalid settings are rejected")
    func settings() {
        #expect(throws: AccountError.account) { try Baidu(account: "1&2", secret: Secret("1")) }
        #expect(throws: AccountError.secret) { try Baidu(account: "1", secret: Secret("")) }
        #expect(throws: AccountError.tlsName) {
            try Baidu(account: "1", secret: Secret("1"), tlsName: "a b")
        }
    }
}
