// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire
import Net
import Testing

@testable import Configuration

@Suite("Settings of upstreams")
struct SettingsUpstreamTests {
    private static func entry(_ options: String) -> String { "upstreams: [{name: a, \(options)}]" }

    @Test(
        "an upstream URL has a protocol, a name and an address",
        arguments: [
            ("udp://192.0.2.1", ["192.0.2.1:53"], true),
            ("udp://[2001:db8::1]:5353", ["[2001:db8::1]:5353"], true),
            ("tcp://192.0.2.1", ["192.0.2.1:53"], true),
            ("tls://192.0.2.1", ["192.0.2.1:853"], false),
            ("tls://[2001:db8::1]", ["[2001:db8::1]:853"], false),
            ("https://192.0.2.1/dns-query", ["192.0.2.1:443"], false),
            ("https://[2001:db8::1]:8443/q?a=b", ["[2001:db8::1]:8443"], false),
            ("udp://192.0.2.1:1", ["192.0.2.1:1"], true),
            ("tcp://[::1]:65535", ["[::1]:65535"], true),
            ("tcp://[2001:db8::1]", ["[2001:db8::1]:53"], true),
            ("tls://192.0.2.1:8853", ["192.0.2.1:8853"], false),
            ("tls://[2001:db8::1]:8853", ["[2001:db8::1]:8853"], false),
            ("https://192.0.2.1:8443/a/b%20c", ["192.0.2.1:8443"], false),
        ]
    )
    func literals(_ url: String, _ servers: [String], _ isUnprotected: Bool) throws {
        let upstream = try #require(try settings(of: Self.entry("url: \"\(url)\"")).upstreams.first)
        #expect(upstream.url.text == url)
        #expect(texts(upstream.servers) == servers)
        #expect(upstream.url.isUnprotected == isUnprotected)
    }

    @Test(
        "a URL is printed without its default port",
        arguments: [
            ("udp://192.0.2.1:53", "udp://192.0.2.1"),
            ("udp://[2001:DB8:0::1]", "udp://[2001:db8::1]"),
            ("tcp://192.0.2.1:53", "tcp://192.0.2.1"),
            ("tcp://192.0.2.1:853", "tcp://192.0.2.1:853"),
            ("tls://192.0.2.1:853/", "tls://192.0.2.1"),
            ("tls://192.0.2.1:53", "tls://192.0.2.1:53"),
            ("https://[2001:db8::1]:443/q", "https://[2001:db8::1]/q"),
            ("https://192.0.2.1/q{?dns}", "https://192.0.2.1/q"),
        ]
    )
    func shown(_ url: String, _ text: String) throws {
        #expect(try "\(UpstreamURL(reading: url))" == text)
    }

    @Test(
        "an error does not quote the password in a URL",
        arguments: [
            "https://u:secret@192.0.2.1/q", "tls://secret@192.0.2.1", "udp://secret@192.0.2.1",
        ]
    )
    func password(_ url: String) {
        let errors = problems(in: Self.entry("url: \"\(url)\""))
        #expect(errors.count == 1 && errors[0].contains("user name"))
        #expect(!errors.joined().contains("secret"))
    }

    @Test(
        "an error does not quote the secrets of an invalid value",
        arguments: [
            "url: 'ftp://u:secret@x/'", "url: 'u:secret@x'", "url: 'https:/u:secret@x'",
            "url: 'https://dns.exa mple/q?token=secret'", "addresses: ['u:secret@x']",
        ]
    )
    func secrets(_ option: String) {
        let errors = problems(in: Self.entry(option))
        #expect(!errors.isEmpty && !errors.joined().contains("secret"), "\(errors)")
    }

    @Test("an error does not quote the secrets of a vendor's URL")
    func vendorSecrets() {
        for url in ["https://u:secret@dns.example/q", "ftp://dns.example/q?token=secret"] {
            let errors = problems(in: "vendors: {j: {kind: json, url: '\(url)'}}")
            #expect(!errors.isEmpty && !errors.joined().contains("secret"), "\(errors)")
        }
    }

    @Test(
        "an invalid upstream URL is an error",
        arguments: [
            "", "192.0.2.1", "udp:192.0.2.1", "://192.0.2.1", "udp://", "tcp://", "tls://",
            "https://", "ftp://192.0.2.1", "UDP://192.0.2.1", "quic://192.0.2.1",
            "udp://dns.example", "udp://192.0.2.1:0", "udp://192.0.2.1:65536", "udp://192.0.2.1:",
            "udp://192.0.2.1:x", "udp://192.0.2.1/", "udp://192.0.2.1/q", "udp://me@192.0.2.1",
            "udp://2001:db8::1", "udp://[2001:db8::1", "udp://0.0.0.0", "tcp://[::]",
            "udp://224.0.0.1", "tls://[ff02::1]", "udp://255.255.255.255",
            "tcp://192.0.2.1?q", "tcp://me:pw@192.0.2.1", "tls://me@dns.example",
            "tls://dns.example:99999", "tls://dns.example:+1", "tls://dns.example:1:2",
            "tls://dns.example?q", "tls://dns.example#f", "tls://dns_example..net", "tls://[::1",
            "tls://0.0.0.0", "https://dns.example", "https://dns.example/", "https://:443/q",
            "https://me:pw@dns.example/q", "https://dns.example/q#f", "https://dns.example/{name}",
            "https://dns.example:0/q", "https://dns.example?q", "https://2001:db8::1/q",
            "https://dns.example\\q", "https://dns.example/a b", "https://dns.example/ä",
            "https://dns.example/" + String(repeating: "a", count: 1024),
        ]
    )
    func noURL(_ url: String) { #expect(throws: Mismatch.self) { try UpstreamURL(reading: url) } }

    @Test(
        "an upstream with `validates: true` must be encrypted or on this machine",
        arguments: [
            ("tls://192.0.2.1", true), ("https://192.0.2.1/q", true),
            ("udp://127.0.0.1:5353", true),
            ("tcp://127.0.0.9:5353", true), ("udp://[::1]:5353", true), ("tcp://[::1]:5353", true),
            ("udp://192.0.2.1", false), ("tcp://10.0.0.1", false), ("udp://[2001:db8::1]", false),
        ]
    )
    func validating(_ url: String, _ isAccepted: Bool) throws {
        let text = Self.entry("url: \"\(url)\", validates: true")
        guard isAccepted else {
            let column = 43 + url.utf8.count
            expectErrors(
                problems(in: text),
                ["f:1:\(column): `validates` requires encrypted `\(url)`"]
            )
            let plain = Self.entry("url: \"\(url)\", validates: false")
            #expect(try settings(of: plain).upstreams.first?.validates == false)
            return
        }
        #expect(try settings(of: text).upstreams.first?.validates == true)
        #expect(try settings(of: Self.entry("url: \"\(url)\"")).upstreams.first?.validates == false)
    }

    @Test("`addresses` replace the host of the URL; their default port is the port of the URL")
    func addresses() throws {
        let upstream = try #require(
            try settings(
                of: Self.entry(
                    "url: \"https://DNS.example:8443/dns-query{?dns}\","
                        + " addresses: [192.0.2.1, \"192.0.2.2:443\", \"2001:db8::1\"]"
                )
            ).upstreams.first
        )
        #expect(
            texts(upstream.servers) == ["192.0.2.1:8443", "192.0.2.2:443", "[2001:db8::1]:8443"]
        )
        #expect("\(upstream.url)" == "https://DNS.example:8443/dns-query")
        let other = try #require(
            try settings(
                of: Self.entry("url: \"tls://192.0.2.9/\", addresses: [192.0.2.1], timeout: 700ms")
            ).upstreams.first
        )
        #expect(other.url.host == "192.0.2.9")
        #expect(texts(other.servers) == ["192.0.2.1:853"])
        #expect(other.timeout == .milliseconds(700))
    }

    @Test(
        "the error for an invalid upstream contains the position and a hint",
        arguments: Self.mistakes
    )
    func checkMistakes(_ bad: BadText) { expectErrors(problems(in: bad.text), bad.errors) }

    private static let mistakes: [BadText] = [
        BadText(
            "a host without addresses",
            entry("url: \"tls://dns.example\""),
            "f:1:28: `tls://dns.example` needs `addresses` 192.0.2.53"
        ),
        BadText(
            "addresses that are names",
            entry("url: \"tls://dns.example\", addresses: [dns.example]"),
            "f:1:61: `upstreams.addresses` `dns.example`"
        ),
        BadText(
            "https without a path",
            entry("url: \"https://dns.example\", addresses: [192.0.2.1]"),
            "f:1:28: `upstreams.url` URL needs path `https://dns.example/dns-query`"
        ),
        BadText(
            "http",
            entry("url: \"http://dns.example/q\", addresses: [192.0.2.1]"),
            "f:1:28: `upstreams.url` URL `http://dns.example/q` encrypted"
        ),
        BadText(
            "dot",
            entry("url: \"dot://dns.example\", addresses: [192.0.2.1]"),
            "f:1:28: `upstreams.url` URL `dot://dns.example` `tls://`"
        ),
        BadText(
            "a path for tls",
            entry("url: \"tls://dns.example/dns-query\", addresses: [192.0.2.1]"),
            "f:1:28: `upstreams.url` URL `tls://dns.example/dns-query` path"
        ),
        BadText(
            "an IPv6 address without brackets",
            entry("url: \"tls://2001:db8::1\""),
            "f:1:28: `upstreams.url` URL `tls://2001:db8::1` brackets"
        ),
        BadText(
            "no port",
            entry("url: \"tls://dns.example:0\", addresses: [192.0.2.1]"),
            "f:1:28: `upstreams.url` port 65535"
        ),
        BadText(
            "a user",
            entry("url: \"https://me@dns.example/q\", addresses: [192.0.2.1]"),
            "f:1:28: `upstreams.url` user name"
        ),
        BadText(
            "an address alone",
            entry("url: \"192.0.2.1\""),
            "f:1:28: `upstreams.url` URL `192.0.2.1` `udp://192.0.2.1`"
        ),
        BadText(
            "a misspelt scheme",
            entry("url: \"htps://dns.example/q\", addresses: [192.0.2.1]"),
            "f:1:28: `upstreams.url` URL `htps://dns.example/q` `https://`"
        ),
        BadText(
            "doh",
            entry("url: \"doh://dns.example/q\", addresses: [192.0.2.1]"),
            "f:1:28: `upstreams.url` URL `doh://dns.example/q` `https://`"
        ),
        BadText(
            "a name for plain DNS",
            entry("url: \"udp://dns.example\""),
            "f:1:28: `upstreams.url` URL `udp://dns.example`"
        ),
        BadText(
            "a port that is too high",
            entry("url: \"https://dns.example:70000/q\", addresses: [192.0.2.1]"),
            "f:1:28: `upstreams.url` port 65535"
        ),
        BadText(
            "an empty list of addresses",
            entry("url: \"tls://dns.example\", addresses: []"),
            "f:1:28: `tls://dns.example` needs `addresses` 192.0.2.53"
        ),
        BadText(
            "addresses of plain DNS",
            entry("url: \"udp://192.0.2.1\", addresses: [192.0.2.2]"),
            "f:1:58: `addresses` `udp://192.0.2.1`"
        ),
        BadText(
            "certificates of plain DNS",
            entry("url: \"tcp://192.0.2.1\", ca-file: /etc/ssl/certs/ca-certificates.crt"),
            "f:1:56: `ca-file` requires encrypted `tcp://192.0.2.1`"
        ),
        BadText(
            "certificates that are not there",
            entry("url: \"tls://192.0.2.1\", ca-file: /nowhere/ca.pem"),
            "f:1:56: `upstreams.ca-file` /nowhere/ca.pem"
        ),
        BadText(
            "a file without certificates",
            entry("url: \"tls://192.0.2.1\", ca-file: /etc/passwd"),
            "f:1:56: /etc/passwd BEGIN CERTIFICATE"
        ),
        BadText(
            "itself, among its addresses",
            entry("url: \"tls://dns.example\", addresses: [192.0.2.1, \"127.0.0.1:53\"]"),
            "f:1:72: `127.0.0.1:53` itself `127.0.0.1:53`"
        ),
    ]

    @Test("with a wildcard listener, an upstream at any address of this machine is an error")
    func wildcard() throws {
        let here = try #require(IPAddress("192.0.2.7"))
        let environment = SettingsEnvironment(isLocal: { $0.ip == here })
        func text(_ listen: String, _ url: String) -> String {
            "listen: [\"\(listen)\"]\nallow: [\"192.0.2.0/24\"]\n" + Self.entry("url: \"\(url)\"")
        }
        func isRefused(_ listen: String, _ url: String) -> Bool {
            let found = problems(in: [UInt8](text(listen, url).utf8), environment: environment)
            return found.contains { $0.contains("is httpdnsd itself") }
        }
        #expect(isRefused("0.0.0.0:53", "udp://192.0.2.7"))
        #expect(isRefused("0.0.0.0:53", "tcp://127.0.0.9"))
        #expect(!isRefused("0.0.0.0:53", "udp://192.0.2.8"))
        #expect(!isRefused("0.0.0.0:53", "udp://192.0.2.7:5353"))
        #expect(!isRefused("[::]:53", "udp://127.0.0.53"))
        #expect(isRefused("[::]:53", "udp://[::1]"))
    }

    @Test("an address is local if a socket can be bound to it")
    func local() throws {
        let environment = SettingsEnvironment.process
        #expect(environment.isLocal(try #require(SocketAddress("127.0.0.1:53"))))
        #expect(!environment.isLocal(try #require(SocketAddress("192.0.2.1:53"))))
    }

    // MARK: - Servers of a network or of a file

    @Test("an upstream can take its servers from the network or from a file")
    func sources() throws {
        let text = "upstreams: [{name: a, from: network}, {name: b, from: /run/x}]"
        let upstreams = try settings(of: text).upstreams
        #expect(upstreams.map(\.from) == [.network, .file("/run/x")])
        #expect(upstreams.allSatisfy { $0.servers.isEmpty })
    }

    @Test(
        "`from` excludes other server options, and only one upstream can have `from: network`",
        arguments: [
            (
                "{name: a, from: network, url: \"udp://192.0.2.1\"}",
                "`url` is not allowed with `from`"
            ),
            ("{name: a, from: network, ca-file: /x}", "`ca-file` is not allowed with `from`"),
            ("{name: a, from: network, validates: true}", "`validates` is not allowed with `from`"),
            ("{name: a, from: netwrok}", "did you mean `network`?"),
            ("{name: a, from: x/y}", "must be `network` or an absolute path"),
            ("{name: a}", "`upstreams.url` is missing"),
            ("{name: a, from: network}, {name: b, from: network}", "only one upstream can have"),
        ]
    )
    func wrongSources(_ entries: String, _ message: String) {
        let found = problems(in: "upstreams: [\(entries)]")
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    @Test("a route with `fallback: none` cannot use an upstream with `from: network`")
    func untrusted() {
        let found = problems(
            in: """
                vendors: {a: {kind: json, url: "https://dns.example/r", servers: [192.0.2.1]}}
                routes: [{domains: [example.com], vendors: [a], upstreams: [n], fallback: none}]
                upstreams: [{name: n, from: network}]
                """
        )
        #expect(found.count == 1 && found[0].contains("cannot use `n`"), "\(found)")
    }

    @Test("a plain upstream before an encrypted upstream causes a warning")
    func order() throws {
        let plain = "{name: isp, url: \"udp://192.0.2.1\"}"
        let encrypted = "{name: dot, url: \"tls://192.0.2.2\"}"
        let warnings = try settings(of: "upstreams: [\(plain), \(encrypted)]").warnings
        #expect(warnings.count == 1)
        #expect(
            warnings[0].message == "`isp`, which is plain DNS, is listed before the encrypted "
                + "upstream `dot`, but is queried after it"
        )
        #expect(try settings(of: "upstreams: [\(encrypted), \(plain)]").warnings.isEmpty)
        #expect(
            try settings(of: "upstreams: [{name: n, from: network}, \(encrypted)]").warnings.isEmpty
        )
    }
}
