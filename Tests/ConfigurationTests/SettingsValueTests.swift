// SPDX-License-Identifier: Apache-2.0
import Control
import TestWorld
import Testing

@testable import Configuration

@Suite("Parsing of values")
struct SettingsValueTests {
    @Test(
        "durations are parsed",
        arguments: [
            ("0", Duration.zero), ("0s", .zero), ("0ms", .zero), ("300ms", .milliseconds(300)),
            ("2s", .seconds(2)), ("10m", .seconds(600)), ("1h", .seconds(3600)),
            ("1d", .seconds(86_400)), ("7d", .seconds(7 * 86_400)), ("0007s", .seconds(7)),
        ]
    )
    func durations(text: String, duration: Duration) throws {
        #expect(
            try settings(of: isp + "cache: {maximum-ttl: \(text)}").cache.maximumTTL == duration
        )
    }

    @Test(
        "text that is not a duration is an error",
        arguments: ["1", "1.5s", "s", "-1s", "+1s", "1 s", "1w", "1s1m", "8d", "٣s", "0x1s", "1S"]
    )
    func noDurations(text: String) {
        #expect(problems(in: isp + "cache: {maximum-ttl: \"\(text)\"}").count == 1)
    }

    @Test(
        "sizes are parsed",
        arguments: [
            ("1MiB", 1 << 20), ("1024KiB", 1 << 20), ("1048577B", (1 << 20) + 1),
            ("32GiB", 32 << 30),
        ]
    )
    func sizes(text: String, octets: Int) throws {
        #expect(try settings(of: isp + "cache: {size: \(text)}").cache.size == octets)
    }

    @Test(
        "booleans are parsed",
        arguments: [("on", true), ("true", true), ("off", false), ("false", false)]
    )
    func booleans(text: String, value: Bool) throws {
        #expect(try settings(of: isp + "log: {queries: \(text)}").log.queries == value)
        #expect(try settings(of: isp + "log: {queries: \"\(text)\"}").log.queries == value)
    }

    @Test("permissions are octal with and without quotes")
    func modes() throws {
        #expect(try settings(of: isp + "control: {mode: 0600}").control.mode == 0o600)
        #expect(try settings(of: isp + "control: {mode: \"660\"}").control.mode == 0o660)
    }

    @Test("the default port of `listen` is 53")
    func addresses() throws {
        let loaded = try settings(of: isp + "listen: [127.0.0.1, \"::1\", \"[::1]:5353\"]")
        #expect(texts(loaded.listen) == ["127.0.0.1:53", "[::1]:53", "[::1]:5353"])
    }

    @Test(
        "the default servers and ports of Tencent depend on the channel",
        arguments: [
            ("https, token: {file: TOKEN}", ["119.29.29.99:443", "119.28.28.99:443"], ":443"),
            ("aes, id: 1, key: {file: AES}", ["119.29.29.98:80", "119.28.28.98:80"], ":80"),
            ("des, id: 1, key: {file: DES}", ["119.29.29.98:80", "119.28.28.98:80"], ":80"),
        ]
    )
    func servers(channel: String, standard: [String], port: String) throws {
        let folder = try TemporaryFolder()
        let files = [
            "TOKEN": try folder.write("123", to: "token"),
            "AES": try folder.write("1234567890123456", to: "aes"),
            "DES": try folder.write("12345678", to: "des"),
        ]
        var options = "kind: tencent, channel: \(channel)"
        for (name, file) in files { options = options.replacing(name, with: file) }
        let text =
            isp + """
                vendors:
                  a: {\(options)}
                  b: {\(options), servers: [192.0.2.1, "192.0.2.2:8053", "2001:db8::1"]}
                """
        let loaded = try settings(of: text)
        #expect(loaded.vendors.first.map { texts($0.servers) } == standard)
        #expect(
            loaded.vendors.last.map { texts($0.servers) }
                == ["192.0.2.1\(port)", "192.0.2.2:8053", "[2001:db8::1]\(port)"]
        )
    }

    @Test("the settings contain the file, line and column of each route")
    func places() throws {
        let loaded = try settings(
            of: isp + "routes:\n  - domains: [example.com]\n    upstreams: [isp]\n"
        )
        #expect(loaded.routes.first?.place == SettingsPlace(file: "f", line: 3, column: 5))
        #expect(loaded.routes.first?.place.description == "f:3")
    }

    @Test(
        "for a misspelled word, the most similar valid word is suggested",
        arguments: [
            ("lisen", "listen"), ("LISTEN", "listen"), ("lsiten", "listen"), ("listn", "listen"),
            ("lis", "listen"), ("prefetsh", "prefetch"), ("x", nil), ("", nil), ("colour", nil),
            ("listenlistenlisten", nil),
        ] as [(String, String?)]
    )
    func didYouMean(typed: String, meant: String?) {
        #expect(DidYouMean.closest(to: typed, among: ["listen", "prefetch", "cache"]) == meant)
    }
}
