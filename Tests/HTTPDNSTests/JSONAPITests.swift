// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

@Suite("DNS JSON: Google's format and variants")
struct JSONAPITests {
    private func request(
        _ url: String,
        _ lookup: VendorQuery,
        account: DNSJSON.Account? = nil,
        at server: String = "192.0.2.1:443",
        now: Int64 = 1_614_927_253
    ) throws -> HTTPRequest {
        try DNSJSON(url: url, account: account).request(
            for: lookup,
            at: try #require(SocketAddress(server)),
            now: now,
            entropy: .system
        )
    }

    private func read(_ body: String, families: Families = .v4) throws -> VendorAnswer {
        let answers = try DNSJSON(url: "https://dns.google/resolve").answers(
            to: lookup("www.example.com", families: families),
            in: ok(body)
        )
        #expect(answers.count == 1)
        return try #require(answers.first)
    }

    @Test(
        "requests have the form that public resolvers require",
        arguments: [
            ("https://dns.google/resolve", "https://dns.google/resolve?"),
            ("https://cloudflare-dns.com/dns-query", "https://cloudflare-dns.com/dns-query?"),
            ("https://dns.alidns.com/resolve", "https://dns.alidns.com/resolve?"),
            ("https://doh.pub/dns-query", "https://doh.pub/dns-query?"),
            ("https://223.5.5.5/resolve", "https://223.5.5.5/resolve?"),
            ("https://[2400:3200::1]/resolve", "https://[2400:3200::1]/resolve?"),
            ("https://dns.google", "https://dns.google/?"),
        ]
    )
    func forms(url: String, start: String) throws {
        let four = try request(url, lookup("WWW.Example.com", families: .v4))
        #expect(four.url == start + "name=www.example.com&type=A")
        #expect(four.headers == ["Accept: application/dns-json"])
        let six = try request(url, lookup("www.example.com", families: .v6))
        #expect(six.url == start + "name=www.example.com&type=AAAA")
    }

    @Test("the request replaces the placeholders in the configured URL")
    func templates() throws {
        let names = try lookup("www.example.com", families: .v6)
        #expect(
            try request("http://192.0.2.9/r?cd=1", names, at: "192.0.2.9:80").url
                == "http://192.0.2.9/r?cd=1&name=www.example.com&type=AAAA"
        )
        #expect(
            try request("https://d.example/q?host={name}.&t={type}&x", names).url
                == "https://d.example/q?host=www.example.com.&t=AAAA&x"
        )
        #expect(
            try request("https://d.example:8443/q", names, at: "192.0.2.1:8443").url
                == "https://d.example:8443/q?name=www.example.com&type=AAAA"
        )
    }

    @Test("a request contains the network of the client, not its address")
    func clientSubnet() throws {
        var question = try lookup("www.example.com", families: .v4)
        question.clientSubnet = try address("192.0.2.77")
        let url = { try request("https://dns.google/resolve", question).url }
        #expect(try url().hasSuffix("&edns_client_subnet=192.0.2.0%2F24"))
        question.clientSubnet = try address("2001:db8:1:23ff::1")
        #expect(try url().hasSuffix("&edns_client_subnet=2001:db8:1:2300::%2F56"))
    }

    @Test("with an account, each request is signed")
    func signed() throws {
        let account = DNSJSON.Account(id: "9999", keyID: "testak", secret: Secret("testsecret"))
        let url = try request(
            "https://223.5.5.5/resolve",
            lookup("www.taobao.com", families: .v4),
            account: account
        ).url
        #expect(
            url == "https://223.5.5.5/resolve?name=www.taobao.com&type=A&uid=9999&ak=testak"
                + "&ts=1614927253"
                + "&key=2dee257aa0a24974d5738f7de1928e6a8c4cc692d631626f0b2097213d744b70"
        )
        let vendor = try DNSJSON(url: "https://223.5.5.5/resolve", account: account)
        var dumped = ""
        dump(vendor, to: &dumped)
        #expect(!("\(vendor)" + dumped).contains("testsecret"))
        #expect(vendor.facts.isBillable)
    }

    @Test(
        "an unusable URL is rejected",
        arguments: [
            "", "dns.google", "ftp://dns.google/", "https://", "https:///resolve",
            "https://user@dns.google/", "https://dns.google/#x", "https://dns.google/ x",
            "https://dns.google:0/", "https://dns.google:65536/", "https://dns.google:/",
            "https://[::1/", "https://[192.0.2.1]/", "https://a b/", "https://é.example/",
            "https://d.example/{name}", "https://dns.google\\@evil.example/",
        ]
    )
    func badURLs(url: String) {
        #expect(throws: DNSJSONSetupError.url) { try DNSJSON(url: url) }
    }

    @Test(
        "an account with other characters than letters and digits is rejected",
        arguments: ["", "a b", "a&b"]
    )
    func badAccounts(text: String) {
        #expect(throws: DNSJSONSetupError.account) {
            try DNSJSON(
                url: "https://223.5.5.5/resolve",
                account: .init(id: text, keyID: "k", secret: Secret("s"))
            )
        }
    }

    @Test("an empty or too long secret is rejected", arguments: [0, 129])
    func badSecrets(count: Int) {
        let secret = Secret([UInt8](repeating: 0x61, count: count))
        #expect(throws: DNSJSONSetupError.account) {
            try DNSJSON(
                url: "https://223.5.5.5/resolve",
                account: .init(id: "1", keyID: "k", secret: secret)
            )
        }
    }

    @Test("a call has one name and one family, is not billed, and uses the port of the URL")
    func facts() throws {
        let facts = try DNSJSON(url: "https://dns.google:8443/resolve").facts
        #expect(facts.kind == "json" && facts.maximumNames == 1)
        #expect(!facts.pairsFamilies && !facts.isBillable)
        #expect(facts.defaultPort == 8443)
    }
}

extension JSONAPITests {
    private func reply(_ members: String, status: Int = 0) -> String {
        #"{"Status":\#(status),"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,\#(members)}"#
    }

    private var question: String { #""Question":[{"name":"www.example.com.","type":1}]"# }

    @Test("addresses are returned")
    func addresses() throws {
        let answer = try read(
            reply(
                question
                    + #","Answer":[{"name":"www.example.com.","type":1,"TTL":525,"data":"192.0.2.1"},"#
                    + #"{"name":"WWW.example.com","type":1,"TTL":60,"data":"192.0.2.2"}]"#
            )
        )
        #expect(
            answer.v4
                == AddressSet(
                    addresses: [try address("192.0.2.1"), try address("192.0.2.2")],
                    ttl: 60
                )
        )
        #expect(answer.v6 == nil && answer.denial == nil)
    }

    @Test("the question may be an object (AliDNS) or missing")
    func questionForms() throws {
        let record = #""Answer":[{"name":"www.example.com.","type":1,"TTL":5,"data":"192.0.2.1"}]"#
        for form in [
            #""Question":{"name":"www.example.com.","type":1},"#,
            #""Question":{"name":"www.example.com"},"#, "",
        ] {
            #expect(try read(reply(form + record)).v4?.addresses.count == 1)
        }
    }

    @Test("the records of a CNAME chain may have any order; the answer has their lowest TTL")
    func aliases() throws {
        let answer = try read(
            reply(
                question + #"""
                    ,"Answer":[
                    {"name":"c.example.net.","type":1,"TTL":70,"data":"192.0.2.3"},
                    {"name":"other.example.net.","type":1,"TTL":1,"data":"192.0.2.66"},
                    {"name":"b.example.net.","type":5,"TTL":40,"data":"C.example.net."},
                    {"name":"www.example.com.","type":5,"TTL":50,"data":"b.example.net."},
                    {"name":"c.example.net.","type":46,"TTL":2,"data":"A 8 3 300 sig"}]
                    """#
            )
        )
        #expect(answer.v4 == AddressSet(addresses: [try address("192.0.2.3")], ttl: 40))
    }

    @Test("a reply with a CNAME loop or a too long CNAME chain is rejected")
    func aliasLoops() {
        let alias = { (from: String, to: String) in
            #"{"name":"\#(from).","type":5,"TTL":1,"data":"\#(to)."}"#
        }
        let circle = [alias("www.example.com", "b.cn"), alias("b.cn", "www.example.com")]
        let far =
            [alias("www.example.com", "a0.cn")]
            + (0..<20).map { alias("a\($0).cn", "a\($0 + 1).cn") }
        for chain in [circle, far] {
            #expect(throws: VendorError.unreadable(.member("Answer"))) {
                try read(reply("\"Answer\":[\(chain.joined(separator: ","))]"))
            }
        }
    }

    @Test("NXDOMAIN and NODATA have the TTL of the SOA record")
    func denials() throws {
        let soa = #"""
            ,"Authority":[{"name":"example.com.","type":6,"TTL":1799,
            "data":"ns.icann.org. noc.dns.icann.org. 2024081443 7200 3600 1209600 3600"}]
            """#
        let gone = try read(reply(question + soa, status: 3))
        #expect(gone.denial == Denial(.nxDomain, ttl: 1799))
        #expect(gone.denial?.kind == .nxDomain && gone.isEmpty && gone.v4?.addresses == [])
        let none = try read(reply(question + soa))
        #expect(none.denial == Denial(.noData, ttl: 1799))
        #expect(none.denial?.kind != .nxDomain)
        #expect(try read(reply(question)).denial == Denial(.noData))
        #expect(try read(reply(question + #","Answer":[]"#, status: 3)).denial == Denial(.nxDomain))
    }

    @Test("a reply with a CNAME to a name that does not exist is NXDOMAIN")
    func aliasToNothing() throws {
        let answer = try read(
            reply(
                question + #"""
                    ,"Answer":[{"name":"www.example.com.","type":5,"TTL":7,"data":"gone.cn."}],
                    "Authority":[{"name":"cn.","type":6,"TTL":900,"data":"a. b. 1 2 3 4 600"}]
                    """#,
                status: 3
            )
        )
        #expect(answer.denial == Denial(.nxDomain, ttl: 7))
    }

    @Test("an invalid SOA record gives no TTL", arguments: ["a b", "a. b. 1 2 3 4 x", ""])
    func badSOA(data: String) throws {
        let answer = try read(
            reply(
                question + #","Authority":[{"name":".","type":6,"TTL":9,"data":"\#(data)"}]"#,
                status: 3
            )
        )
        #expect(answer.denial == Denial(.nxDomain))
    }

    @Test(
        "an RCODE other than NOERROR and NXDOMAIN is a failure",
        arguments: [1, 2, 4, 5, 9, 23, 65_535]
    )
    func responseCodes(status: UInt16) throws {
        let error = try #require(throws: VendorError.self) {
            try read(reply(question, status: Int(status)))
        }
        #expect(error == .responseCode(RCode(rawValue: status)))
        #expect(error.verdict == .serverFailed && error.kind == .responseCode)
    }

    @Test("a reply with only unusable addresses is neither answer nor denial")
    func unusable() throws {
        let answer = try read(
            reply(#""Answer":[{"name":"www.example.com","type":1,"TTL":9,"data":"0.0.0.0"}]"#)
        )
        #expect(answer.isEmpty && answer.denial == nil && answer.dropped == 1)
    }

    @Test("a lookup of both families returns only an IPv4 answer")
    func both() throws {
        let answer = try read(
            reply(#""Answer":[{"name":"www.example.com","type":1,"TTL":9,"data":"192.0.2.1"}]"#),
            families: .both
        )
        #expect(answer.v4?.addresses.count == 1 && answer.v6 == nil)
    }

    @Test("a reply with another question or another name is an error")
    func wrongName() {
        for members in [
            #""Question":[{"name":"example.com.","type":1}]"#,
            #""Question":[{"name":"www.example.com.","type":28}]"#,
            #""Answer":[{"name":"example.com.","type":1,"TTL":5,"data":"192.0.2.1"}]"#,
        ] {
            #expect(throws: VendorError.wrongName) { try read(reply(members)) }
        }
    }

    @Test(
        "the error names an invalid member of the JSON object",
        arguments: [
            ("{}", "Status"), (#"{"Status":"0"}"#, "Status"), (#"{"Status":-1}"#, "Status"),
            (#"{"Status":0.0}"#, "Status"), ("[]", "Status"), (#"["192.0.2.1"]"#, "Status"),
            (#"{"Status":0,"TC":true}"#, "TC"), (#"{"Status":0,"Question":[]}"#, "Question"),
            (#"{"Status":0,"Question":"x"}"#, "Question"), (#"{"Status":0,"Answer":{}}"#, "Answer"),
            (#"{"Status":0,"Answer":[1]}"#, "name"),
            (#"{"Status":0,"Answer":[{"name":"www.example.com","TTL":1,"data":"x"}]}"#, "type"),
            (#"{"Status":0,"Answer":[{"name":"www.example.com","type":1,"TTL":1}]}"#, "data"),
            (
                #"{"Status":0,"Answer":[{"name":"www.example.com","type":1,"TTL":-1,"data":"1.1.1.1"}]}"#,
                "TTL"
            ),
            (
                #"{"Status":0,"Answer":[{"name":"www.example.com","type":1,"TTL":1.5,"data":"1.1.1.1"}]}"#,
                "TTL"
            ),
            (
                #"{"Status":0,"Answer":[{"name":"www.example.com","type":1,"TTL":4294967296,"data":"1.1.1.1"}]}"#,
                "TTL"
            ),
            (
                #"{"Status":0,"Answer":[{"name":"www.example.com","type":1,"TTL":1,"data":"::1"}]}"#,
                "data"
            ),
            (
                #"{"Status":3,"Answer":[{"name":"www.example.com","type":1,"TTL":1,"data":"1.1.1.1"}]}"#,
                "Status"
            ),
        ]
    )
    func unreadable(body: String, member: String) {
        #expect(throws: VendorError.unreadable(.member(member))) { try read(body) }
    }

    @Test("an account error of AliDNS is reported with its code")
    func codes() throws {
        let code = try #require(VendorCode("InvalidAccount"))
        let vendor = try DNSJSON(url: "https://223.5.5.5/resolve")
        let body = #"{"code":"InvalidAccount"}"#
        let expected: [(Int, VendorError)] = [
            (200, .serverStatus(200, code: code)), (403, .unauthorized(status: 403, code: code)),
            (400, .serverStatus(400, code: code)), (429, .limited(retryAfter: nil)),
        ]
        for (status, error) in expected {
            #expect(throws: error) {
                try vendor.answers(
                    to: lookup("www.example.com", families: .v4),
                    in: HTTPReply(status, body)
                )
            }
        }
    }
}
