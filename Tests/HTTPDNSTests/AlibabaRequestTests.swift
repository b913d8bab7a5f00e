// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

@Suite("Alibaba's requests (documents 2978980 and 56810)")
struct AlibabaRequestTests {
    private func path(
        _ vendor: Alibaba,
        _ lookup: VendorQuery,
        vector: [UInt8] = [],
        now: Int64 = AlibabaVectors.now
    ) throws -> String {
        let request = try vendor.request(
            for: lookup,
            at: try server("203.107.1.1:80"),
            now: now,
            entropy: entropy(vector)
        )
        #expect(request.body == nil)
        #expect(request.url.hasPrefix("http://203.107.1.1/"))
        return String(request.url.dropFirst("http://203.107.1.1".utf8.count))
    }

    @Test(
        "v2 signs the sorted raw parameters",
        arguments: [
            (Families.v4, true, "4a08d055c8d55b371d575ecbf883aba5bb779b0a9293b3f4c7a8b21bef90b690"),
            (.both, true, "bbdde08ae54af0479bb6823b7eebc42a805d91dcd867ed431986372872d1b81d"),
            (.both, false, "5d20ec7bb154ae2ec1f9e3f6e1b1cbe62c70c646a9125b9307b0f75d5db20653"),
        ]
    )
    func v2(families: Families, sendsVersion: Bool, signature: String) throws {
        let vendor = try alibaba(sendsVersion: sendsVersion)
        let type = families == .v4 ? "4" : "4,6"
        #expect(
            try path(vendor, lookup("www.aliyun.com", families: families))
                == "/v2/d?id=100000&m=0&dn=www.aliyun.com&q=\(type)"
                + (sendsVersion ? "&v=1.0" : "") + "&exp=1700000600&s=\(signature)"
        )
    }

    @Test("v2 signs batches, client addresses and custom parameters")
    func v2More() throws {
        let batch = try path(
            alibaba(sendsVersion: true),
            lookup("www.aliyun.com", "www.taobao.com")
        )
        #expect(batch.contains("&dn=www.aliyun.com,www.taobao.com&q=4,6&"))
        #expect(
            batch.hasSuffix("&s=03d5e1df1f97d08b751ead9a227208cf2a9bfb7b160fe79b6a91e013b381f219")
        )

        var question = try lookup("www.aliyun.com", families: .v4)
        question.clientSubnet = try address("1.2.3.4")
        let more = try path(
            alibaba(parameters: ["city": "hangzhou"], sendsVersion: true),
            question
        )
        #expect(more.contains("&q=4&cip=1.2.3.4&sdns-city=hangzhou&v=1.0&exp="))
        #expect(
            more.hasSuffix("&s=13d6ecf1de2828ae00f786228479718359a489db7a626a86b8cdc61eb650bbe1")
        )
    }

    @Test(
        "the parameters of a route replace the parameters in the vendor's settings",
        arguments: [
            (subnet: nil, sdns: ["tier": "gold"], "cip=192.0.2.7&sdns-tier=gold"),
            ("203.0.113.7", nil, "cip=203.0.113.7&sdns-city=hangzhou"),
            ("203.0.113.7", [:], "cip=203.0.113.7"),
        ] as [(subnet: String?, sdns: [String: String]?, String)]
    )
    func ofRoute(_ subnet: String?, _ sdns: [String: String]?, _ sent: String) throws {
        let query = VendorQuery(
            names: [try Name("www.aliyun.com")],
            families: .v4,
            clientSubnet: try address("192.0.2.7"),
            parameters: RouteParameters(clientSubnet: try subnet.map(address), sdns: sdns)
        )
        let v2 = try path(alibaba(secret: nil, parameters: ["city": "hangzhou"]), query)
        #expect(v2 == "/v2/d?id=100000&m=0&dn=www.aliyun.com&q=4&" + sent)
        let v1 = try path(alibaba(api: .v1, secret: nil, parameters: ["city": "hangzhou"]), query)
        let historical = sent.replacing("cip=", with: "ip=")
        #expect(v1 == "/100000/d?host=www.aliyun.com&query=4&" + historical)
    }

    @Test("a parameter is signed without percent-encoding, and sent with percent-encoding")
    func escaped() throws {
        let path = try path(alibaba(parameters: ["k": "a=b"]), lookup("www.aliyun.com"))
        #expect(path.contains("&sdns-k=a%3Db&"))
        let content = Alibaba.content(of: [
            .init(name: "sdns-k", value: "a=b"), .init(name: "dn", value: "a,b"),
        ])
        #expect(content == "dn=a,b&sdns-k=a=b")
    }

    @Test("v2 without a key has no signature and no expiry")
    func unsigned() throws {
        #expect(
            try path(alibaba(secret: nil), lookup("www.aliyun.com", families: .v6))
                == "/v2/d?id=100000&m=0&dn=www.aliyun.com&q=6"
        )
    }

    @Test(
        "a v2 request is encrypted first, and then signed",
        arguments: [
            (
                Alibaba.Encryption.cbc, AlibabaVectors.cbcVector,
                "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf70cf2726cbf67365d08d0b52f6013f15faf7c24c0fcd2e9e"
                    + "c8e1d5aa0b3b5823fba96b52421f7bbebb179afb163403cb",
                "37d0b7361e7c51e4d0cd3cdeddf6dc105de1de8f56debd24dbd739736b6153e9"
            ),
            (
                .gcm, AlibabaVectors.gcmVector,
                "b0b1b2b3b4b5b6b7b8b9babb25ebd4f3e5ad0948c95d7567b9136693b77d3418a4c03bc4d0d43d9b"
                    + "8e3f14e5e656fb99d06150c28a0fe6c3811426d86b",
                "3fc91cb531a0ee56bad1b78508bb9909fe6f25dc18525eed275ec3700d7e4e33"
            ),
        ]
    )
    func sealed(
        encryption: Alibaba.Encryption,
        vector: [UInt8],
        sealed: String,
        signature: String
    ) throws {
        let vendor = try alibaba(encryption, sendsVersion: true)
        let path = try path(vendor, lookup("www.aliyun.com"), vector: vector)
        #expect(
            path == "/v2/d?id=100000&m=\(encryption.mode)&enc=\(sealed)&v=1.0&exp=1700000600"
                + "&s=\(signature)"
        )
    }

    @Test("the client address and the custom parameters are encrypted")
    func sealedParameters() throws {
        var question = try lookup("www.aliyun.com")
        question.clientSubnet = try address("2001:db8::1")
        let path = try path(
            alibaba(.gcm, parameters: ["city": "hangzhou"]),
            question,
            vector: AlibabaVectors.gcmVector
        )
        let value = try #require(path.split(separator: "enc=").last?.prefix { $0 != "&" })
        let sealed = try #require(Hexadecimal.decode([UInt8](value.utf8)[...]))
        let key = try #require(Hexadecimal.decode([UInt8](AlibabaVectors.aesKey.utf8)[...]))
        let plain = try Cipher(.aesGCM, key: Secret(key)).open(sealed)
        #expect(
            String(decoding: plain, as: Unicode.UTF8.self)
                == #"{"dn":"www.aliyun.com","q":"4,6","cip":"2001:db8::1","sdns-city":"hangzhou"}"#
        )
        #expect(!path.contains("hangzhou"))
        #expect(!path.contains("aliyun"))
    }

    @Test("the v1 signature equals the example in the vendor's document")
    func v1() throws {
        let secret = Secret("IAmASecret")
        #expect(
            try Digest.md5("www.aliyun.com", secret, "1534316400")
                == "60c71e98b6d7fcbb366243e224eab457"
        )
        #expect(
            try Digest.md5("www.aliyun.com,www.taobao.com", secret, "1534316400")
                == "12a3f6b1b14a46ca813ca6439beb59a4"
        )
        #expect(
            try path(
                alibaba(api: .v1, secret: "0123456789abcdef0123456789abcdef"),
                lookup("Example.com")
            )
                == "/100000/sign_d?host=example.com&t=1700000600"
                + "&s=e5fadad647394fc1b330e32d440f05ad&query=4,6"
        )
    }

    @Test("the path of a v1 request is `d` or `resolve` (batch), with the prefix `sign_` if signed")
    func v1Paths() throws {
        let one = try lookup("a.example.com", families: .v6)
        let two = try lookup("a.example.com", "b.example.com", families: .v4)
        let unsigned = try alibaba(api: .v1, secret: nil)
        #expect(try path(unsigned, one) == "/100000/d?host=a.example.com&query=6")
        #expect(
            try path(unsigned, two) == "/100000/resolve?host=a.example.com,b.example.com&query=4"
        )
        #expect(try path(alibaba(api: .v1), two).hasPrefix("/100000/sign_resolve?host=a.example"))
        var question = one
        question.clientSubnet = try address("192.0.2.7")
        #expect(
            try path(alibaba(api: .v1, secret: nil, parameters: ["k": "v"]), question)
                .hasSuffix("&query=6&ip=192.0.2.7&sdns-k=v")
        )
    }

    @Test("after a TLS failure, the next call expects the vendor's other certificate name")
    func tlsNames() throws {
        let first = try Alibaba(account: "1")
        let url = { (vendor: any Vendor) in
            try vendor.request(
                for: try lookup("www.aliyun.com"),
                at: try server("192.0.2.1:443"),
                now: 0,
                entropy: .system
            ).url
        }
        #expect(try url(first).hasPrefix("https://resolvers.httpdns.aliyuncs.com/v2/d?"))
        let tls = VendorError.transport(.tls("no such name"))
        let second = try #require(first.alternative(after: tls))
        #expect(try url(second).hasPrefix("https://203.107.1.1/v2/d?"))
        let third = try #require(second.alternative(after: tls))
        #expect(try url(third) == url(first))
        #expect(first.alternative(after: .transport(.connect("refused"))) == nil)
        #expect(first.alternative(after: .unauthorized(status: 401)) == nil)
        #expect(try alibaba().alternative(after: tls) == nil)
    }

    @Test("with `tls-name`, a call never expects another certificate name")
    func saidName() throws {
        for name in Alibaba.tlsNames + ["dns.example.com"] {
            let vendor = try Alibaba(account: "1", tlsName: name)
            #expect(vendor.alternative(after: .transport(.tls(""))) == nil)
        }
    }

    @Test("a name that is not a host name is not sent to the vendor")
    func noHostname() throws {
        #expect(throws: VendorError.unusableName) {
            try path(alibaba(), lookup("www.aliyun.com", #"a\"b.example.com"#))
        }
    }

    @Test("if the random generator fails, no request is created")
    func noEntropy() throws {
        let empty = Entropy { (_) throws(VendorError) in throw .cipher(.noEntropy) }
        #expect(throws: VendorError.cipher(.noEntropy)) {
            try alibaba(.gcm).request(
                for: lookup("www.aliyun.com"),
                at: server(),
                now: 0,
                entropy: empty
            )
        }
    }
}

extension AlibabaRequestTests {
    @Test("the properties of the vendor agree with the documents")
    func facts() throws {
        let facts = try Alibaba(account: "1").facts
        #expect(facts.kind == "alibaba")
        #expect(facts.maximumNames == 5)
        #expect(facts.pairsFamilies && facts.isBillable)
        #expect(facts.defaultPort == 443)
        #expect(try alibaba().facts.defaultPort == 80)
        for region in Alibaba.Region.allCases {
            let servers = region.defaultServers.compactMap { SocketAddress($0, defaultPort: 80) }
            #expect(servers.count == region.defaultServers.count)
            #expect(servers.contains { $0.isIPv6 } && servers.contains { !$0.isIPv6 })
        }
    }

    @Test("invalid settings are rejected")
    func refusedSettings() {
        func error(_ make: () throws(AlibabaSetupError) -> Alibaba) -> AlibabaSetupError? {
            do throws(AlibabaSetupError) { _ = try make() } catch { return error }
            return nil
        }
        #expect(error { () throws(AlibabaSetupError) in try Alibaba(account: "") } == .account)
        #expect(error { () throws(AlibabaSetupError) in try Alibaba(account: "1/2") } == .account)
        #expect(
            error { () throws(AlibabaSetupError) in
                try Alibaba(account: "1", secret: Secret("xyz"))
            } == .secret
        )
        #expect(
            error { () throws(AlibabaSetupError) in
                try Alibaba(account: "1", encryption: .gcm)
            } == .aesKey
        )
        #expect(
            error { () throws(AlibabaSetupError) in
                try Alibaba(account: "1", aesKey: Secret("0011"), encryption: .cbc)
            } == .cipher(.keyLength(expected: 16, found: 2))
        )
        #expect(
            error { () throws(AlibabaSetupError) in
                try Alibaba(
                    account: "1",
                    aesKey: Secret(AlibabaVectors.aesKey),
                    api: .v1,
                    encryption: .gcm
                )
            } == .encryptionOfV1
        )
        #expect(
            error { () throws(AlibabaSetupError) in
                try Alibaba(account: "1", tlsName: "a/b")
            } == .tlsName
        )
        #expect(
            error { () throws(AlibabaSetupError) in
                try Alibaba(account: "1", parameters: ["a b": "c"])
            } == .parameter("a b")
        )
        #expect(
            error { () throws(AlibabaSetupError) in
                try Alibaba(account: "1", parameters: ["a": "\"}"])
            } == .parameter("a")
        )
        #expect(
            error { () throws(AlibabaSetupError) in
                try Alibaba(
                    account: "1",
                    parameters: ["a": String(repeating: "b", count: 1000)]
                )
            } == .parameters
        )
    }

    @Test("no textual description of the vendor shows a key")
    func secrets() throws {
        let vendor = try alibaba(.gcm)
        var dumped = ""
        dump(vendor, to: &dumped)
        let text = "\(vendor)" + String(reflecting: vendor) + dumped
        #expect(!text.contains("0001020304"))
        #expect("\(vendor)" == "alibaba v2 over http, encryption gcm")
    }

    @Test("the number and the total length of the names in a batch are limited")
    func batches() throws {
        let facts = try Alibaba(account: "1").facts
        let long = try Name(
            (0..<4).map { _ in String(repeating: "a", count: 59) }.joined(separator: ".")
        )
        func capacity(_ name: Name) -> Int {
            var (count, octets) = (0, 0)
            while facts.canCarry(name, after: count, &octets) { count += 1 }
            return count
        }
        #expect(capacity(long) == 4)
        #expect(capacity(try Name("a.cn")) == 5)
    }
}
