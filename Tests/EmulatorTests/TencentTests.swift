// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdns_emulator

@Suite("Tencent Cloud HTTPDNS over HTTP (document 379/54976) and HTTPS (379/95498)")
struct TencentTests {
    struct Example: CustomTestStringConvertible {
        var label: String
        var names = "cloud.tencent.com"
        var parameters: String
        var answer: String
        var options: [String] = []
        var testDescription: String { label }
    }

    static let a = "2.3.3.4;2.3.3.5;2.3.3.6"
    static let aaaa = "2402:4e00:0123:4567:0::2345;2403:4e00:0123:4567:0::2346"

    static let documented = [
        Example(label: "A", parameters: "", answer: a),
        Example(label: "TTL", parameters: "&ttl=1", answer: a + ",120"),
        Example(
            label: "client",
            parameters: "&ttl=1&clientip=1&ip=1.2.3.4",
            answer: a + ",120|1.2.3.4"
        ),
        Example(label: "AAAA", parameters: "&type=aaaa&ttl=1", answer: aaaa + ",120"),
        Example(
            label: "both families",
            parameters: "&type=addrs&ttl=1&clientip=1&ip=1.2.3.4",
            answer: "\(a),120-\(aaaa),120|1.2.3.4"
        ),
        Example(
            label: "name echoed",
            parameters: "&query=1&ttl=1&clientip=1&ip=1.2.3.4",
            answer: "cloud.tencent.com.:\(a),120|1.2.3.4"
        ),
        Example(
            label: "batch",
            names: "cloud.tencent.com,www.qq.com,www.dnspod.cn",
            parameters: "&ttl=1&clientip=1&ip=1.2.3.4",
            answer: Vector["S6"].text
        ),
        Example(label: "no record", names: "none.example.com", parameters: "", answer: ""),
        Example(label: "not registered", names: "x.example", parameters: "&query=1", answer: ""),
        Example(
            label: "no record, both families",
            names: "none.example.com",
            parameters: "&type=addrs&query=1&clientip=1&ip=1.2.3.4",
            answer: "none.example.com.:0-0|1.2.3.4"
        ),
        Example(
            label: "only A, both families",
            names: "four.example.com",
            parameters: "&type=addrs&query=1&clientip=1&ip=1.2.3.4",
            answer: "four.example.com.:192.0.2.4-0|1.2.3.4"
        ),
        Example(
            label: "no record and not registered, in a batch",
            names: "none.example.com,x.example,four.example.com",
            parameters: "&ttl=1",
            answer: "none.example.com.:0\nfour.example.com.:192.0.2.4,60"
        ),
        Example(
            label: "client on every line",
            names: "four.example.com,www.qq.com",
            parameters: "&clientip=1&ip=1.2.3.4",
            answer: "four.example.com.:192.0.2.4|1.2.3.4\nwww.qq.com.:\(a)|1.2.3.4",
            options: ["--client-ip-lines", "every"]
        ),
    ]

    @Test(arguments: documented)
    func `a lookup by token is answered as documented`(_ example: Example) throws {
        let emulator = try RunningEmulator(options: example.options)
        let reply = try emulator.ask(example.names, example.parameters)
        #expect(reply.status == 200)
        #expect(reply.text == example.answer)
    }

    @Test(arguments: documented)
    func `with AES and with DES, the decrypted answer is as documented`(_ example: Example) throws {
        let emulator = try RunningEmulator(options: example.options)
        let text = Array(example.names.utf8)
        for (cipher, name, key) in [
            (Cipher.aes, "aes", "1234567890123456"), (.des, "des", "testkey1"),
        ] {
            let dn = Hex.encode(try cipher.seal(text, key: Array(key.utf8)))
            let reply = try emulator.get("/d?dn=\(dn)&id=12345&alg=\(name)\(example.parameters)")
            guard !example.answer.isEmpty else {
                #expect(reply.body.isEmpty)
                continue
            }
            #expect(reply.text.allSatisfy { "0123456789abcdef".contains($0) })
            let message = try #require(Hex.decode(reply.text))
            let answer = try cipher.open(message, key: Array(key.utf8))
            #expect(String(decoding: answer, as: UTF8.self) == example.answer)
        }
    }

    @Test(
        arguments: [
            ("zero", "0", "0"), ("zero-ttl", "0,0", "0"), ("empty", "", ""),
            ("empty-ttl", ",0", ""),
        ]
    )
    func `the option selects one of four forms for a missing address family`(
        _ form: String,
        _ timed: String,
        _ bare: String
    ) throws {
        let emulator = try RunningEmulator("--missing-family", form)
        let name = "four.example.com"
        #expect(try emulator.ask(name, "&type=addrs&ttl=1").text == "192.0.2.4,60-" + timed)
        #expect(try emulator.ask(name, "&type=addrs").text == "192.0.2.4-" + bare)
        #expect(
            try emulator.ask("six.example.com", "&type=ADDRS&ttl=1").text
                == timed + "-2001:db8::6,60"
        )
    }

    @Test func `DES answers are equal to the test vectors`() throws {
        let emulator = try RunningEmulator()
        let key = Array("testkey1".utf8)
        let cloud = Hex.encode(try Cipher.des.seal(Array("cloud.tencent.com".utf8), key: key))
        let ip = "&ip=" + Vector["R6"].des
        let asked = "/d?id=12345&alg=des&dn="
        for (label, request) in [
            ("S1", asked + cloud),
            ("S2", asked + cloud + "&ttl=1"),
            ("S3", asked + cloud + "&ttl=1&clientip=1" + ip),
            ("S4", asked + cloud + "&ttl=1&clientip=1&type=addrs" + ip),
            ("S5", asked + cloud + "&ttl=1&clientip=1&query=1" + ip),
            ("S6", asked + Vector["R3"].des + "&ttl=1&clientip=1" + ip),
            ("S6", asked + Vector["R3"].des.uppercased() + "&ttl=1&clientip=1&ip=1.2.3.4"),
        ] { #expect(try emulator.get(request).text == Vector[label].des, "\(label)") }
    }

    @Test func `without alg the cipher is DES, and a POST form is accepted`() throws {
        let emulator = try RunningEmulator()
        let dn = Vector["R2"].des
        let reply = try emulator.get("/d", "--data", "dn=\(dn)&id=12345")
        #expect(reply.text == Vector["S1"].des)
        #expect(try emulator.calls().channels == ["tencent-des": 1])
    }

    @Test func `the reply of /conf has the emulator's own address by default`() throws {
        #expect(
            try RunningEmulator().get("/conf?token=987654321").text
                == "log:0|domain:0|ip:127.0.0.1|ttl:60"
        )
    }

    @Test func `the reply of /conf has the encryption of the request's channel`() throws {
        let emulator = try RunningEmulator("--conf-servers", "119.29.29.98,119.28.28.98")
        #expect(try emulator.get("/conf?id=12345&alg=des").text == Vector["S11"].des)
        let hex = try emulator.get("/conf?id=12345&alg=aes").text
        let plain = try Cipher.aes.open(
            try #require(Hex.decode(hex)),
            key: Array("1234567890123456".utf8)
        )
        #expect(String(decoding: plain, as: UTF8.self) == Vector["S11"].text)
        #expect(try emulator.get("/conf?token=1").status == 401)
    }

    @Test func `the reply of /conf has the configured servers`() throws {
        let emulator = try RunningEmulator(
            "--conf-servers",
            "192.0.2.1,192.0.2.2",
            "--conf-ttl",
            "5"
        )
        #expect(
            try emulator.get("/conf?token=987654321").text
                == "log:0|domain:0|ip:192.0.2.1;192.0.2.2|ttl:5"
        )
    }

    @Test func `answers depend on the client's subnet, plain or encrypted`() throws {
        let zone = try TemporaryFile(
            """
            near.example.com 60 A 192.0.2.1
            near.example.com 60 A 192.0.2.2 subnet=1.2.0.0/16
            near.example.com 60 A 192.0.2.3 subnet=1.2.4.0/24
            near.example.com 60 A 192.0.2.6 subnet=2402:4e00::/32
            """
        )
        let emulator = try RunningEmulator("--zone", zone.path)
        #expect(try emulator.ask("near.example.com").text == "192.0.2.1")
        #expect(try emulator.ask("near.example.com", "&ip=1.2.3.4").text == "192.0.2.2")
        #expect(try emulator.ask("near.example.com", "&ip=1.2.4.4").text == "192.0.2.3")
        #expect(try emulator.ask("near.example.com", "&ip=2402:4e00::1").text == "192.0.2.6")
        #expect(try emulator.ask("near.example.com", "&ip=").text == "192.0.2.1")

        let key = Array("1234567890123456".utf8)
        let dn = Hex.encode(try Cipher.aes.seal(Array("near.example.com".utf8), key: key))
        for ip in [Vector["R7"].aes, "2402:4e00::1"] {
            let reply = try emulator.get("/d?dn=\(dn)&id=12345&alg=aes&ip=\(ip)")
            let answer = try Cipher.aes.open(try #require(Hex.decode(reply.text)), key: key)
            #expect(String(decoding: answer, as: UTF8.self) == "192.0.2.6")
        }
    }

    @Test func `without ip the client address is that of the peer, or is from a header`() throws {
        let emulator = try RunningEmulator()
        let name = "four.example.com"
        #expect(try emulator.ask(name, "&clientip=1").text == "192.0.2.4|127.0.0.1")
        let header = "X-Forwarded-For: 198.51.100.9, 203.0.113.5"
        #expect(
            try emulator.ask("near.example.com", "&clientip=1", "--header", header).text
                == "198.51.100.10|203.0.113.5"
        )
    }
}
