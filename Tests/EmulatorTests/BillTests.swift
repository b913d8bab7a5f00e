// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdns_emulator

@Suite("The bill follows the vendors' published rules")
struct BillTests {
    /// Content of `GET /_emulator/bill`.
    struct Printed: Decodable, Equatable {
        var units: Int
        var names: [String: [String: Int]]
    }

    private static let https = ["--header", "X-Forwarded-Proto: https"]

    private static func bill(_ emulator: RunningEmulator) throws -> Printed {
        let reply = try emulator.get("/_emulator/bill")
        return try JSONDecoder().decode(Printed.self, from: Data(reply.body))
    }

    @Test(
        arguments: [
            ("v1 over HTTP", "/100000/d?host=www.example.com&query=4,6", false, 1),
            ("v1 over HTTPS", "/100000/d?host=www.example.com&query=4,6", true, 5),
            ("v2 over HTTP", "/v2/d?id=100000&m=0&dn=www.example.com&q=4,6", false, 1),
            ("v2 over HTTPS", "/v2/d?id=100000&m=0&dn=www.example.com&q=4,6", true, 5),
        ]
    )
    func `Alibaba bills each family with an address, and HTTPS at a higher weight`(
        _ label: String,
        _ path: String,
        _ isHTTPS: Bool,
        _ units: Int
    ) throws {
        let emulator = try RunningEmulator()
        let reply = try Curl((isHTTPS ? Self.https : []) + [emulator.url + path])
        #expect(reply.status == 200)
        let expected = ["www.example.com": ["a": units, "aaaa": units]]
        #expect(try Self.bill(emulator) == Printed(units: 2 * units, names: expected))
    }

    @Test(arguments: AlibabaVector.encrypted.map { ($0.0, $0.1) }, [(false, 3), (true, 8)])
    func `an encrypted lookup at Alibaba has a higher weight`(
        _ vector: (mode: String, enc: String),
        _ weight: (isHTTPS: Bool, units: Int)
    ) throws {
        let emulator = try RunningEmulator()
        let path = "/v2/d?id=100000&m=\(vector.mode)&enc=\(vector.enc)"
        let reply = try Curl((weight.isHTTPS ? Self.https : []) + [emulator.url + path])
        #expect(reply.status == 200)
        let expected = Printed(units: weight.units, names: ["www.aliyun.com": ["a": weight.units]])
        #expect(try Self.bill(emulator) == expected)
    }

    @Test(arguments: ["/100000/resolve?host=%&query=4,6", "/v2/d?id=100000&m=0&dn=%&q=4,6"])
    func `Alibaba bills each name of a batch that has an address`(_ path: String) throws {
        let emulator = try RunningEmulator()
        let names = "WWW.example.com,four.example.com,none.example.com,x.example,six.example.com"
        #expect(try emulator.get(path.replacing("%", with: names)).status == 200)
        let expected = [
            "www.example.com": ["a": 1, "aaaa": 1], "four.example.com": ["a": 1],
            "six.example.com": ["aaaa": 1],
        ]
        #expect(try Self.bill(emulator) == Printed(units: 4, names: expected))
    }

    @Test(
        arguments: [
            ("unknown name", "/100000/d?host=x.example&query=4,6"),
            ("name without addresses", "/v2/d?id=100000&m=0&dn=none.example.com&q=4,6"),
            ("missing AAAA", "/v2/d?id=100000&m=0&dn=four.example.com&q=6"),
            ("wrong account", "/v2/d?id=1&m=0&dn=www.example.com"),
            ("wrong signature", "/100000/sign_d?host=www.example.com&t=9999999999&s=0"),
            ("invalid name", "/100000/d?host=www..example.com"),
            ("schedule", "/100000/ss"),
            ("no vendor", "/nowhere?host=www.example.com"),
        ]
    )
    func `a reply without an address is free at Alibaba`(_ label: String, _ path: String) throws {
        let emulator = try RunningEmulator()
        _ = try emulator.get(path)
        #expect(try Self.bill(emulator) == Printed(units: 0, names: [:]))
    }

    @Test(arguments: [
        ("request", false, 1), ("request", true, 1), ("alidns", false, 1), ("alidns", true, 5),
    ])
    func `DNS in JSON bills each request`(_ rule: String, _ isHTTPS: Bool, _ units: Int) throws {
        let emulator = try RunningEmulator("--json-billing", rule)
        for (name, type) in [
            ("alias.example.com.", "A"), ("alias.example.com", "AAAA"), ("x.example", "AAAA"),
            ("six.example.com", "ANY"), ("none.example.com", "ANY"), ("www.example.com", "HTTPS"),
        ] {
            let path = "\(emulator.url)/resolve?name=\(name)&type=\(type)"
            #expect(try Curl((isHTTPS ? Self.https : []) + [path]).status == 200)
        }
        #expect(try emulator.get("/resolve?name=a..b").status == 400)
        let expected = [
            "alias.example.com": ["a": units, "aaaa": units], "x.example": ["aaaa": units],
            "six.example.com": ["aaaa": units], "none.example.com": ["a": units],
            "www.example.com": ["other": units],
        ]
        #expect(try Self.bill(emulator) == Printed(units: 6 * units, names: expected))
    }

    @Test func `AliDNS bills five units for HTTPS, if the nearest proxy reports HTTPS`() throws {
        let emulator = try RunningEmulator("--json-billing", "alidns")
        let path = emulator.url + "/resolve?name=www.example.com"
        for (scheme, units) in [("https", 5), ("http, HTTPS", 10), ("https, http", 11)] {
            _ = try Curl(["--header", "X-Forwarded-Proto: \(scheme)", path])
            #expect(try Self.bill(emulator).units == units)
        }
    }

    @Test(arguments: [(false, 1), (true, 5)])
    func `Baidu bills each name with an address once`(_ isHTTPS: Bool, _ units: Int) throws {
        let emulator = try RunningEmulator()
        let names = "www.baidu.com,x.example,none.example.com,six.example.com"
        let path = try emulator.url + BaiduTests.url(names, "&type=dual_stack")
        #expect(try Curl((isHTTPS ? Self.https : []) + [path]).status == 200)
        let expected = ["www.baidu.com": ["a": units], "six.example.com": ["aaaa": units]]
        #expect(try Self.bill(emulator) == Printed(units: 2 * units, names: expected))
        #expect(try emulator.get(BaiduTests.url("a..com")).status == 200)
        #expect(try Self.bill(emulator).units == 2 * units)
    }

    @Test func `Volcengine and Tencent bill a batch as one request, for its first name`() throws {
        let emulator = try RunningEmulator()
        _ = try emulator.get(VolcengineTests.url("six.example.com,www.a.com"))
        _ = try emulator.get(
            VolcengineTests.url("x.example", type: "AAAA"),
            "--header",
            Self.https[1]
        )
        _ = try emulator.ask("www.example.com,www.qq.com", "&type=addrs")
        _ = try emulator.ask("none.example.com", "&type=aaaa")
        let expected = [
            "six.example.com": ["aaaa": 1], "x.example": ["aaaa": 1],
            "www.example.com": ["a": 1], "none.example.com": ["aaaa": 1],
        ]
        #expect(try Self.bill(emulator) == Printed(units: 4, names: expected))

        #expect(try emulator.get("/conf?token=987654321").status == 200)
        #expect(try emulator.get("/d?dn=www.example.com&token=1").status == 401)
        #expect(try emulator.ask("www.example.com", "&type=mx").status == 200)
        #expect(try Self.bill(emulator).units == 4)
    }

    @Test(
        arguments: [
            "delay=1", "silent", "close", "reset", "truncated", "noise", "garbage", "empty", "gzip",
            "huge=10000", "zero-address", "wrong-name", "ttl=soon",
        ]
    )
    func `a reply that the client cannot use is billed`(_ fault: String) throws {
        let emulator = try RunningEmulator("--fault", fault)
        let path = "/100000/d?host=www.example.com"
        _ = try emulator.get(path, "--max-time", fault == "silent" ? "1" : "30")
        #expect(try Self.bill(emulator) == Printed(units: 1, names: ["www.example.com": ["a": 1]]))
    }

    @Test(arguments: [
        "status=429", "status=503", "redirect=http://127.0.0.1:1/", "error=Throttling",
    ])
    func `a refusal by the vendor is free, even if the refusal does not reach the client`(
        _ fault: String
    ) throws {
        let emulator = try RunningEmulator("--fault", fault)
        let path = "/100000/d?host=www.example.com"
        _ = try emulator.get(path)
        try emulator.misbehave(fault, "close")
        #expect(try emulator.get(path).exit == 52)  // CURLE_GOT_NOTHING
        #expect(try Self.bill(emulator) == Printed(units: 0, names: [:]))
    }

    @Test func `an error with status 200 is billed as a request, but not as a name`() throws {
        let emulator = try RunningEmulator("--fault", "error=2")
        #expect(try emulator.get(BaiduTests.url("www.baidu.com")).status == 200)
        #expect(try Self.bill(emulator).units == 0)
        #expect(try emulator.get("/resolve?name=www.example.com").status == 200)
        #expect(try Self.bill(emulator) == Printed(units: 1, names: ["www.example.com": ["a": 1]]))
    }

    @Test(arguments: [("Content-Length: 65537", "413"), ("broken", "400")])
    func `a request that cannot be read is free`(_ field: String, _ status: String) throws {
        let emulator = try RunningEmulator()
        let head = "POST /d?dn=www.example.com&token=987654321 HTTP/1.1\r\nHost: x\r\n"
        let request = try TemporaryFile(head + field + "\r\n\r\n")
        #expect(try emulator.raw(request).hasPrefix("HTTP/1.1 \(status) "))
        #expect(try Self.bill(emulator).units == 0)
    }

    @Test func `reset clears the bill, and the bill is read-only`() throws {
        let emulator = try RunningEmulator()
        _ = try emulator.ask("www.example.com")
        let reply = try emulator.get("/_emulator/bill")
        #expect(reply.text == #"{"units":1,"names":{"www.example.com":{"a":1}}}"#)
        #expect(try emulator.get("/_emulator/bill", "--request", "POST").status == 405)
        #expect(try emulator.get("/_emulator/reset", "--request", "POST").status == 200)
        #expect(try Self.bill(emulator) == Printed(units: 0, names: [:]))
    }

    @Test func `names beyond the limit share one entry of the bill`() {
        let bill = Bill()
        for number in 0...Limits.countedNames {
            bill.add(
                [.init(name: "\(number).example", type: .a, units: 5)],
                rate: .request,
                isHTTPS: false
            )
        }
        #expect(bill.json.text.contains(#""(other)":{"a":5}"#))
        #expect(bill.json.text.hasPrefix(#"{"units":\#(5 * (Limits.countedNames + 1)),"#))
    }
}
