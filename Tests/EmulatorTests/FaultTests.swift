// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdns_emulator

@Suite("Faults are visible to clients")
struct FaultTests {
    @Test(
        arguments: [
            ("close", Int32(52)),  // CURLE_GOT_NOTHING
            ("reset", 56),  // CURLE_RECV_ERROR
            ("truncated", 18),  // CURLE_PARTIAL_FILE
            ("truncated=0", 18),
            ("truncated=1000", 18),
            ("noise", 1),  // CURLE_UNSUPPORTED_PROTOCOL: HTTP/0.9
        ]
    )
    func `curl reports the expected connection fault`(_ fault: String, _ exit: Int32) throws {
        let emulator = try RunningEmulator("--fault", fault)
        #expect(try emulator.ask("www.example.com").exit == exit)
        try emulator.misbehave()
        #expect(try emulator.ask("www.example.com").text == "192.0.2.1")
    }

    @Test func `a silent server makes the client time out`() throws {
        let emulator = try RunningEmulator("--fault", "silent")
        let reply = try emulator.ask("www.example.com", "", "--max-time", "0.3")
        #expect(reply.exit == 28)  // CURLE_OPERATION_TIMEDOUT
        #expect(reply.body.isEmpty)
        #expect(try emulator.calls().lookups == 1)
    }

    @Test func `a delayed answer arrives late and complete`() throws {
        let emulator = try RunningEmulator("--fault", "delay=300")
        let reply = try emulator.ask("www.example.com", "", "--write-out", " %{time_total}")
        let words = reply.text.split(separator: " ")
        #expect(words.first == "192.0.2.1")
        #expect(try #require(Double(words.last ?? "")) >= 0.3)
        #expect(try emulator.ask("www.example.com", "", "--max-time", "0.1").exit == 28)
    }

    @Test(arguments: [401, 403, 429, 500, 503])
    func `the fault sends its status, and Retry-After with 429 and 503`(_ code: Int) throws {
        let emulator = try RunningEmulator("--fault", "status=\(code)")
        let reply = try emulator.ask("www.example.com", "", "--fail")
        #expect(reply.exit == 22)  // CURLE_HTTP_RETURNED_ERROR
        #expect(reply.status == code)
        #expect(reply.headers["retry-after"] == (code == 429 || code == 503 ? "1" : nil))
        try emulator.misbehave("status=\(code),7")
        #expect(try emulator.ask("www.example.com").headers["retry-after"] == "7")
    }

    @Test func `a redirect leads to the given URL`() throws {
        let emulator = try RunningEmulator()
        try emulator.misbehave("redirect=\(emulator.url)/d?dn=x:every:2")
        #expect(try emulator.ask("www.example.com").status == 200)
        let reply = try emulator.ask("www.example.com")
        #expect(reply.status == 302)
        #expect(reply.headers["location"] == emulator.url + "/d?dn=x")
    }

    @Test func `content can be huge, empty, garbage or zipped`() throws {
        let emulator = try RunningEmulator("--fault", "huge=300000")
        let huge = try emulator.ask("www.example.com")
        #expect(huge.body.count == 300_000)
        #expect(huge.text.hasPrefix("192.0.2.10000"))
        #expect(try emulator.ask("www.example.com", "", "--max-filesize", "8192").exit == 63)

        try emulator.misbehave("empty")
        #expect(try emulator.ask("www.example.com").body.isEmpty)

        try emulator.misbehave("garbage")
        let garbage = try emulator.ask("www.example.com")
        #expect(garbage.exit == 0)
        #expect(String(validating: garbage.body, as: UTF8.self) == nil)

        try emulator.misbehave("gzip")
        let zipped = try emulator.ask("www.example.com")
        #expect(zipped.headers["content-encoding"] == "gzip")
        #expect(zipped.body.starts(with: [0x1F, 0x8B]))
        #expect(try emulator.ask("www.example.com", "", "--compressed").text == "192.0.2.1")
    }

    @Test func `a compressed answer of several blocks can be decompressed`() throws {
        let emulator = try RunningEmulator()
        let lines = (0..<6000).map { "big.example 60 A 10.2.\($0 / 250).\($0 % 250)\n" }.joined()
        let zone = try TemporaryFile(lines)
        let big = try RunningEmulator("--zone", zone.path, "--fault", "gzip")
        let reply = try big.ask("big.example", "", "--compressed")
        #expect(reply.exit == 0)
        #expect(reply.text.split(separator: ";").count == 6000)
        try emulator.misbehave("gzip", "empty")
        #expect(try emulator.ask("www.example.com", "", "--compressed").exit == 0)
    }

    @Test func `faults change addresses, TTLs and names`() throws {
        let emulator = try RunningEmulator("--fault", "zero-address", "--fault", "ttl=-1")
        let asked = "&type=addrs&ttl=1&query=1"
        #expect(
            try emulator.ask("www.example.com", asked).text
                == "www.example.com.:0.0.0.0,-1-::,-1"
        )
        try emulator.misbehave("wrong-name=evil.example")
        #expect(try emulator.ask("four.example.com", asked).text == "evil.example.:192.0.2.4,60-0")
    }

    @Test(arguments: [Cipher.aes, .des])
    func `after an encryption fault, the client cannot decrypt the answer`(_ cipher: Cipher) throws
    {
        let emulator = try RunningEmulator()
        let key = Array((cipher == .aes ? "1234567890123456" : "testkey1").utf8)
        let dn = Hex.encode(try cipher.seal(Array("www.example.com".utf8), key: key))
        for fault in ["bad-padding", "wrong-key"] {
            try emulator.misbehave(fault)
            let reply = try emulator.get("/d?dn=\(dn)&id=12345&alg=\(cipher)&query=1&ttl=1")
            let message = try #require(Hex.decode(reply.text))
            #expect(!message.isEmpty && message.count.isMultiple(of: cipher.blockOctets))
            // A wrong key gives valid padding in one of 256 cases.
            let text = (try? cipher.open(message, key: key)) ?? []
            #expect(String(decoding: text, as: UTF8.self) != "www.example.com.:192.0.2.1,300")
            if fault == "bad-padding" { #expect(text.isEmpty) }
        }
    }

    @Test func `faults of the contents work for every vendor`() throws {
        let emulator = try RunningEmulator()
        try emulator.misbehave("wrong-name=evil.example", "zero-address", "ttl=-7")
        let texts = try [
            "/100000/d?host=www.a.com&query=4,6", "/100000/resolve?host=www.a.com&query=4,6",
            "/v2/d?id=100000&m=0&dn=www.a.com&q=4,6", "/resolve?name=www.a.com&type=ANY",
            BaiduTests.url("www.a.com", "&type=dual_stack"), VolcengineTests.url("www.a.com"),
        ].map { try emulator.get($0).text }
        for text in texts {
            #expect(text.contains("evil.example") && !text.contains("www.a.com"), "\(text)")
            #expect(text.contains(#""0.0.0.0""#) && text.contains(#""::""#), "\(text)")
            #expect(text.lowercased().contains(#""ttl":-7"#), "\(text)")
        }
        try emulator.misbehave("ttl=soon")
        #expect(try emulator.get("/100000/d?host=www.a.com").text.contains(#""ttl":"soon""#))
        try emulator.misbehave("garbage")
        #expect(try emulator.get("/resolve?name=www.a.com").body.first == 0xFF)
    }

    @Test(
        arguments: [
            ("/d?dn=www.a.com&token=987654321", "429", 429, ""),
            ("/d?dn=www.a.com&token=987654321", "unknown", 500, ""),
            ("/100000/d?host=www.a.com", "Throttling", 403, #"{"code":"Throttling"}"#),
            (BaiduTests.example, "busy", 200, #"{"msg":"busy"}"#),
            (VolcengineTests.example, "429", 429, ""),
            (
                "/resolve?name=www.a.com", "SERVFAIL", 200,
                #"{"Status":2,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,"Question":[]}"#
            ),
            (
                "/resolve?name=www.a.com", "5", 200,
                #"{"Status":5,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,"Question":[]}"#
            ),
            ("/resolve?name=www.a.com", "Forbidden", 403, #"{"code":"Forbidden"}"#),
        ]
    )
    func `errors have the vendor's format`(
        _ path: String,
        _ code: String,
        _ status: Int,
        _ content: String
    ) throws {
        let emulator = try RunningEmulator("--fault", "error=" + code)
        let reply = try emulator.get(path)
        #expect(reply.status == status)
        #expect(reply.text == content)
    }

    @Test func `the condition of a fault counts only the calls that match the fault`() throws {
        let emulator = try RunningEmulator()
        try emulator.misbehave(
            "status=500:name:www.example.com:first:1",
            "status=503:every:3",
            "status=403:path:/conf"
        )
        let statuses = try ["four", "www", "six", "www", "www", "none"].map { host in
            try emulator.ask(host + ".example.com").status
        }
        #expect(statuses == [200, 500, 503, 200, 200, 503])
        #expect(try emulator.get("/conf?token=987654321").status == 403)
        #expect(try emulator.get("/_emulator/calls").status == 200)
    }

    @Test func `a seed makes random faults repeatable`() throws {
        func statuses() throws -> [Int?] {
            let emulator = try RunningEmulator(
                "--fault",
                "status=500:probability:0.5",
                "--seed",
                "7"
            )
            return try (0..<12).map { _ in try emulator.ask("www.example.com").status }
        }
        let first = try statuses()
        #expect(try statuses() == first)
        #expect(Set(first) == [200, 500])
    }

    @Test(
        arguments: [
            "", "explode", "delay", "delay=-1", "delay=1:every:0", "status=99", "status=429,x",
            "silent=1", "ttl=", "error", "error=", "close:first:none", "close:probability:2",
            "redirect=a b",
            "close:path:conf", "close:sometimes:1",
        ]
    )
    func `an invalid fault is rejected`(_ text: String) throws {
        #expect(throws: Fault.Failure.self) { try Fault(text) }
    }

    @Test func `after an invalid line, the earlier faults stay active`() throws {
        let emulator = try RunningEmulator("--fault", "status=500")
        let reply = try emulator.get("/_emulator/faults", "--data-binary", "close\nexplode")
        #expect(reply.status == 400)
        #expect(reply.text.contains("'explode' is not a fault"))
        #expect(try emulator.get("/_emulator/faults").text == "status=500\n")
        #expect(try emulator.ask("www.example.com").status == 500)
    }
}
