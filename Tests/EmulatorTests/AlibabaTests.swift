// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdns_emulator

enum AlibabaVector {
    static let time = 1_700_000_000
    static let secret = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
    static let aes = "000102030405060708090a0b0c0d0e0f"

    /// Signatures that an independent script made.
    static let signed = [
        (
            "dn=www.aliyun.com&exp=1700000600&id=100000&m=0&q=4&v=1.0",
            "4a08d055c8d55b371d575ecbf883aba5bb779b0a9293b3f4c7a8b21bef90b690"
        ),
        (
            "dn=www.aliyun.com&exp=1700000600&id=100000&m=0&q=4,6&v=1.0",
            "bbdde08ae54af0479bb6823b7eebc42a805d91dcd867ed431986372872d1b81d"
        ),
        (
            "dn=www.aliyun.com&exp=1700000600&id=100000&m=0&v=1.0",
            "2451df40db296962feaa94d221bc845dd39e90482cca2dfc73c81b8910df8d55"
        ),
        (
            "dn=www.aliyun.com,www.taobao.com&exp=1700000600&id=100000&m=0&q=4,6&v=1.0",
            "03d5e1df1f97d08b751ead9a227208cf2a9bfb7b160fe79b6a91e013b381f219"
        ),
        (
            "dn=www.aliyun.com&exp=1700000600&id=100000&m=0&q=4,6",
            "5d20ec7bb154ae2ec1f9e3f6e1b1cbe62c70c646a9125b9307b0f75d5db20653"
        ),
        (
            "cip=1.2.3.4&dn=www.aliyun.com&exp=1700000600&id=100000&m=0&q=4&sdns-city=hangzhou&v=1.0",
            "13d6ecf1de2828ae00f786228479718359a489db7a626a86b8cdc61eb650bbe1"
        ),
    ]

    static let encrypted = [
        (
            "1",
            """
            a0a1a2a3a4a5a6a7a8a9aaabacadaeaf70cf2726cbf67365d08d0b52f6013f15faf7c24c0fcd2e9e\
            c8e1d5aa0b3b5823fba96b52421f7bbebb179afb163403cb
            """,
            "37d0b7361e7c51e4d0cd3cdeddf6dc105de1de8f56debd24dbd739736b6153e9"
        ),
        (
            "2",
            """
            b0b1b2b3b4b5b6b7b8b9babb25ebd4f3e5ad0948c95d7567b9136693b77d3418a4c03bc4d0d43d9b\
            8e3f14e5e656fb99d06150c28a0fe6c3811426d86b
            """,
            "3fc91cb531a0ee56bad1b78508bb9909fe6f25dc18525eed275ec3700d7e4e33"
        ),
    ]
}

@Suite("Alibaba EMAS HTTPDNS, v1 (documents 52679, 2868210, 56810) and ss (111585)")
struct AlibabaV1Tests {
    @Test(
        arguments: [
            (
                "host=www.example.com",
                #"{"host":"www.example.com","ips":["192.0.2.1"],"ttl":300,"origin_ttl":300,"client_ip":"127.0.0.1"}"#
            ),
            (
                "host=www.example.com&query=6&ip=1.2.3.4",
                #"{"host":"www.example.com","ipsv6":["2001:db8::1"],"ttl":300,"origin_ttl":300,"client_ip":"1.2.3.4"}"#
            ),
            (
                "host=four.example.com&query=4,6",
                #"{"host":"four.example.com","ips":["192.0.2.4"],"ipsv6":[],"ttl":60,"origin_ttl":60,"client_ip":"127.0.0.1"}"#
            ),
            (
                "host=alias.example.com&query=4%2C6",
                #"{"host":"alias.example.com","ips":["192.0.2.1"],"ipsv6":["2001:db8::1"],"ttl":120,"origin_ttl":120,"client_ip":"127.0.0.1"}"#
            ),
            ("host=x.example", #"{"host":"x.example","ips":[],"ttl":300,"client_ip":"127.0.0.1"}"#),
            (
                "host=four.example.com&sdns-a=1=&sdns-b=2",
                #"{"host":"four.example.com","ips":["192.0.2.4"],"ttl":60,"origin_ttl":60,"client_ip":"127.0.0.1","extra":"{&quot;sdns-a&quot;:&quot;1=&quot;,&quot;sdns-b&quot;:&quot;2&quot;}"}"#
            ),
        ]
    )
    func `a single lookup is answered as documented`(_ query: String, _ answer: String) throws {
        let emulator = try RunningEmulator()
        let reply = try emulator.get("/100000/d?" + query)
        #expect(reply.status == 200)
        #expect(reply.text == answer)
        #expect(reply.headers["content-type"]?.hasPrefix("application/json") == true)
    }

    @Test func `a batch reply has an entry per registered name and family, or per client`() throws {
        let emulator = try RunningEmulator()
        #expect(
            try emulator.get("/100000/resolve?host=www.b.com,x.example,six.example.com&query=4,6")
                .text == #"{"dns":[{"host":"www.b.com","client_ip":"127.0.0.1","ips":["#
                + #""192.0.2.41"],"type":1,"ttl":60,"origin_ttl":60},{"host":"www.b.com","#
                + #""client_ip":"127.0.0.1","ips":[],"type":28,"ttl":300,"origin_ttl":300},"#
                + #"{"host":"six.example.com","client_ip":"127.0.0.1","ips":[],"type":1,"#
                + #""ttl":300,"origin_ttl":300},{"host":"six.example.com","client_ip":"#
                + #""127.0.0.1","ips":["2001:db8::6"],"type":28,"ttl":60,"origin_ttl":60}]}"#
        )
        let near = try emulator.get("/100000/resolve?host=near.example.com&ip=1.2.3.4,203.0.113.9")
        #expect(near.text.contains(#""client_ip":"1.2.3.4","ips":["192.0.2.10"]"#))
        #expect(near.text.contains(#""client_ip":"203.0.113.9","ips":["198.51.100.10"]"#))
        #expect(try emulator.calls().channels == ["alibaba-v1": 2])
    }

    @Test func `the published signatures are accepted`() throws {
        let emulator = try RunningEmulator(at: 1_534_316_000, "--set", "alibaba-secret=IAmASecret")
        for (path, names, signature) in [
            ("sign_d", "www.aliyun.com", "60c71e98b6d7fcbb366243e224eab457"),
            ("sign_resolve", "www.aliyun.com,www.taobao.com", "12a3f6b1b14a46ca813ca6439beb59a4"),
        ] {
            let query = "host=\(names)&t=1534316400&s=\(signature)"
            let reply = try emulator.get("/100000/\(path)?" + query)
            #expect(reply.status == 200)
            #expect(reply.text.contains("192.0.2.20"))
            // The signature does not cover the parameters `query` and `ip`, so the test can add
            // these parameters.
            #expect(try emulator.get("/100000/\(path)?\(query)&query=6&ip=1.1.1.1").status == 200)
        }
        #expect(try emulator.calls().channels == ["alibaba-v1-signed": 4])
    }

    @Test func `a signature that openssl computes is accepted for at most a day`() throws {
        let emulator = try RunningEmulator(at: AlibabaVector.time)
        let cases: [(Int, String?)] = [
            (600, nil), (86_000, nil), (-1, "SignatureExpired"), (90_000, "InvalidDuration"),
        ]
        for (ahead, answer) in cases {
            let t = AlibabaVector.time + ahead
            let s = try OpenSSL.md5("www.a.com-\(AlibabaVector.secret)-\(t)")
            let reply = try emulator.get("/100000/sign_d?host=www.a.com&t=\(t)&s=\(s)")
            #expect(reply.status == (answer == nil ? 200 : 403))
            if let answer { #expect(reply.text == "{\"code\":\"\(answer)\"}") }
        }
    }

    @Test func `the reply of /ss has the emulator's own address and port by default`() throws {
        let emulator = try RunningEmulator()
        let china = try emulator.get("/100000/ss?region=global&platform=ios&sid=abcdefABCD12").text
        #expect(china.hasPrefix(#"{"service_ip":["127.0.0.1"],"service_ip_port":["#))
        #expect(china.hasSuffix(#"],"service_ipv6":[]}"#))
        for region in ["cn", "hk", "sg", "us", "de"] {
            #expect(try emulator.get("/100000/ss?region=\(region)").text == china)
        }
        #expect(try emulator.get("/100000/ss").text == china)
        #expect(try emulator.get("/100000/ss?region=moon").text != china)
        #expect(try emulator.calls().lookups == 0)
    }

    @Test func `the reply of /ss has the configured servers with ports and status`() throws {
        let emulator = try RunningEmulator(
            "--ss-servers",
            "192.0.2.1,192.0.2.2:8080,2001:db8::1",
            "--ss-status",
            "disable"
        )
        #expect(
            try emulator.get("/100000/ss").text
                == #"{"service_ip":["192.0.2.1","192.0.2.2"],"service_ip_port":[80,8080],"#
                + #""service_ipv6":["2001:db8::1"],"service_status":"disable"}"#
        )
    }

    @Test func `the path /ss accepts signatures for a limited time`() throws {
        let emulator = try RunningEmulator(at: 1_632_912_372, "--set", "alibaba-secret=123456")
        let published = "n=abcdef2345&t=1632912372&s=de7be63a9f19cf11e9d455d7d4f23cb4"
        #expect(try emulator.get("/100000/ss?" + published).status == 200)
        let cases: [(Int, String?)] = [
            (290, nil), (-100, nil), (-200, "SignatureExpired"), (400, "InvalidDuration"),
        ]
        for (offset, code) in cases {
            let t = 1_632_912_372 + offset
            let s = try OpenSSL.md5("0a1b2c3d4e5f6071-123456-\(t)")
            let reply = try emulator.get("/100000/ss?n=0a1b2c3d4e5f6071&t=\(t)&s=\(s)")
            #expect(reply.text.contains(code ?? "service_ip"), "\(offset): \(reply.text)")
        }
        #expect(try emulator.calls().channels["alibaba-ss-signed"] == 3)
    }
}

@Suite("Alibaba EMAS HTTPDNS, v2 (document 2978980)")
struct AlibabaV2Tests {
    static let data =
        #"{"cip":"127.0.0.1","answers":[{"dn":"www.aliyun.com","#
        + #""v4":{"ips":["192.0.2.20","192.0.2.21"],"ttl":60},"#
        + #""v6":{"ips":[],"ttl":60,"no_ip_code":"RRNotExist"}}]}"#

    @Test(arguments: AlibabaVector.signed)
    func `the emulator accepts only unchanged vectors`(_ text: String, _ s: String) throws {
        let emulator = try RunningEmulator(at: AlibabaVector.time)
        #expect(try OpenSSL.hmac(text, key: AlibabaVector.secret) == s)
        let reply = try emulator.get("/v2/d?\(text)&s=\(s)&sdk=ios_3.4.2&sid=abcdefABCD12")
        #expect(reply.status == 200)
        #expect(reply.text.hasPrefix(#"{"code":"success","mode":"0","data":{"cip":""#))
        #expect(reply.text.contains("192.0.2.20"))
        let encoded = text.replacing(",", with: "%2C")
        #expect(try emulator.get("/v2/d?\(encoded)&s=\(s)").text == reply.text)
        for wrong in ["\(text)&tags=x&s=\(s)", "\(text)&s=\(s.uppercased())", "\(text)&s=0"] {
            let refused = try emulator.get("/v2/d?" + wrong)
            #expect(refused.status == 403)
            #expect(refused.text == #"{"code":"InvalidSignature"}"#)
        }
        #expect(try emulator.calls().channels == ["alibaba-v2-m0-signed": 2, "alibaba-refused": 3])
    }

    @Test func `an unsigned plain lookup is answered as documented`() throws {
        let emulator = try RunningEmulator()
        let asked = "/v2/d?id=100000&m=0&q=4,6&dn="
        #expect(
            try emulator.get(asked + "www.aliyun.com").text
                == "{\"code\":\"success\",\"mode\":\"0\",\"data\":\(Self.data)}"
        )
        #expect(
            try emulator.get(asked + "x.example&sdns-city=hangzhou&cip=1.2.3.4").text
                == #"{"code":"success","mode":"0","data":{"cip":"1.2.3.4","answers":["#
                + #"{"dn":"x.example","v4":{"ips":[],"ttl":60,"#
                + #""extra":"{\"sdns-city\":\"hangzhou\"}","no_ip_code":"DomainNotExist"},"#
                + #""v6":{"ips":[],"ttl":60,"extra":"{\"sdns-city\":\"hangzhou\"}","#
                + #""no_ip_code":"DomainNotExist"}}]}}"#
        )
        let silent = try RunningEmulator("--unlisted-code", "")
        #expect(!(try silent.get(asked + "x.example").text.contains("no_ip_code")))
    }

    @Test(arguments: AlibabaVector.encrypted)
    func `the encrypted test vectors are decrypted, and the answer is encrypted`(
        _ mode: String,
        _ enc: String,
        _ s: String
    ) throws {
        let emulator = try RunningEmulator(at: AlibabaVector.time)
        let query = "id=100000&m=\(mode)&enc=\(enc)&exp=1700000600&v=1.0&s=\(s)"
        let reply = try emulator.get("/v2/d?" + query)
        struct Reply: Decodable {
            var code: String
            var mode: String
            var data: String
        }
        let decoded = try JSONDecoder().decode(Reply.self, from: Data(reply.body))
        #expect(decoded.code == "success")
        #expect(decoded.mode == mode)
        let message = Array(try #require(Data(base64Encoded: decoded.data)))
        if mode == "1" {
            #expect(try OpenSSL.openCBC(message, key: AlibabaVector.aes) == Self.data)
        } else {
            let key = try #require(Hex.decode(AlibabaVector.aes))
            let plain = try Cipher.gcm.open(message, key: key)
            #expect(String(decoding: plain, as: UTF8.self) == Self.data)
        }
        #expect(try emulator.calls().names == ["www.aliyun.com": 1])
        #expect(try emulator.calls().channels == ["alibaba-v2-m\(mode)-signed": 1])

        #expect(try emulator.get("/v2/d?id=100000&m=\(mode)&enc=\(enc)").status == 200)
        #expect(try emulator.calls().channels["alibaba-v2-m\(mode)"] == 1)
    }

    @Test func `faults corrupt the encryption`() throws {
        let emulator = try RunningEmulator()
        let key = try #require(Hex.decode(AlibabaVector.aes))
        for (mode, enc, _) in AlibabaVector.encrypted {
            for fault in ["bad-padding", "wrong-key"] {
                try emulator.misbehave(fault)
                let text = try emulator.get("/v2/d?id=100000&m=\(mode)&enc=\(enc)").text
                let base64 = text.split(separator: "\"").dropLast().last.map(String.init)
                let message = try #require(Data(base64Encoded: base64 ?? ""))
                let cipher: Cipher = mode == "1" ? .aes : .gcm
                let plain = (try? cipher.open(Array(message), key: key)) ?? []
                #expect(String(decoding: plain, as: UTF8.self) != Self.data, "\(mode) \(fault)")
                if cipher == .gcm || fault == "bad-padding" { #expect(plain.isEmpty) }
            }
        }
    }
}
