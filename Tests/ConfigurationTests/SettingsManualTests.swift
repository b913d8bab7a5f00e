// SPDX-License-Identifier: Apache-2.0
import Control
import HTTPDNS
import Net
import TestWorld
import Testing

@testable import Configuration

@Suite("The manual and printed settings are valid settings")
struct SettingsManualTests {
    @Test("the manual, read as a settings file, gives the default settings and two upstreams")
    func defaults() throws {
        let loaded = try settings(of: SettingsManual.text)
        #expect(loaded.warnings == [])
        #expect(
            texts(loaded.upstreams.map(\.url))
                == ["https://doh.pub/dns-query", "https://dns.alidns.com/dns-query"]
        )
        var expected = Settings()
        expected.upstreams = loaded.upstreams
        #expect(loaded == expected)
    }

    @Test("config/httpdnsd.yaml is the output of `httpdnsd --print-config`")
    func file() throws {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let octets = try RegularFile("/\(root)/config/httpdnsd.yaml").read(atMost: 1 << 20)
        #expect(
            String(decoding: octets, as: UTF8.self) == SettingsManual.text,
            "run `httpdnsd --print-config > config/httpdnsd.yaml`"
        )
    }

    @Test("httpdnsd.yaml(5) contains the output of `httpdnsd --print-manual`")
    func page() throws {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let octets = try RegularFile("/\(root)/man/httpdnsd.yaml.5").read(atMost: 1 << 20)
        #expect(
            String(decoding: octets, as: UTF8.self).contains(
                ".\\\" Options: httpdnsd --print-manual\n" + SettingsManual.pageText
                    + ".\\\" End of options\n"
            ),
            "put the output of `httpdnsd --print-manual` into the page"
        )
    }

    @Test("the manual with uncommented examples is a valid settings file")
    func examples() throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("1234567", to: "tencent.token")
        _ = try folder.write("1234567890123456", to: "tencent.key")
        let names = [
            "alibaba.secret", "alibaba.aes", "alibaba.access-key-id", "alibaba.access-key-secret",
            "alidns.secret", "baidu.secret", "fleet.password", "fleet.secret",
        ]
        for name in names {
            _ = try folder.write("00112233445566778899aabbccddeeff", to: name)
        }
        _ = try folder.write("00112233445566778899aabbccddeeff", to: "volcengine.secret")
        _ = try folder.write(certificate, to: "ca.pem")
        let loaded = try settings(
            // An upstream may have only one of `url` and `from`, so the test removes `from`.
            of: uncommented(SettingsManual.text).replacing("    from: network\n", with: "")
                .replacing("/etc/httpdnsd/", with: folder.path + "/")
        )
        #expect(loaded.vendors.map(\.name) == VendorKind.allCases.map(\.rawValue))
        #expect(loaded.vendors.map(\.account.kind) == VendorKind.allCases)
        #expect(
            loaded.vendors.first.map { texts($0.servers) }
                == ["119.29.29.99:443", "119.28.28.99:443"]
        )
        #expect(texts(loaded.vendors.compactMap(\.client.clientSubnet)) == ["203.0.113.7"])
        #expect(
            loaded.routes.first.map { texts($0.domains) }
                == ["example.com", "=only.this.example", "*.below.example"]
        )
        #expect(loaded.upstreams.map(\.name) == ["office"])
        try expectRoundTrip(loaded)
    }

    private func uncommented(_ manual: String) -> String {
        var lines: [Substring] = []
        for line in manual.split(separator: "\n", omittingEmptySubsequences: false) {
            let rest = line.dropFirst()
            let isExample =
                line.hasPrefix("#") && (rest.hasPrefix("  ") || rest.first?.isLetter == true)
            if !isExample {
                lines.append(line)
                continue
            }
            if rest.first?.isLetter == true, let key = rest.split(separator: ":").first {
                let live = lines.lastIndex { $0.hasPrefix(key + ":") }
                if let live { lines.removeSubrange(live...) }
            }
            lines.append(rest)
        }
        return lines.joined(separator: "\n")
    }

    @Test("every option is in the manual")
    func complete() {
        let manual = SettingsManual.text
        let tables =
            Settings.table.options.map(\.name)
            + VendorSettings.tables.values.flatMap { $0.options.map(\.name) }
            + RouteSettings.table.options.map(\.name) + UpstreamSettings.table.options.map(\.name)
            + CacheSettings.table.options.map(\.name) + ControlSettings.table.options.map(\.name)
            + MetricsSettings.table.options.map(\.name)
            + LogSettings.table.options.map(\.name) + HostsSettings.table.options.map(\.name)
            + AnswerSettings.table.options.map(\.name)
            + RebindingSettings.table.options.map(\.name)
        for name in tables {
            #expect(manual.contains("\(name):"), "\(name)")
        }
        #expect(manual.split(separator: "\n").allSatisfy { $0.count <= YAMLPrinter.width })
    }

    @Test("the errors in a truncated manual have positions inside the text")
    func prefixes() {
        let text = bareExamples
        for count in 0...text.count { expectErrorsInside(Array(text[..<count])) }
        let manual = [UInt8](SettingsManual.text.utf8)
        for index in manual.indices where manual[index] == UInt8(ascii: "\n") {
            expectErrorsInside(Array(manual[...index]))
        }
    }

    @Test("after a change of one octet of the manual, all errors have positions inside the text")
    func mutations() {
        let text = bareExamples
        let replacements = [UInt8]("[]{}:#-*&!|>'\"%@`,\t\n \\0".utf8) + [0x00, 0x0D, 0x80, 0xC3]
        for index in text.indices {
            var changed = text
            changed[index] = replacements[index % replacements.count]
            expectErrorsInside(changed)
        }
    }

    private var bareExamples: [UInt8] {
        let lines = uncommented(SettingsManual.text).split(separator: "\n")
        let bare = lines.filter { line in line.first { $0 != " " } != "#" }
        return [UInt8](bare.joined(separator: "\n").utf8)
    }

    private func expectErrorsInside(_ text: [UInt8]) {
        do throws(SettingsErrors) {
            _ = try Settings(parsing: text, fileName: "f", environment: SettingsEnvironment())
        } catch {
            #expect(!error.problems.isEmpty)
            let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
            for problem in error.problems + error.warnings {
                #expect((1...lines.count).contains(problem.line), "\(problem)")
                guard lines.indices.contains(problem.line - 1) else { continue }
                let columns = String(decoding: lines[problem.line - 1], as: UTF8.self)
                    .unicodeScalars
                #expect((1...columns.count + 1).contains(problem.column), "\(problem)")
            }
        }
    }

    @Test("settings that are printed and read again are unchanged")
    func roundTrip() throws {
        let folder = try TemporaryFolder()
        let hex = try folder.write("00112233445566778899aabbccddeeff", to: "hex")
        let authority = try folder.write(certificate, to: "ca.pem")
        let key = try folder.write("12345678", to: "a key, \"quoted\" \\ with #", mode: 0o600)
        let quoted = key.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        try expectRoundTrip(settings(of: SettingsManual.text))
        try expectRoundTrip(
            settings(
                of: """
                    listen: [127.0.0.1, "[::1]:0", "[2001:db8::1]:5353"]
                    allow: [192.0.2.0/24, "2001:db8::/32", 198.51.100.7]
                    workers: 3
                    vendors:
                      "no":
                        kind: tencent
                        channel: des
                        id: 1
                        key: {file: "\(quoted)"}
                        servers: [192.0.2.1, "192.0.2.2:8080", "[2001:db8::2]:80"]
                        client-subnet: 2001:db8::7
                        client-subnet-form: plain
                        timeout: 1500ms
                        retries-before-switch: 1
                        http: 1.1
                        proxy: "http://[2001:db8::9]:3128"
                        concurrent-calls: 1
                        auth-expiry: on
                        conf: {servers: ["192.0.2.3:8080"], refresh: 90m}
                        budget: {calls-per-day: 5, on-exceeded: warn}
                        tls-name: httpdns.example.com
                      ali:
                        aes-key: {file: "\(hex)"}
                        secret: {file: "\(hex)"}
                        account: 0100
                        encryption: cbc
                        scheme: http
                        tls-name: 203.107.1.1
                        region: sg
                        schedule: off
                        sdns: {"no": "1", b: x=}
                        batching: together
                        kind: alibaba
                      old: {kind: alibaba, account: a1, api: v1}
                      free: {kind: json, url: "https://[2001:db8::1]:8443/r?t={type}", servers: [192.0.2.1]}
                      paid:
                        kind: json
                        url: http://dns.example/resolve
                        servers: ["[2001:db8::1]", "192.0.2.1:81"]
                        account: 1
                        access-key-id: 2x
                        secret: {file: "\(hex)"}
                        billable: false
                      baidu: {kind: baidu, account: 1, secret: {file: "\(hex)"}, scheme: http}
                      volc:
                        kind: volcengine
                        account: 1
                        secret: {file: "\(hex)"}
                        tls-name: "2001:db8::1"
                        servers: [192.0.2.1]
                    routes:
                      - domains: [., "=a.example", "*.10.in-addr.arpa", 'x\\(y.example']
                        except: [b.example]
                        vendors: ["no"]
                        fallback: none
                        private-answers: allow
                        client-subnet: "2001:db8::7"
                        prefetch: off
                      - domains: [example.com]
                        upstreams: [v6]
                        minimum-ttl: 5m
                        maximum-ttl: 1h
                    upstreams:
                      - {name: v6, url: "udp://[2001:db8::53]", only: on, timeout: 100ms}
                      - {name: "0660", url: "udp://192.0.2.53:5353"}
                      - {name: tcp, url: "tcp://[2001:db8::53]:5353"}
                      - {name: dot, url: "tls://dns.example:8853", addresses: ["192.0.2.1"]}
                      - {name: ip, url: "tls://[2001:db8::53]", ca-file: "\(authority)"}
                      - name: doh
                        url: "https://dns.example/a?b=c"
                        addresses: ["192.0.2.1", "192.0.2.2:8443", "[2001:db8::1]:8443"]
                    cache: {size: 1536KiB, maximum-ttl: 90s, negative-ttl: {minimum: 0}}
                    hosts:
                      files: ["/etc/a file", /etc/hosts]
                      records: {printer.lan: [192.0.2.9, "2001:db8::9"], "0660": ["::"]}
                    answers:
                      https-records: block
                      aaaa: suppress
                      order: fastest
                      probe: [{domain: "=a.example", port: 8443}, {domain: "*.b.example"}]
                    rebinding: {protect: on, except: [plex.example, "=c.example"]}
                    control: {socket: "/tmp/käse.sock", mode: "0600", group: wheel}
                    metrics: {listen: ["[::1]:9353", "192.0.2.9", /run/a.sock], mode: "0666", group: prometheus}
                    log: {level: trace, queries: on, format: json}
                    """
            )
        )
    }

    private func expectRoundTrip(_ loaded: Settings) throws {
        let text = loaded.effectiveText
        let again = try settings(of: text)
        #expect(again.withoutPlaces == loaded.withoutPlaces, "\(text)")
        #expect(again.effectiveText == text)
        let lines = YAMLPrinter.block(Settings.table.write(loaded), indent: 0)
        #expect(text == "# Effective settings of httpdnsd.\n" + lines.map { $0 + "\n" }.joined())
        let shown = try #require(loaded.shownText(limit: .max))
        #expect(loaded.shownText(limit: shown.utf8.count) == shown)
        #expect(loaded.shownText(limit: shown.utf8.count - 1) == nil)
    }
}
