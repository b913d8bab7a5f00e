// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

@Suite("Tencent's request (documents 379/95497 and 379/95498)")
struct TencentRequestTests {
    private let now: Int64 = 1_700_000_000

    private func url(
        _ vendor: Tencent,
        _ lookup: VendorQuery,
        at server: String = "119.29.29.98:80"
    ) throws -> String {
        let address = try #require(SocketAddress(server))
        let request = try vendor.request(
            for: lookup,
            at: address,
            now: now,
            entropy: fixedEntropy
        )
        #expect(request.server == address)
        #expect(request.body == nil)
        #expect(request.headers.isEmpty)
        return request.url
    }

    @Test("a DES request has the encrypted name and `alg=des`")
    func des() throws {
        #expect(
            try url(sealedTencent(.des), lookup("www.qq.com"))
                == "http://119.29.29.98/d?dn=a2135dd5db6f47d1474b0f976a2ac70f&id=12345&alg=des"
                + "&ttl=1&clientip=1&query=1&type=addrs"
        )
    }

    @Test("an AES request has the IV before the encrypted name")
    func aes() throws {
        #expect(
            try url(sealedTencent(.aes), lookup("www.qq.com"))
                == "http://119.29.29.98/d?dn=000102030405060708090a0b0c0d0e0f"
                + "0750a1befeca8827e2aafde29cfbd1ab&id=12345&alg=aes"
                + "&ttl=1&clientip=1&query=1&type=addrs"
        )
    }

    @Test("an HTTPS request has the plain name and the token")
    func https() throws {
        #expect(
            try url(plainTencent(), lookup("www.qq.com"), at: "119.29.29.99:443")
                == "https://119.29.29.99/d?dn=www.qq.com&id=12345&token=987654321"
                + "&ttl=1&clientip=1&query=1&type=addrs"
        )
    }

    @Test("the account number is optional over HTTPS")
    func httpsWithoutID() throws {
        let vendor = try Tencent(token: Secret("987654321"))
        let url = try url(vendor, lookup("www.qq.com"), at: "119.29.29.99:443")
        #expect(url.hasPrefix("https://119.29.29.99/d?dn=www.qq.com&token=987654321&ttl=1"))
    }

    @Test(
        "each choice of address families has its own value of the parameter `type`",
        arguments: [
            (Families.v4, "&query=1"), (.v6, "&query=1&type=aaaa"), (.both, "&query=1&type=addrs"),
        ]
    )
    func types(families: Families, end: String) throws {
        let url = try url(plainTencent(), lookup("www.qq.com", families: families))
        #expect(url.hasSuffix(end))
    }

    @Test("names are sent in lower case, without final dot")
    func lowerCase() throws {
        let url = try url(plainTencent(), lookup("WWW.QQ.Com."))
        #expect(url.contains("dn=www.qq.com&"))
    }

    @Test("several names are encrypted as one list")
    func batch() throws {
        let names = try lookup("cloud.tencent.com", "www.qq.com", "www.dnspod.cn")
        let vector = try #require(TencentVectors.requests.first { $0.label == "R3" })
        #expect(try url(sealedTencent(.des), names).contains("dn=\(vector.des)&"))
        #expect(try url(sealedTencent(.aes), names).contains("dn=\(vector.aes)&"))
        #expect(
            try url(plainTencent(), names)
                .contains("dn=cloud.tencent.com,www.qq.com,www.dnspod.cn&")
        )
    }

    @Test("with anti-theft protection, a request expires after ten minutes")
    func expiry() throws {
        let names = try lookup("cloud.tencent.com", "www.qq.com", "www.dnspod.cn")
        let one = try #require(TencentVectors.requests.first { $0.label == "R4" })
        let many = try #require(TencentVectors.requests.first { $0.label == "R5" })
        let des = try sealedTencent(.des, expires: true)
        let aes = try sealedTencent(.aes, expires: true)
        #expect(try url(des, lookup("www.qq.com")).contains("dn=\(one.des)&"))
        #expect(try url(aes, lookup("www.qq.com")).contains("dn=\(one.aes)&"))
        #expect(try url(des, names).contains("dn=\(many.des)&"))
        #expect(try url(aes, names).contains("dn=\(many.aes)&"))
        let https = try Tencent(token: Secret("1"), expires: true)
        #expect(try url(https, lookup("www.qq.com")).contains("dn=www.qq.com;1700000600&"))
    }

    @Test(
        "the client subnet is encrypted, except if the settings require plain text",
        arguments: [("1.2.3.4", "R6"), ("2402:4e00::1", "R7")]
    )
    func clientSubnet(text: String, label: String) throws {
        let vector = try #require(TencentVectors.requests.first { $0.label == label })
        var question = try lookup("www.qq.com")
        question.clientSubnet = try address(text)
        #expect(try url(sealedTencent(.des), question).hasSuffix("&ip=\(vector.des)"))
        #expect(try url(sealedTencent(.aes), question).hasSuffix("&ip=\(vector.aes)"))
        #expect(try url(plainTencent(), question).hasSuffix("&ip=\(text)"))
        let plain = try sealedTencent(.aes, clientSubnetForm: .plain)
        #expect(try url(plain, question).hasSuffix("&ip=\(text)"))
    }

    @Test("each encrypted value has its own IV")
    func freshVectors() throws {
        var question = try lookup("www.qq.com")
        question.clientSubnet = try address("192.0.2.7")
        let request = try sealedTencent(.aes).request(
            for: question,
            at: server(),
            now: now,
            entropy: .system
        )
        let values = request.url.split(whereSeparator: { "=&".contains($0) })
        let sealed = values.filter { $0.count >= 64 }.map { $0.prefix(32) }
        #expect(sealed.count == 2)
        #expect(Set(sealed).count == 2)
    }

    @Test("if the random generator fails, no request is created")
    func noEntropy() throws {
        let empty = Entropy { (_) throws(VendorError) in throw .cipher(.noEntropy) }
        #expect(throws: VendorError.cipher(.noEntropy)) {
            try sealedTencent(.aes).request(
                for: lookup("www.qq.com"),
                at: server(),
                now: now,
                entropy: empty
            )
        }
    }

    @Test(
        "a name that is not a host name is not sent to the vendor",
        arguments: [#"a\032b.example.com"#, "a+b.cn"]
    )
    func noHostname(text: String) throws {
        let vendor = try plainTencent()
        #expect(throws: VendorError.unusableName) {
            try url(vendor, lookup("www.qq.com", text))
        }
    }

    @Test(
        "the URL contains the server's address, and its port if this is not the default port",
        arguments: [
            ("192.0.2.1:443", "https://192.0.2.1/d?"),
            ("192.0.2.1:8443", "https://192.0.2.1:8443/d?"),
            ("192.0.2.1:80", "https://192.0.2.1:80/d?"),
            ("[2001:db8::1]:443", "https://[2001:db8::1]/d?"),
            ("[2001:db8::1]:8443", "https://[2001:db8::1]:8443/d?"),
        ]
    )
    func hosts(server: String, start: String) throws {
        #expect(try url(plainTencent(), lookup("www.qq.com"), at: server).hasPrefix(start))
    }

    @Test("`tls-name` replaces the address in the URL, but not the port")
    func tlsName() throws {
        let vendor = try Tencent(token: Secret("1"), tlsName: try Name("httpdns.example.com"))
        #expect(
            try url(vendor, lookup("www.qq.com"), at: "192.0.2.1:443")
                .hasPrefix("https://httpdns.example.com/d?")
        )
        #expect(
            try url(vendor, lookup("www.qq.com"), at: "192.0.2.1:8443")
                .hasPrefix("https://httpdns.example.com:8443/d?")
        )
    }

    @Test("special characters in a value are percent-encoded (RFC 3986 §2.1)")
    func escapes() {
        var query = QueryWriter()
        query.append("token", "a&b=c d%+#/?é")
        query.append("dn", "a-b_c.example,~;:")
        #expect(query.text == "token=a%26b%3Dc%20d%25%2B%23%2F%3F%C3%A9&dn=a-b_c.example,~;:")
    }

    @Test(
        "an account number that is not positive, or exceeds 32 bits, is rejected",
        arguments: [0, -1, 2_147_483_648]
    )
    func badID(id: Int) {
        #expect(throws: TencentSetupError.id) {
            try Tencent(token: Secret("1"), id: id)
        }
        #expect(throws: TencentSetupError.id) {
            try Tencent(key: Secret(TencentVectors.aesKey), id: id, algorithm: .aes)
        }
    }

    @Test(
        "an empty token, or a token with other than printable ASCII characters, is rejected",
        arguments: ["", "1 2", "12\n", "1\u{7F}", "é"]
    )
    func badToken(token: String) {
        #expect(throws: TencentSetupError.token) { try Tencent(token: Secret(token)) }
    }

    @Test("the length of a token is limited")
    func longToken() {
        let token = String(repeating: "1", count: VendorLimits.maximumToken + 1)
        #expect(throws: TencentSetupError.token) { try Tencent(token: Secret(token)) }
    }

    @Test("the properties of the vendor agree with the documents")
    func facts() throws {
        let facts = try plainTencent().facts
        #expect(facts.kind == "tencent")
        #expect(facts.maximumNames == 8)
        #expect(facts.pairsFamilies)
        #expect(facts.isBillable)
        #expect(facts.defaultPort == 443)
        #expect(try sealedTencent(.des).facts.defaultPort == 80)
    }

    @Test("each region has servers only for the channels that this region offers")
    func regions() {
        for region in Tencent.Region.allCases {
            for channel in Tencent.Channel.allCases {
                let servers = region.servers(for: channel)
                #expect(servers.isEmpty != region.channels.contains(channel))
                for server in servers + region.startUpServers(for: channel) {
                    #expect(SocketAddress(server, defaultPort: 80) != nil)
                }
            }
        }
    }
}
