// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdns_emulator

@Suite("DNS in JSON: Google, Cloudflare, AliDNS, DNSPod")
struct DNSJSONTests {
    private static let accept = ["--header", "Accept: application/dns-json"]

    private static func head(_ status: Int) -> String {
        #"{"Status":\#(status),"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,"#
            + #""Question":[{"name":""#
    }

    private static let soa =
        #","Authority":[{"name":"example.com.","type":6,"TTL":60,"#
        + #""data":"ns.example.com. hostmaster.example.com. 1 3600 600 86400 60"}]}"#

    @Test(arguments: ["", "&type=1", "&type=A", "&type=a", "&type=TYPE1", "&cd=0&do=false&type=1"])
    func `a type is a number or a mnemonic, and A is the default`(_ parameters: String) throws {
        let emulator = try RunningEmulator()
        let reply = try emulator.get("/resolve?name=www.example.com" + parameters)
        #expect(
            reply.text == Self.head(0) + #"www.example.com.","type":1}],"Answer":["#
                + #"{"name":"www.example.com.","type":1,"TTL":300,"data":"192.0.2.1"}]}"#
        )
        #expect(reply.headers["content-type"] == "application/json; charset=UTF-8")
    }

    @Test func `an alias is answered with the chain to its addresses`() throws {
        let emulator = try RunningEmulator()
        #expect(
            try emulator.get("/resolve?name=alias.example.com&type=AAAA").text
                == Self.head(0) + #"alias.example.com.","type":28}],"Answer":["#
                + #"{"name":"alias.example.com.","type":5,"TTL":120,"data":"www.example.com."},"#
                + #"{"name":"www.example.com.","type":28,"TTL":300,"data":"2001:db8::1"}]}"#
        )
        #expect(
            try emulator.get("/resolve?name=alias.example.com&type=CNAME").text
                == Self.head(0) + #"alias.example.com.","type":5}],"Answer":["#
                + #"{"name":"alias.example.com.","type":5,"TTL":120,"data":"www.example.com."}]}"#
        )
    }

    @Test func `the status is that of the last name of a chain, and a denial has an SOA`() throws {
        let zone = try TemporaryFile(
            """
            www.example.com  60 A     192.0.2.1
            out.example.com  60 CNAME gone.example.com
            loop.example.com 60 CNAME loop.example.com
            a.b.example.com  60 A     192.0.2.2
            """
        )
        let emulator = try RunningEmulator("--zone", zone.path)
        #expect(
            try emulator.get("/resolve?name=gone.example.com").text
                == Self.head(3) + #"gone.example.com.","type":1}]"# + Self.soa
        )
        #expect(
            try emulator.get("/resolve?name=www.example.com&type=65").text
                == Self.head(0) + #"www.example.com.","type":65}]"# + Self.soa
        )
        #expect(
            try emulator.get("/resolve?name=out.example.com").text
                == Self.head(3) + #"out.example.com.","type":1}],"Answer":[{"name":"#
                + #""out.example.com.","type":5,"TTL":60,"data":"gone.example.com."}]"# + Self.soa
        )
        #expect(try emulator.get("/resolve?name=b.example.com").text.hasPrefix(#"{"Status":0,"#))
        #expect(try emulator.get("/resolve?name=loop.example.com").text.hasPrefix(#"{"Status":2,"#))
    }

    @Test func `options remove the final dot of names and make the question an object`() throws {
        let emulator = try RunningEmulator("--json-names", "bare", "--json-question", "object")
        #expect(
            try emulator.get("/resolve?name=alias.example.com.&type=A&cd=1").text
                == #"{"Status":0,"TC":false,"RD":true,"RA":true,"AD":false,"CD":true,"#
                + #""Question":{"name":"alias.example.com","type":1},"Answer":[{"name":"#
                + #""alias.example.com","type":5,"TTL":120,"data":"www.example.com"},{"name":"#
                + #""www.example.com","type":1,"TTL":300,"data":"192.0.2.1"}]}"#
        )
    }

    @Test func `the path /dns-query answers only requests for JSON`() throws {
        let emulator = try RunningEmulator()
        let path = "/dns-query?name=www.example.com&type=A"
        #expect(try emulator.get(path).status == 400)
        let reply = try Curl(Self.accept + [emulator.url + path])
        #expect(reply.status == 200)
        #expect(reply.headers["content-type"] == "application/dns-json")
        #expect(try emulator.get(path + "&ct=application/dns-json").text == reply.text)
        #expect(try emulator.calls().channels == ["json-dns-query": 2, "json-refused": 1])
    }

    @Test func `the client subnet is used and echoed; the first of two types is used`() throws {
        let emulator = try RunningEmulator()
        let near = "/resolve?name=near.example.com&edns_client_subnet="
        let reply = try emulator.get(near + "203.0.113.0/24&type=A&type=AAAA")
        #expect(reply.text.contains("198.51.100.10"))
        #expect(reply.text.hasSuffix(#","edns_client_subnet":"203.0.113.0/24"}"#))
        #expect(try emulator.get(near + "0.0.0.0/0").text.contains("192.0.2.10"))
        #expect(
            try emulator.get("/resolve?name=www.aliyun.com&short=1").text
                == #"["192.0.2.20","192.0.2.21"]"#
        )
    }

    @Test(
        arguments: [
            "", "name=", "name=a..b", "name=%C3%A4.example", "name=a.b&type=0",
            "name=a.b&type=65536",
            "name=a.b&type=NOPE", "name=a.b&do=2", "name=a.b&edns_client_subnet=1.2.3.0/33",
            "name=a.b&ct=application/dns-message", "name=%FF",
            "name=" + String(repeating: "a", count: 64) + ".example",
        ]
    )
    func `a malformed query gets status 400, another method than GET 405`(_ query: String) throws {
        let emulator = try RunningEmulator()
        #expect(try emulator.get("/resolve?" + query).status == 400)
        #expect(try emulator.get("/resolve?" + query, "--request", "POST").status == 405)
        #expect(try emulator.calls().channels == ["json-refused": 2])
    }

    private static let vector = "2dee257aa0a24974d5738f7de1928e6a8c4cc692d631626f0b2097213d744b70"

    @Test(
        arguments: [
            ("uid=9999&ak=testak&ts=1614927253&key=" + vector, nil),
            ("uid=9998&ak=testak&ts=1614927253&key=" + vector, "InvalidAccount"),
            ("uid=9999&ak=other&ts=1614927253&key=" + vector, "InvalidAccount"),
            ("uid=9999&ak=testak&ts=1614927254&key=" + vector, "SignatureDoesNotMatch"),
            ("uid=9999", "MissingParameter"), ("", "MissingParameter"),
        ] as [(String, String?)]
    )
    func `an AliDNS key is checked`(_ parameters: String, _ code: String?) throws {
        let emulator = try RunningEmulator(at: 1_614_927_000, "--json-require-key")
        let reply = try emulator.get("/resolve?name=www.taobao.com&" + parameters)
        #expect(reply.status == (code == nil ? 200 : 403))
        if let code { #expect(reply.text == "{\"code\":\"\(code)\"}") }
        #expect(try emulator.calls().channels == [code == nil ? "json-alidns" : "json-refused": 1])
    }

    @Test func `an openssl key is valid for a limited time, even if keys are optional`() throws {
        let emulator = try RunningEmulator()
        let now = Int(Date().timeIntervalSince1970)
        for (ts, status) in [(now, 200), (now - 500, 200), (now - 700, 403), (now + 700, 403)] {
            let key = try OpenSSL.sha256("9999testsecret\(ts)www.a.comtestak")
            let path = "/resolve?name=www.a.com&uid=9999&ak=testak&ts=\(ts)&key=\(key)"
            #expect(try emulator.get(path).status == status)
        }
    }
}
