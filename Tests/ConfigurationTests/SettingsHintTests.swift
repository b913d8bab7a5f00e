// SPDX-License-Identifier: Apache-2.0
import Control
import Net
import TestWorld
import Testing

@testable import Configuration

@Suite("Messages name the cause, and the value that the operator probably meant")
struct SettingsHintTests {
    @Test("an error in a value names the cause", arguments: Self.values)
    func checkValues(_ bad: BadText) { expectErrors(problems(in: bad.text), bad.errors) }

    static let values: [BadText] = [
        BadText(
            "an IPv6 address with a port, without brackets",
            isp + "listen: [\"::1:53\", \"::53\", \"fd00::1:53530\"]\nallow: [\"::1\"]",
            "f:2:10: `listen` `::1:53` without `[::1]:53`",
            "f:2:20: `listen` `::53` without `[::]:53`",
            "f:2:28: `listen` `fd00::1:53530` `[fd00::1]:53530`"
        ),
        BadText(
            "ports out of range",
            "upstreams:\n  - {name: a, url: \"udp://192.0.2.1:0\"}\n"
                + "  - {name: b, url: \"tls://dns.example:70000\"}\n"
                + "  - {name: c, url: \"tcp://[::1]:70000\"}\n"
                + "listen: [\"127.0.0.1:99999\"]\nmetrics: {listen: \"[::1]:70000\"}",
            "f:2:20: `upstreams.url` port `udp://192.0.2.1:0` 1 65535",
            "f:3:20: `upstreams.url` port `dns.example:70000` 1 65535",
            "f:4:20: `upstreams.url` port `[::1]:70000` 1 65535",
            "f:5:10: `listen` port `127.0.0.1:99999` 1 65535",
            "f:6:19: `metrics.listen` port `[::1]:70000` 1 65535"
        ),
        BadText(
            "decimals",
            isp + "cache:\n  size: 1.5GiB\n  maximum-ttl: 0.3ms\n  stale: {after: 1.5s, ttl: 1.5}",
            "f:3:9: `cache.size` `1.5GiB` decimal `1536MiB`",
            "f:4:16: `cache.maximum-ttl` `0.3ms` decimal",
            "f:5:18: `cache.stale.after` `1.5s` decimal `1500ms`",
            "f:5:29: `cache.stale.ttl` `1.5` decimal"
        ),
        BadText(
            "sections with another word for on or off",
            isp + "cache: {prefetch: yes, stale: No}\nrate-limit: maybe",
            "f:2:19: `cache.prefetch` `on` `off` mapping `yes` `on`",
            "f:2:31: `cache.stale` `on` `off` mapping `No` `off`",
            "f:3:13: `rate-limit` mapping `maybe`"
        ),
        BadText(
            "a value that is neither a list nor an item",
            isp + "listen: true",
            "f:2:9: `listen` list `true` IP:PORT"
        ),
        BadText(
            "currencies",
            isp + "vendors:\n" + Self.priced("a", "yuan") + Self.priced("b", "usd")
                + Self.priced("c", "taler"),
            "f:3:77: `vendors.a.price.currency` `yuan` `CNY`",
            "f:4:77: `vendors.b.price.currency` `usd` `USD`",
            "f:5:77: `vendors.c.price.currency` ISO 4217 `taler`"
        ),
        BadText(
            "servers from the network, and a URL",
            "upstreams: [{name: a, url: \"tls://dns.example\", from: network}]",
            "f:1:28: `url` `from` network"
        ),
        BadText(
            "NAT64 prefixes",
            isp + "nat64: 64:ff9b::/97",
            "f:2:8: `nat64` length `64:ff9b::/97` 96"
        ),
        BadText("a link-local prefix", isp + "nat64: fe80::/64", "f:2:8: `nat64` `fe80::/64` link"),
        BadText(
            "a space and a letter that is not ASCII in a domain",
            isp + "routes: [{upstreams: [isp], domains: [\"*.a b.example\", bücher.example]}]",
            "f:2:39: `*.a b.example` space",
            "f:2:56: `bücher.example` 2 xn--"
        ),
        BadText(
            "a missing brace",
            "upstreams:\n  - {name: a, url: \"udp://192.0.2.1\"\ncache: {size: 64MiB}\n",
            "f:3:1: `{` line 2 `}` comma"
        ),
        BadText(
            "a missing bracket",
            isp + "allow: [192.0.2.1\nlisten: a\n",
            "f:3:7: `[` line 2 `]` comma"
        ),
        BadText(
            "another indentation",
            isp + "cache:\n  size: 64MiB\n   maximum-ttl: 5s\n",
            "f:4:15: key indent"
        ),
        BadText(
            "less indentation",
            isp + "cache:\n  size: 64MiB\n maximum-ttl: 5s\n",
            "f:4:2: key line 1 indent"
        ),
        BadText("an open quote", isp + "log: {level: \"info}\n", "f:2:20: quote line 2"),
    ]

    private static func priced(_ name: String, _ currency: String) -> String {
        "  \(name): {kind: alibaba, account: 1, price: {per-10000: 1, weight: 1, currency: \(currency)}}\n"
    }

    @Test("an IPv6 address like fd00::1:53 causes a warning unless this machine has the address")
    func ambiguousAddress() throws {
        let text = isp + "listen: [\"fd00::1:53\"]\nallow: [\"fd00::/8\"]"
        let warnings = try settings(of: text).warnings.map(\.description)
        expectErrors(warnings, ["f:2:10: `fd00::1:53` not `[fd00::1]:53`"])
        let local = SettingsEnvironment(isLocal: { _ in true })
        #expect(try settings(of: text, environment: local).warnings.isEmpty)
        for address in ["fd00::53", "2001:db8::1", "::1", "[::1]:53", "2001:db8::1:2"] {
            let text = isp + "listen: [\"\(address)\"]\nallow: [\"::1\"]"
            #expect(try settings(of: text).warnings.isEmpty, "\(address)")
        }
    }

    @Test("--check warns of missing hosts files and unknown groups that the settings name")
    func missingFiles() throws {
        var environment = SettingsEnvironment()
        environment.mayExist = { $0 == "/etc/a" }
        environment.mayBeGroup = { $0 == "root" }
        let warnings = { (text: String) throws in
            try settings(of: isp + text, environment: environment).warnings.map(\.description)
        }
        expectErrors(
            try warnings("hosts: {files: [/etc/a, /etc/b]}\ncontrol: {group: b}\n"),
            ["f:2:25: `hosts.files` /etc/b", "f:3:18: `control.group` `b`"]
        )
        #expect(try warnings("control: {group: root}\nmetrics: {group: root}").isEmpty)
        #expect(try settings(of: isp + "hosts: {files: [/etc/b]}").warnings.isEmpty)
    }

    @Test("a file in `from` that names no usable server causes a warning")
    func resolverFiles() throws {
        let folder = try TemporaryFolder()
        let warnings = { (file: String) throws in
            try settings(
                of: "upstreams: [{name: office, from: \(file)}]",
                environment: .reload
            ).warnings.map(\.description)
        }
        let missing = "\(folder.path)/missing"
        expectErrors(
            try warnings(missing),
            ["f:1:34: \(missing): open: No such file or directory: queries `office` fail"]
        )
        for text in ["", "nameserver 127.0.0.1\nnameserver ::1\n", "nameserver office\n"] {
            let file = try folder.write(text, to: "resolv.conf")
            expectErrors(
                try warnings(file),
                ["f:1:34: \(file) nameserver `office` fail"],
                "\(text)"
            )
        }
        let file = try folder.write("nameserver ::1\nnameserver 192.0.2.53\n", to: "resolv.conf")
        #expect(try warnings(file).isEmpty)
        // At the start of the daemon, the check of the settings does not read the file.
        #expect(try settings(of: "upstreams: [{name: office, from: \(missing)}]").warnings.isEmpty)
    }

    @Test("a cache that is too large for the memory limit of the service causes a warning")
    func memoryLimit() throws {
        var environment = SettingsEnvironment()
        let warnings = { (size: String, limit: Int?) throws in
            environment.memoryLimit = { limit }
            return try settings(of: isp + "cache: {size: \(size)}", environment: environment)
                .warnings.map(\.description)
        }
        expectErrors(
            try warnings("128MiB", 600 << 20),
            ["f:2:15: `cache.size` (600 MiB) MemoryMax=1028M `systemctl edit httpdnsd`"]
        )
        expectErrors(try warnings("32GiB", 1028 << 20), ["f:2:15: MemoryMax=66308M"])
        #expect(try warnings("128MiB", 1028 << 20).isEmpty)
        #expect(try warnings("32GiB", nil).isEmpty)
        #expect(try warnings("64MiB", 256 << 20).isEmpty)
    }

    @Test("a cache for which the system refuses the address space causes a warning")
    func addressSpace() throws {
        var environment = SettingsEnvironment()
        environment.mayCreateCache = { $0 < 32 << 30 }
        environment.memoryLimit = { 2 << 30 }
        let warnings = { (size: String) throws in
            try settings(of: isp + "cache: {size: \(size)}", environment: environment).warnings
                .map(\.description)
        }
        expectErrors(try warnings("32GiB"), ["f:2:15: `cache.size` would have no DNS"])
        #expect(try warnings("128MiB").isEmpty)
        #expect(SettingsEnvironment.reload.mayCreateCache(1 << 20))
    }

    @Test("a warning is reported if all listen addresses together would have more than 128 workers")
    func workers() throws {
        let warnings = { (text: String) throws in
            try settings(of: isp + text).warnings.map(\.description)
        }
        expectErrors(
            try warnings("workers: 256"),
            [
                "f:2:10: `workers` (256) 2 addresses `listen` 128 each address gets 64 reduce `workers`"
            ]
        )
        #expect(try warnings("workers: 64").isEmpty)
        #expect(try warnings("workers: auto").isEmpty)
    }

    @Test(
        "the listen addresses share 128 workers, and each address gets at least one worker",
        arguments: [
            (1, 1, 0, 1), (256, 1, 0, 128), (64, 2, 0, 64), (64, 8, 0, 16), (256, 32, 0, 4),
            (64, 1, 96, 32), (64, 1, 128, 1), (64, 3, 140, 1), (8, 0, 0, 8),
        ]
    )
    func workers(_ wanted: Int, _ count: Int, _ others: Int, _ each: Int) {
        #expect(SettingsLimits.workers(wanted, forEachOf: count, besides: others) == each)
    }

    @Test("a token without the channel https causes a warning")
    func unusedKey() throws {
        let folder = try TemporaryFolder()
        let token = try folder.write("1234", to: "token")
        let key = try folder.write("0123456789abcdef", to: "key")
        let text = """
            \(isp)routes: [{domains: [example.com], vendors: [a, b]}]
            vendors:
              a: {kind: tencent, token: {file: \(token)}, key: {file: \(key)}}
              b: {kind: tencent, channel: aes, id: 1, key: {file: \(key)}, token: {file: \(token)}}
            """
        let warnings = try settings(of: text).warnings.map(\.description)
        #expect(warnings.count { $0.contains("`token` is not used") } == 1)
        #expect(warnings.count { $0.hasPrefix("f:5:") } == 3 && warnings.count == 4)
        withExtendedLifetime(folder) {}
    }
}
