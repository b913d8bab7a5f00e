// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

struct TLSVendor: Sendable, CustomTestStringConvertible {
    let title: String

    let certificate: [String]

    /// Host name or address for `Host`; a host name is also sent as SNI.
    let host: String

    let channel: String

    var calls = 1

    var settings: String

    /// Contents of secret files by name; `{NAME}` in the YAML is replaced by the path of the file.
    var secrets: [String: String] = [:]

    var testDescription: String { title }

    func text(servers: [String], authority: String?, extra: String, in scratch: Scratch) throws
        -> String
    {
        var lines = settings
        for (name, secret) in secrets {
            let file = try scratch.write(secret + "\n", to: name, mode: 0o600)
            lines = lines.replacingOccurrences(of: "{\(name)}", with: "{file: \(file)}")
        }
        let list = servers.map { "\"\($0)\"" }.joined(separator: ", ")
        lines += "\nservers: [\(list)]"
        if let authority { lines += "\nca-file: \(authority)" }
        lines += "\n" + extra
        return "vendors:\n  vendor:\n"
            + lines.split(separator: "\n").map { "    \($0)\n" }.joined()
    }
}

extension TLSVendor {
    static let tencent = TLSVendor(
        title: "Tencent, by address",
        certificate: ["IP:127.0.0.1"],
        host: "127.0.0.1",
        channel: "tencent-token",
        settings: "kind: tencent\nchannel: https\ntoken: {token}",
        secrets: ["token": "987654321"]
    )

    static let tencentByName = TLSVendor(
        title: "Tencent, by tls-name",
        certificate: ["DNS:httpdns.example.net"],
        host: "httpdns.example.net",
        channel: "tencent-token",
        settings: """
            kind: tencent
            channel: https
            token: {token}
            tls-name: httpdns.example.net
            """,
        secrets: ["token": "987654321"]
    )

    static let google = TLSVendor(
        title: "JSON, Google's form",
        certificate: ["DNS:dns.google"],
        host: "dns.google",
        channel: "json-resolve",
        calls: 2,
        settings: "kind: json\nurl: \"https://dns.google/resolve\""
    )

    static let all: [TLSVendor] =
        [tencent, tencentByName] + alibaba + [
            google,
            TLSVendor(
                title: "JSON, Cloudflare's form",
                certificate: ["DNS:cloudflare-dns.com"],
                host: "cloudflare-dns.com",
                channel: "json-dns-query",
                calls: 2,
                settings: "kind: json\nurl: \"https://cloudflare-dns.com/dns-query\""
            ),
            TLSVendor(
                title: "JSON, DNSPod's form, with the names of parameters written out",
                certificate: ["DNS:doh.pub"],
                host: "doh.pub",
                channel: "json-resolve",
                calls: 2,
                settings: "kind: json\nurl: \"https://doh.pub/resolve?name={name}&type={type}\""
            ),
            TLSVendor(
                title: "JSON, AliDNS's form, signed",
                certificate: ["DNS:dns.alidns.com", "IP:223.5.5.5"],
                host: "dns.alidns.com",
                channel: "json-alidns",
                calls: 2,
                settings: """
                    kind: json
                    url: "https://dns.alidns.com/resolve"
                    account: 9999
                    access-key-id: testak
                    secret: {secret}
                    """,
                secrets: ["secret": "testsecret"]
            ),
            TLSVendor(
                title: "Baidu",
                certificate: ["DNS:httpdns.baidubce.com"],
                host: "httpdns.baidubce.com",
                channel: "baidu",
                settings: "kind: baidu\naccount: 107080\nsecret: {secret}",
                secrets: ["secret": "1234567890"]
            ),
            TLSVendor(
                title: "Volcengine",
                certificate: ["DNS:httpdns.volcengineapi.com"],
                host: "httpdns.volcengineapi.com",
                channel: "volcengine",
                settings: "kind: volcengine\naccount: 1023\nsecret: {secret}",
                secrets: ["secret": "QlgAuFMwNUwN"]
            ),
        ]

    static let alibaba: [TLSVendor] = [
        ("v1", "none", "alibaba-v1-signed"), ("v2", "none", "alibaba-v2-m0-signed"),
        ("v2", "cbc", "alibaba-v2-m1-signed"), ("v2", "gcm", "alibaba-v2-m2-signed"),
    ].flatMap { api, encryption, channel in
        ["resolvers.httpdns.aliyuncs.com", "203.107.1.1"].map { name in
            TLSVendor(
                title: "Alibaba \(api), encryption \(encryption), as \(name)",
                certificate: [name.hasPrefix("2") ? "IP:\(name)" : "DNS:\(name)"],
                host: name,
                channel: channel,
                calls: 2,
                settings: """
                    kind: alibaba
                    account: 100000
                    secret: {secret}
                    aes-key: {aes}
                    api: \(api)
                    encryption: \(encryption)
                    tls-name: \(name)
                    """,
                secrets: [
                    "secret": "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
                    "aes": "000102030405060708090a0b0c0d0e0f",
                ]
            )
        }
    }
}

final class TLSHarness: Sendable {
    let emulator: TestEmulator
    let front: TestNginx
    let daemon: TestDaemon
    private let upstream: TestUpstream
    private let trusted: Authority
    private let scratch: Scratch

    /// Routes example.com to the vendor.
    ///
    /// - Parameters:
    ///   - certificate: names in the server's certificate; if nil, the names of the vendor.
    ///   - trusted: authority that the daemon trusts; if nil, the issuer of the certificate.
    ///   - hasFile: true if `ca-file` names the authority, false if `SSL_CERT_FILE` does.
    ///   - extra: further YAML of the vendor.
    init(
        _ vendor: TLSVendor,
        certificate: [String]? = nil,
        isExpired: Bool = false,
        trusted: Authority? = nil,
        hasFile: Bool = true,
        hasHTTP2: Bool = true,
        requests: Int = 100_000,
        extra: String = ""
    ) throws {
        scratch = try Scratch()
        emulator = try TestEmulator(zone: ProgramHarness.zone)
        upstream = try TestUpstream()
        let authority = try Authority()
        front = try TestNginx(
            [.front(for: certificate ?? vendor.certificate, isExpired: isExpired)],
            backend: emulator.address,
            authority: authority,
            hasHTTP2: hasHTTP2,
            requests: requests
        )
        self.trusted = trusted ?? authority
        let file = self.trusted.file
        let text = try vendor.text(
            servers: ["127.0.0.1:\(front.port)"],
            authority: hasFile ? file : nil,
            extra: extra,
            in: scratch
        )
        daemon = try TestDaemon(
            """
            \(text)
            routes: [{domains: [example.com], vendors: [vendor], fallback-after: off}]
            \(upstream.text)
            """,
            environment: hasFile ? [:] : ["SSL_CERT_FILE": file]
        )
    }
}
