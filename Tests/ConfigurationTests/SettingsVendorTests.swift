// SPDX-License-Identifier: Apache-2.0
import Control
import HTTPDNS
import Net
import TestWorld
import Testing

@testable import Configuration

@Suite("Settings of vendors by kind")
struct SettingsVendorTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.write("1234567", to: "number")
        _ = try folder.write("00112233445566778899aabbccddeeff\n", to: "hex")
        _ = try folder.write("0011223344556677", to: "short")
        _ = try folder.write("not a key", to: "words")
        _ = try folder.write("01234567", to: "eight")
        _ = try folder.write(String(repeating: "x", count: 129), to: "long")
    }

    /// Returns settings with a vendor; `$hex` is the secret in the file `hex`.
    private func text(_ vendor: String) -> String {
        var options = vendor
        for name in ["number", "hex", "short", "words", "long", "eight"] {
            options = options.replacing("$\(name)", with: "{file: \(folder.path)/\(name)}")
        }
        return isp
            + "routes: [{domains: [example.com], vendors: [v]}]\nvendors: {v: {\(options)}}\n"
    }

    /// Returns messages without the column, which depends on the folder's path.
    private func messages(_ vendor: String) -> [String] {
        problems(in: text(vendor)).map { problem in
            problem.split(separator: ":", maxSplits: 3).last.map { String($0.dropFirst()) } ?? ""
        }
    }

    @Test("`billing` requires both parts of the access key, and the vendor kind `alibaba`")
    func billing() throws {
        let key = "billing: {access-key-id: $number, access-key-secret: $words}"
        #expect(
            messages("kind: alibaba, account: 1, \(key)").first?.contains("visible ASCII") == true
        )
        let good = "billing: {access-key-id: $number, access-key-secret: $hex}"
        let vendor = try #require(
            try settings(of: text("kind: alibaba, account: 1, \(good)")).vendors.first
        )
        #expect(vendor.resolveCount != nil && vendor.billing?.accessKeyID?.value.count == 7)
        let half = messages("kind: alibaba, account: 1, billing: {access-key-id: $number}")
        #expect(half.count == 1 && half[0].contains("access-key-secret"), "\(half)")
        #expect(
            messages("kind: json, url: \"https://dns.example/\", servers: [192.0.2.1], \(good)")
                .first?.contains("option of vendor kind alibaba") == true
        )
        let plain = try settings(of: text("kind: alibaba, account: 1"))
        #expect(plain.vendors.first?.resolveCount == nil)
    }

    @Test(
        "each cost hint suggests cheaper settings, and states their disadvantage",
        arguments: [
            ("kind: alibaba, account: 1", ["scheme: http, encryption: gcm"]),
            (
                "kind: alibaba, account: 1, encryption: gcm, aes-key: $hex, families: both",
                ["encryption: none", "scheme: http, encryption: gcm", "families: auto"]
            ),
            ("kind: alibaba, account: 1, scheme: http, encryption: gcm, aes-key: $hex", []),
            ("kind: alibaba, account: 1, price: {weight: 2}", []),
            ("kind: json, url: \"https://dns.example/\", servers: [192.0.2.1]", nil),
        ] as [(String, [String]?)]
    )
    func hints(options: String, expected: [String]?) throws {
        let hints = try settings(of: text(options)).costHints(hasIPv6: true)
        let wanted = expected.map { $0 + ["minimum-ttl: 300s"] } ?? []
        #expect(hints.map { $0.split(separator: "`")[1] } == wanted.map { $0[...] })
        #expect(hints.allSatisfy { $0.contains("; disadvantage: ") })
    }

    @Test(
        "a hint advises a machine without IPv6 to suppress AAAA if the vendor bills each family",
        arguments: [
            ("kind: alibaba, account: 1", "", true),
            ("kind: alibaba, account: 1", "answers: {aaaa: suppress}", false),
            ("kind: alibaba, account: 1, families: both", "", false),
            ("kind: baidu, account: 1, secret: $hex", "", false),
        ]
    )
    func suppression(options: String, more: String, isAdvised: Bool) throws {
        let settings = try settings(of: text(options) + more)
        let hints = settings.costHints(hasIPv6: false)
        #expect(hints.contains { $0.contains("`answers: {aaaa: suppress}`") } == isAdvised)
    }

    @Test("the hint to use plain HTTP warns that an attacker can replay older answers")
    func replays() throws {
        let hints = try settings(of: text("kind: alibaba, account: 1")).costHints(hasIPv6: true)
        let hint = try #require(hints.first { $0.contains("scheme: http") })
        #expect(hint.contains("cannot forge an answer, but can replay an older answer"))
    }

    @Test(
        "the default channel and servers depend on the kind of vendor",
        arguments: [
            ("kind: alibaba, account: 1", "v2 https", 10, "203.107.1.1:443"),
            ("kind: alibaba, account: 1, api: v1, scheme: http", "v1 http", 10, "203.107.1.1:80"),
            ("kind: alibaba, account: 1, region: de", "v2 https", 4, "47.89.80.182:443"),
            (
                "kind: alibaba, account: 1, encryption: gcm, aes-key: $hex, servers: [192.0.2.1]",
                "v2 gcm", 1, "192.0.2.1:443"
            ),
            (
                "kind: json, url: \"https://dns.example:8443/resolve\", servers: [192.0.2.1]",
                "https", 1, "192.0.2.1:8443"
            ),
            (
                "kind: json, url: \"http://dns.example/d\", servers: [\"192.0.2.1:81\", 192.0.2.2]",
                "http", 2, "192.0.2.1:81"
            ),
            ("kind: baidu, account: 1, secret: $hex", "https", 2, "180.76.76.200:443"),
            ("kind: baidu, account: 1, secret: $hex, scheme: http", "http", 2, "180.76.76.200:80"),
            (
                "kind: volcengine, account: 1, secret: $hex, servers: [192.0.2.1]",
                "https", 1, "192.0.2.1:443"
            ),
        ]
    )
    func defaults(vendor: String, channel: String, servers: Int, first: String) throws {
        let loaded = try #require(try settings(of: text(vendor)).vendors.first)
        #expect(loaded.account.channel == channel)
        #expect(loaded.servers.count == servers)
        #expect(loaded.servers.first?.description == first)
    }

    @Test("the options of a vendor may precede its option `kind`")
    func order() throws {
        let loaded = try settings(of: text("secret: $hex, account: 7, timeout: 1s, kind: baidu"))
        let vendor = try #require(loaded.vendors.first)
        #expect(vendor.baidu.account == "7")
        #expect(vendor.baidu.secret?.value.count == 32)
        #expect(vendor.baidu.tlsName == Baidu.defaultTLSName)
        #expect(vendor.client.timeout == .seconds(1))
    }

    @Test("Tencent's region selects the servers")
    func region() throws {
        let loaded = try settings(
            of: text(
                "kind: tencent, region: international, channel: des, id: 1, key: $eight, "
                    + "calls-per-second: 1"
            )
        )
        #expect(loaded.vendors.map { texts($0.servers) } == [["43.132.55.55:80"]])
        #expect(
            loaded.warnings.map(\.message) == [
                "DES can be broken, and its answers can be forged; they are labelled as unprotected"
            ]
        )
    }

    private func source(_ vendor: String) throws -> [String]? {
        let loaded = try #require(try settings(of: text(vendor)).vendors.first)
        let source = loaded.account.any.source(servers: loaded.servers)
        return source.map { ["\(Int($0.refresh / .seconds(3_600)))h"] + texts($0.servers) }
    }

    @Test("Tencent's `conf` is off by default; the servers of `conf` depend on the channel")
    func conf() throws {
        let token = "kind: tencent, token: $number"
        let key = "kind: tencent, channel: aes, id: 1, key: $short"
        #expect(try source(token) == nil)
        #expect(try source(token + ", conf: off") == nil)
        #expect(
            try source(token + ", conf: on") == ["12h", "119.29.29.89:443", "119.28.28.89:443"]
        )
        #expect(
            try source(key + ", conf: {refresh: 1h}")
                == ["1h", "119.29.29.88:80", "119.28.28.88:80"]
        )
        #expect(
            try source(key + ", conf: {servers: [192.0.2.1, \"192.0.2.2:81\"]}")
                == ["12h", "192.0.2.1:80", "192.0.2.2:81"]
        )
    }

    @Test("Alibaba's `schedule` is on unless the settings list servers")
    func schedule() throws {
        let account = "kind: alibaba, account: 1, region: de"
        #expect(try source(account)?.prefix(2) == ["8h", "47.89.80.182:443"])
        #expect(try source(account)?.count == 5)
        #expect(try source(account + ", schedule: off") == nil)
        #expect(try source(account + ", servers: [192.0.2.1]") == nil)
        #expect(
            try source(account + ", servers: [192.0.2.1], schedule: on") == ["8h", "192.0.2.1:443"]
        )
        #expect(try source("kind: baidu, account: 1, secret: $hex") == nil)
    }

    @Test("options of a vendor become settings of the vendor client")
    func client() throws {
        let loaded = try settings(
            of: text(
                """
                kind: alibaba, account: 1, proxy: \"http://[2001:db8::1]:3128/\",
                concurrent-calls: 4, batching: together,
                budget: {calls-per-day: 1000, on-exceeded: warn}
                """.replacing("\\\"", with: "\"")
            )
        )
        let vendor = try #require(loaded.vendors.first)
        let client = vendor.client
        #expect(client.proxy?.description == "[2001:db8::1]:3128")
        #expect(client.concurrentCalls == 4)
        #expect(client.batching == .together)
        #expect(client.budget == Budget.Rule(callsPerDay: 1000, onExceeded: .warn))
        #expect(VendorSettings(name: "", place: SettingsPlace()).client.proxy == nil)
    }

    @Test("a proxy is an HTTP proxy with an IP address and a port")
    func proxies() {
        for (proxy, problem) in [
            ("192.0.2.1:3128", "`192.0.2.1:3128` `http://192.0.2.1:3128`"),
            ("http://192.0.2.1", "`http://192.0.2.1` port"),
            ("https://192.0.2.1:1", "`https://192.0.2.1:1` http://"),
            ("http://me:secret@192.0.2.1:1", "password"),
            ("http://proxy.example:1", "`http://proxy.example:1` IP address"),
        ] {
            let found = messages("kind: alibaba, account: 1, proxy: \"\(proxy)\"")
            expectErrors(found, ["`vendors.v.proxy` " + problem])
        }
    }

    @Test("a price requires a currency, and a currency requires a price")
    func prices() {
        let vendor = "kind: alibaba, account: 1, price: "
        expectErrors(
            messages(vendor + "{per-10000: 0.04}"),
            ["`v` `price.currency` `currency: CNY`"]
        )
        expectErrors(messages(vendor + "{currency: USD}"), ["`v` `price.per-10000`"])
        #expect(messages(vendor + "{per-10000: 0.04, currency: CNY}").isEmpty)
        #expect(messages(vendor + "{weight: 2}").isEmpty)
    }

    @Test("a budget that does not suffice for one name is an error")
    func smallBudgets() {
        let vendor = "kind: alibaba, account: 1, "
        let small = messages(vendor + "budget: {units-per-day: 4}")
        expectErrors(small, ["`v` never 5 `units-per-day` 4"])
        #expect(messages(vendor + "budget: {units-per-day: 5}").isEmpty)
        #expect(messages(vendor + "budget: {units-per-day: 4, on-exceeded: warn}").isEmpty)
        let heavy = messages(vendor + "price: {weight: 9}, budget: {units-per-month: 8}")
        expectErrors(heavy, ["`v` never 9 `units-per-month` 8 `price.weight`"])
        #expect(messages(vendor + "price: {weight: 0}, budget: {units-per-day: 1}").isEmpty)
    }

    @Test("a budget requires a limit of calls or units")
    func budgets() {
        let vendor = "kind: alibaba, account: 1, budget: "
        let missing = "`v` no limit `calls-per-day` `units-per-day` `units-per-month`"
        expectErrors(messages(vendor + "{}"), [missing])
        expectErrors(messages(vendor + "on"), [missing])
        expectErrors(messages(vendor + "{units-per-month: 5}"), [])
        expectErrors(messages(vendor + "off"), [])
        expectErrors(
            messages(vendor + "{calls-per-day: 0, on-exceeded: stop}"),
            [
                "`vendors.v.budget.calls-per-day` 1 1000000000 `0`",
                "`vendors.v.budget.on-exceeded` `stop`",
            ]
        )
        expectErrors(messages(vendor + "1000"), ["`vendors.v.budget` mapping `1000`"])
    }

    @Test("HTTP/3 requires libcurl's support, TLS, and no proxy")
    func http3() {
        func messages(_ vendor: String, hasHTTP3: Bool) -> [String] {
            problems(
                in: text(vendor + ", http: 3"),
                environment: SettingsEnvironment(hasHTTP3: hasHTTP3)
            )
            .map { $0.split(separator: ":", maxSplits: 3).last.map(String.init) ?? "" }
        }
        let account = "kind: alibaba, account: 1"
        expectErrors(messages(account, hasHTTP3: true), [])
        expectErrors(messages(account, hasHTTP3: false), ["`vendors.v.http` libcurl `auto`"])
        expectErrors(messages(account + ", scheme: http", hasHTTP3: true), ["TLS"])
        expectErrors(
            messages(account + ", proxy: \"http://192.0.2.1:1\"", hasHTTP3: true),
            ["proxy `http: auto`"]
        )
        #expect(self.messages(account + ", http: 3").isEmpty == LibraryVersion.hasHTTP3)
    }

    @Test("Alibaba's `sdns` parameters have limits on their characters and their size")
    func sdns() throws {
        let vendor = "kind: alibaba, account: 1, sdns: "
        let loaded = try settings(of: text(vendor + "{city: hangzhou, \"no\": 1=}"))
        #expect(loaded.vendors.first?.alibaba.sdns == ["city": "hangzhou", "no": "1="])
        expectErrors(
            messages(vendor + "{\"a b\": c, d: \"e f\", g: [1]}"),
            ["`vendors.v.sdns` a b", "`vendors.v.sdns` d", "`vendors.v.sdns.g` list"]
        )
        let long = String(repeating: "x", count: 600)
        expectErrors(messages(vendor + "{a: \(long), b: \(long)}"), ["`sdns` 1000"])
    }

    @Test("Tencent's international region requires `channel: des`, and `servers` if `conf` is on")
    func regions() {
        let abroad = "kind: tencent, region: international, id: 1"
        expectErrors(messages(abroad + ", channel: aes, key: $short"), ["aes `channel` `des`"])
        expectErrors(messages(abroad + ", token: $number"), ["https `channel` `des`"])
        expectErrors(
            messages(abroad + ", channel: des, key: $eight, conf: on"),
            ["`conf` needs `servers`"]
        )
    }

    @Test("the error for an option of another vendor kind lists the kinds that have the option")
    func misplacedKeys() {
        expectErrors(
            messages("kind: alibaba, account: 1, token: $number, conf: {}, schedul: on"),
            [
                "`vendors.v.token` tencent",
                "`vendors.v.conf` tencent",
                "unknown `schedul` `vendors.v` `schedule`",
            ]
        )
        expectErrors(
            messages("kind: tencent, token: $number, secret: $hex, scheme: http, url: x"),
            [
                "`vendors.v.secret` alibaba, json, baidu, volcengine",
                "`vendors.v.scheme` alibaba, baidu, volcengine",
                "`vendors.v.url` json",
            ]
        )
    }

    @Test("without a valid `kind`, an option is an error only if no vendor kind has this option")
    func undecided() {
        expectErrors(messages("token: $number, url: 1"), ["`vendors.v.kind` missing"])
        expectErrors(
            messages("kind: alibab, account: 1, aes-key: 1, colour: red"),
            ["`vendors.v.kind` `alibab` `alibaba`", "unknown `colour` `vendors.v`"]
        )
    }

    @Test(
        "each missing option that the kind of a vendor requires is an error",
        arguments: [
            ("kind: alibaba", ["account"]), ("kind: json", ["url", "servers"]),
            ("kind: baidu", ["account", "secret"]),
            ("kind: volcengine", ["account", "secret", "servers"]),
        ]
    )
    func missing(vendor: String, options: [String]) {
        let found = messages(vendor)
        #expect(found.count == options.count)
        for (message, option) in zip(found, options) {
            #expect(message.hasPrefix("`vendors.v.\(option)` is missing (it must be "))
        }
    }

    @Test("inconsistent options of Alibaba are errors or warnings")
    func alibaba() throws {
        expectErrors(
            messages("kind: alibaba, account: 1, encryption: gcm"),
            ["`v` needs `aes-key`"]
        )
        expectErrors(
            messages("kind: alibaba, account: 1, encryption: cbc, aes-key: $hex, api: v1"),
            ["`api: v1` `encryption: none`"]
        )
        let odd = try settings(
            of: text("kind: alibaba, account: 1, scheme: http, aes-key: $hex, calls-per-second: 1")
        )
        #expect(
            odd.warnings.map(\.message) == [
                "answers over plain HTTP can be forged; they are labelled as unprotected",
                "`aes-key` is not used, because `encryption` is none",
            ]
        )
        let good = try settings(
            of: text(
                "kind: alibaba, account: 1, scheme: http, encryption: gcm, aes-key: $hex, "
                    + "calls-per-second: 1"
            )
        )
        #expect(good.warnings == [])
    }

    @Test(
        "a billed vendor without a limit of calls causes a warning",
        arguments: [
            ("kind: alibaba, account: 1", true),
            ("kind: alibaba, account: 1, price: {weight: 0}", false),
            ("kind: alibaba, account: 1, calls-per-second: 100", false),
            ("kind: alibaba, account: 1, budget: {units-per-month: 1000}", false),
            ("kind: json, url: \"https://dns.example/\", servers: [192.0.2.1]", false),
        ]
    )
    func unlimitedCosts(vendor: String, isWarned: Bool) throws {
        let warnings = try settings(of: text(vendor)).warnings.map(\.description)
        expectErrors(warnings, isWarned ? ["f:3: `v` random names costs `budget`"] : [])
    }

    @Test("secrets must have the form of their vendor kind")
    func secrets() {
        expectErrors(
            messages("kind: alibaba, account: 1, secret: $words, encryption: gcm, aes-key: $short"),
            ["`vendors.v.secret` hexadecimal", "`vendors.v.aes-key` 32 16"]
        )
        let rule = "`vendors.v.secret` 1 to 128 ASCII"
        expectErrors(messages("kind: baidu, account: 1, secret: $words"), [rule])
        expectErrors(
            messages("kind: volcengine, account: 1, secret: $long, servers: [192.0.2.1]"),
            [rule]
        )
        let json = "kind: json, url: \"https://dns.example/d\", servers: [192.0.2.1]"
        expectErrors(
            messages(json + ", account: 1, access-key-id: 1, secret: $long"),
            ["`vendors.v.secret` 128"]
        )
    }

    @Test("a JSON API requires a valid `url`; `account` requires `access-key-id` and `secret`")
    func json() throws {
        let servers = "servers: [192.0.2.1]"
        for url in ["dns.example", "ftp://dns.example/", "https://u@dns.example/", "https://a/#f"] {
            expectErrors(
                messages("kind: json, url: \"\(url)\", \(servers)"),
                ["`vendors.v.url` `\(url.withoutSecrets)`"]
            )
        }
        expectErrors(
            messages("kind: json, url: \"https://dns.example/d\", \(servers), account: 1"),
            ["`v` needs `access-key-id`", "`v` needs `secret`"]
        )
        let plain = try settings(of: text("kind: json, url: \"http://dns.example/d\", \(servers)"))
        #expect(
            plain.warnings.map(\.message) == [
                "answers over plain HTTP can be read and forged; they are labelled as unprotected"
            ]
        )
    }

    @Test("accounts and certificate names may have only characters that are valid in requests")
    func accounts() {
        expectErrors(
            messages("kind: alibaba, account: \"1/2\", tls-name: \"a b\""),
            ["`vendors.v.account` 1 128 `1/2`", "`vendors.v.tls-name` `a b`"]
        )
    }

    @Test("the protocol of calls depends on the kind of vendor")
    func protocols() throws {
        let vendors = [
            "kind: tencent, token: $number",
            "kind: alibaba, account: 1, secret: $hex, aes-key: $hex, encryption: gcm",
            "kind: json, url: \"https://dns.example/d\", servers: [192.0.2.1]",
            "kind: baidu, account: 1, secret: $hex",
            "kind: volcengine, account: 1, secret: $hex, servers: [192.0.2.1]",
        ]
        for (vendor, kind) in zip(vendors, VendorKind.allCases) {
            let settings = try #require(try settings(of: text(vendor)).vendors.first)
            #expect(try settings.account.any.vendor().facts.kind == kind.rawValue)
        }
    }

    @Test("calls of a JSON API are billable with an account or `billable: on`")
    func billable() throws {
        let api = "kind: json, url: \"https://dns.example/d\", servers: [192.0.2.1]"
        let account = ", account: 1, access-key-id: 1, secret: $hex"
        for (options, isBillable) in [
            ("", false), (", billable: true", true), (account, true),
            (account + ", billable: off", false),
        ] {
            let settings = try #require(try settings(of: text(api + options)).vendors.first)
            #expect(try settings.account.any.vendor().facts.isBillable == isBillable, "\(options)")
        }
    }

    @Test("the sum of `concurrent-calls` of all vendors is limited")
    func concurrentCalls() {
        func vendors(_ calls: [Int?]) -> String {
            let lines = calls.enumerated().map { number, calls in
                "  v\(number): {kind: alibaba, account: 1"
                    + (calls.map { ", concurrent-calls: \($0)" } ?? "") + "}"
            }
            return """
                vendors:
                \(lines.joined(separator: "\n"))
                upstreams: [{name: isp, url: "udp://192.0.2.1"}]
                """
        }
        #expect(problems(in: vendors([100, 28])).isEmpty)
        #expect(problems(in: vendors(Array(repeating: nil, count: 12))).isEmpty)
        expectErrors(
            problems(in: vendors([nil, 97])),
            [
                """
                f:3:53: the sum of all vendors' `concurrent-calls` is 129; the maximum is 128 \
                (reduce them: each call takes memory, and the systemd unit limits the memory)
                """
            ]
        )
    }
}
