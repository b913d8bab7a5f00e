// SPDX-License-Identifier: Apache-2.0
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

    @Test("an access key for the vendor's own count has two parts, and is only for Alibaba")
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
        "hints name the settings that cost less",
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
        #expect(hints.allSatisfy { $0.contains("; gives up: ") })
    }

    @Test(
        "a machine without IPv6 is advised to suppress AAAA if families are billed",
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

    @Test("a hint at cheaper plain HTTP says that old answers can be replayed")
    func replays() throws {
        let hints = try settings(of: text("kind: alibaba, account: 1")).costHints(hasIPv6: true)
        let hint = try #require(hints.first { $0.contains("scheme: http") })
        #expect(hint.contains("cannot forge an answer, but can send an older one"))
    }

    @Test(
        "defaults depend on the kind",
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

    @Test("options may precede the kind")
    func order() throws {
        let loaded = try settings(of: text("secret: $hex, account: 7, timeout: 1s, kind: baidu"))
        let vendor = try #require(loaded.vendors.first)
        #expect(vendor.baidu.account == "7")
        #expect(vendor.baidu.secret?.value.count == 32)
        #expect(vendor.baidu.tlsName == Baidu.defaultTLSName)
        #expect(vendor.timeout == .seconds(1))
    }

    @Test("Tencent's region selects the servers")
    func region() throws {
        let loaded = try settings(
            of: text("kind: tencent, region: international, channel: des, id: 1, key: $eight")
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

    @Test("Tencent's conf is off by default; its servers depend on the channel")
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

    @Test("Alibaba's schedule is on unless the settings list servers")
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

    @Test("options are passed to the vendor client")
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
        let client = VendorClient.Settings(vendor)
        #expect(client.proxy?.description == "[2001:db8::1]:3128")
        #expect(client.concurrentCalls == 4)
        #expect(client.batching == .together)
        #expect(client.budget == Budget.Rule(callsPerDay: 1000, onExceeded: .warn))
        #expect(
            VendorClient.Settings(VendorSettings(name: "", place: SettingsPlace())).proxy == nil
        )
    }

    @Test("a proxy is an HTTP proxy with an IP address and a port")
    func proxies() {
        let rule =
            "`vendors.v.proxy` must be the URL of an HTTP proxy by its IP address,"
            + " such as http://192.0.2.1:3128, not"
        for (proxy, problem) in [
            ("192.0.2.1:3128", "\(rule) `192.0.2.1:3128` (did you mean `http://192.0.2.1:3128`?)"),
            ("http://192.0.2.1", "\(rule) `http://192.0.2.1` (add its port)"),
            (
                "https://192.0.2.1:1",
                "\(rule) `https://192.0.2.1:1`"
                    + " (only http:// is supported; https calls are tunnelled)"
            ),
            (
                "http://me:secret@192.0.2.1:1",
                "`vendors.v.proxy`: proxies with a password are not supported"
            ),
            (
                "http://proxy.example:1",
                "\(rule) `http://proxy.example:1`"
                    + " (write its IP address: httpdnsd does not resolve names in its settings)"
            ),
        ] {
            #expect(
                messages("kind: alibaba, account: 1, proxy: \"\(proxy)\"") == [problem],
                "\(proxy)"
            )
        }
    }

    @Test("a price requires a currency, and a currency a price")
    func prices() {
        let vendor = "kind: alibaba, account: 1, price: "
        #expect(
            messages(vendor + "{per-10000: 0.04}") == [
                "the price of the vendor `v` has no currency "
                    + "(set `price.currency`, for example `currency: CNY`)"
            ]
        )
        #expect(
            messages(vendor + "{currency: USD}") == [
                "the vendor `v` has a currency without a price "
                    + "(set `price.per-10000` in this currency)"
            ]
        )
        #expect(messages(vendor + "{per-10000: 0.04, currency: CNY}").isEmpty)
        #expect(messages(vendor + "{weight: 2}").isEmpty)
    }

    @Test("a budget that does not suffice for one name is an error")
    func smallBudgets() {
        let vendor = "kind: alibaba, account: 1, "
        func never(_ weight: Int, _ option: String, _ limit: Int, _ hint: String) -> String {
            "the vendor `v` would never be called: a name costs \(weight) units, and "
                + "`\(option)` is \(limit) (raise `\(option)`\(hint))"
        }
        #expect(
            messages(vendor + "budget: {units-per-day: 4}") == [never(5, "units-per-day", 4, "")]
        )
        #expect(messages(vendor + "budget: {units-per-day: 5}").isEmpty)
        #expect(messages(vendor + "budget: {units-per-day: 4, on-exceeded: warn}").isEmpty)
        #expect(
            messages(vendor + "price: {weight: 9}, budget: {units-per-month: 8}")
                == [never(9, "units-per-month", 8, ", or correct `price.weight`")]
        )
        #expect(messages(vendor + "price: {weight: 0}, budget: {units-per-day: 1}").isEmpty)
    }

    @Test("a budget requires a limit of calls or units")
    func budgets() {
        let vendor = "kind: alibaba, account: 1, budget: "
        let missing =
            "the budget of the vendor `v` has no limit "
            + "(set `calls-per-day`, `units-per-day` or `units-per-month`)"
        #expect(messages(vendor + "{}") == [missing])
        #expect(messages(vendor + "on") == [missing])
        #expect(messages(vendor + "{units-per-month: 5}") == [])
        #expect(messages(vendor + "off") == [])
        #expect(
            messages(vendor + "{calls-per-day: 0, on-exceeded: stop}") == [
                "`vendors.v.budget.calls-per-day` must be a whole number from 1 to 1000000000,"
                    + " not `0`",
                "`vendors.v.budget.on-exceeded` must be one of `fallback`, `warn`, not `stop`",
            ]
        )
        #expect(
            messages(vendor + "1000") == [
                "`vendors.v.budget` must be a mapping of options (`key: value`), not `1000`"
            ]
        )
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
        #expect(messages(account, hasHTTP3: true) == [])
        #expect(
            messages(account, hasHTTP3: false) == [
                " `vendors.v.http`: the installed libcurl was built without HTTP/3"
                    + " (set `auto`)"
            ]
        )
        #expect(
            messages(account + ", scheme: http", hasHTTP3: true) == [
                " HTTP/3 requires TLS, and v2 http calls do not use it"
            ]
        )
        #expect(
            messages(account + ", proxy: \"http://192.0.2.1:1\"", hasHTTP3: true) == [
                " HTTP/3 does not work through a proxy (set `http: auto`)"
            ]
        )
        #expect(self.messages(account + ", http: 3").isEmpty == LibraryVersion.hasHTTP3)
    }

    @Test("Alibaba's parameters are limited and sent with calls")
    func sdns() throws {
        let vendor = "kind: alibaba, account: 1, sdns: "
        let loaded = try settings(of: text(vendor + "{city: hangzhou, \"no\": 1=}"))
        #expect(loaded.vendors.first?.alibaba.sdns == ["city": "hangzhou", "no": "1="])
        #expect(
            messages(vendor + "{\"a b\": c, d: \"e f\", g: [1]}") == [
                "`vendors.v.sdns`: the parameter a b has characters other than letters, digits,"
                    + " - and _",
                "`vendors.v.sdns`: the parameter d has characters other than letters, digits,"
                    + " - and _",
                "`vendors.v.sdns.g` must be a text, not a list",
            ]
        )
        let long = String(repeating: "x", count: 600)
        #expect(
            messages(vendor + "{a: \(long), b: \(long)}") == [
                "`sdns`: the parameters have more than 1000 octets together"
            ]
        )
    }

    @Test("Tencent's region requires its channel and known servers")
    func regions() {
        let abroad = "kind: tencent, region: international, id: 1"
        #expect(
            messages(abroad + ", channel: aes, key: $short") == [
                "the region international does not support the channel aes (set `channel` to `des`)"
            ]
        )
        #expect(
            messages(abroad + ", token: $number") == [
                "the region international does not support the channel https"
                    + " (set `channel` to `des`)"
            ]
        )
        #expect(
            messages(abroad + ", channel: des, key: $eight, conf: on") == [
                "`conf` needs `servers` in the region international"
                    + " (ask the vendor's support for them)"
            ]
        )
    }

    @Test("an option of another kind is reported as such")
    func misplacedKeys() {
        #expect(
            messages("kind: alibaba, account: 1, token: $number, conf: {}, schedul: on") == [
                "`vendors.v.token` is an option of vendor kind tencent, not alibaba",
                "`vendors.v.conf` is an option of vendor kind tencent, not alibaba",
                "unknown key `schedul` in `vendors.v` (did you mean `schedule`?)",
            ]
        )
        #expect(
            messages("kind: tencent, token: $number, secret: $hex, scheme: http, url: x") == [
                "`vendors.v.secret` is an option of vendor kinds alibaba, json, baidu, volcengine,"
                    + " not tencent",
                "`vendors.v.scheme` is an option of vendor kinds alibaba, baidu, volcengine,"
                    + " not tencent",
                "`vendors.v.url` is an option of vendor kind json, not tencent",
            ]
        )
    }

    @Test("without a kind only options unknown to all kinds are errors")
    func undecided() {
        #expect(messages("token: $number, url: 1") == ["`vendors.v.kind` is missing"])
        #expect(
            messages("kind: alibab, account: 1, aes-key: 1, colour: red") == [
                "`vendors.v.kind` must be one of `tencent`, `alibaba`, `json`, `baidu`,"
                    + " `volcengine`, not `alibab` (did you mean `alibaba`?)",
                "unknown key `colour` in `vendors.v`",
            ]
        )
    }

    @Test(
        "a missing required option of a kind is an error",
        arguments: [
            ("kind: alibaba", ["account"]), ("kind: json", ["url", "servers"]),
            ("kind: baidu", ["account", "secret"]),
            ("kind: volcengine", ["account", "secret", "servers"]),
        ]
    )
    func missing(vendor: String, options: [String]) {
        #expect(messages(vendor) == options.map { "`vendors.v.\($0)` is missing" })
    }

    @Test("inconsistent options of Alibaba are errors or warnings")
    func alibaba() throws {
        #expect(
            messages("kind: alibaba, account: 1, encryption: gcm") == [
                "the vendor `v` needs `aes-key` for encryption gcm"
            ]
        )
        #expect(
            messages("kind: alibaba, account: 1, encryption: cbc, aes-key: $hex, api: v1") == [
                "only API v2 supports encryption"
                    + " (remove `api: v1`, or set `encryption: none`)"
            ]
        )
        let odd = try settings(of: text("kind: alibaba, account: 1, scheme: http, aes-key: $hex"))
        #expect(
            odd.warnings.map(\.message) == [
                "answers over plain HTTP can be forged; they are labelled as unprotected",
                "`aes-key` is not used, because `encryption` is none",
            ]
        )
        let good = try settings(
            of: text("kind: alibaba, account: 1, scheme: http, encryption: gcm, aes-key: $hex")
        )
        #expect(good.warnings == [])
    }

    @Test("secrets must have the form of their vendor kind")
    func secrets() {
        #expect(
            messages("kind: alibaba, account: 1, secret: $words, encryption: gcm, aes-key: $short")
                == [
                    "`vendors.v.secret`: the secret must be hexadecimal digits,"
                        + " as the console shows it",
                    "`vendors.v.aes-key`: the AES key must have 32 hexadecimal digits, not 16",
                ]
        )
        let rule = "`vendors.v.secret`: the secret must be 1 to 128 printable ASCII characters"
        #expect(messages("kind: baidu, account: 1, secret: $words") == [rule])
        #expect(
            messages("kind: volcengine, account: 1, secret: $long, servers: [192.0.2.1]") == [rule]
        )
        let json = "kind: json, url: \"https://dns.example/d\", servers: [192.0.2.1]"
        #expect(
            messages(json + ", account: 1, access-key-id: 1, secret: $long") == [
                "`vendors.v.secret`: the secret is longer than 128 octets"
            ]
        )
    }

    @Test("a JSON API requires a URL; its account must be complete")
    func json() throws {
        let servers = "servers: [192.0.2.1]"
        for url in ["dns.example", "ftp://dns.example/", "https://u@dns.example/", "https://a/#f"] {
            #expect(
                messages("kind: json, url: \"\(url)\", \(servers)") == [
                    "`vendors.v.url` must be a URL such as https://dns.example/resolve, without"
                        + " user or fragment, not `\(url)`"
                ]
            )
        }
        #expect(
            messages("kind: json, url: \"https://dns.example/d\", \(servers), account: 1") == [
                "the vendor `v` needs `access-key-id` to sign calls"
                    + " (set all of `account`, `access-key-id` and `secret`)",
                "the vendor `v` needs `secret` to sign calls"
                    + " (set all of `account`, `access-key-id` and `secret`)",
            ]
        )
        let plain = try settings(of: text("kind: json, url: \"http://dns.example/d\", \(servers)"))
        #expect(
            plain.warnings.map(\.message) == [
                "answers over plain HTTP can be read and forged; they are labelled as unprotected"
            ]
        )
    }

    @Test("accounts and certificate names must be valid in requests")
    func accounts() {
        #expect(
            messages("kind: alibaba, account: \"1/2\", tls-name: \"a b\"") == [
                "`vendors.v.account` must be 1 to 128 letters and digits, not `1/2`",
                "`vendors.v.tls-name` must be a host name or an IP address, not `a b`",
            ]
        )
    }

    @Test("the protocol of calls depends on the kind")
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
            #expect(
                try settings.account.any.vendor().facts.isBillable == isBillable,
                "\(options)"
            )
        }
    }

    @Test("the concurrent calls of all vendors have a limit")
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
        #expect(
            problems(in: vendors([nil, 97])) == [
                """
                f:3:53: the vendors' `concurrent-calls` are 129 together; the maximum is 128 \
                (reduce them, because each call takes memory, which the service limits)
                """
            ]
        )
    }
}
