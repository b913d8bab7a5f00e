// SPDX-License-Identifier: Apache-2.0
import Control
import TestWorld
import Testing

@testable import Configuration

@Suite("Differences between settings")
struct SettingsDifferenceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func settings(_ more: String = "", _ base: String? = nil) throws -> Settings {
        try Settings(parsing: (base ?? Self.base) + more, fileName: "test.yaml", environment: here)
    }

    private var here: SettingsEnvironment { SettingsEnvironment(credentialsDirectory: folder.path) }

    private static let base = """
        upstreams:
          - {name: one, url: "udp://192.0.2.1"}
          - {name: two, url: "udp://192.0.2.2"}
        routes:
          - {domains: [example.com, example.org], upstreams: [two]}

        """

    private func difference(_ old: Settings, _ new: Settings) -> [String] {
        old.changes(to: new).map { "\($0.kind) \($0)" }
    }

    @Test("the same values in another notation are no change")
    func same() throws {
        let plain = try settings()
        let wordy = try settings(
            "# a comment\ncache: {size: 65536KiB, maximum-ttl: 24h}\nworkers: auto\n"
        )
        #expect(difference(plain, wordy) == [])
        let moved = try settings("", "\n\n# first\n" + Self.base)
        #expect(difference(plain, moved) == [])
        #expect(plain.routes[0].place != moved.routes[0].place)
    }

    @Test("the report of a reload contains no parameter values of URLs")
    func parameters() throws {
        func text(_ value: String) throws -> Settings {
            try settings(
                """
                  - {name: v, url: "https://192.0.2.3/q?a&token=\(value)"}
                vendors:
                  j: {kind: json, url: "https://192.0.2.4/q?name={name}&key=\(value)", servers: [192.0.2.4]}

                """,
                "upstreams:\n"
            )
        }
        let (old, new) = (try text("secret1"), try text("secret2"))
        #expect(old.changes(to: new).map(\.kind) == [.secret, .secret])
        #expect(old.changes(to: new).map(\.path) == ["vendors.j.url", "upstreams.v.url"])
        let added = try settings("", "upstreams: [{name: x, url: \"udp://192.0.2.1\"}]\n")
        let shown =
            difference(added, new) + difference(new, added) + [
                try #require(new.shownText(limit: .max))
            ]
        #expect(shown.joined().contains("https://192.0.2.3/q?…&token=…"))
        #expect(!shown.joined().contains("secret"), "\(shown)")
        #expect("\(new.upstreams.map(\.url))".contains("token=…"))
        #expect(new.effectiveText.contains("https://192.0.2.3/q?a&token=secret2"))
    }

    @Test("the comparison of two lists of routes takes linear time")
    func linear() throws {
        func steps(_ count: Int) throws -> Int {
            func text(_ upstream: String, _ order: some Sequence<Int>) -> String {
                order.map { "  - {domains: [n\($0).example], upstreams: [\(upstream)]}\n" }.joined()
            }
            let base = """
                upstreams:
                  - {name: a, url: "udp://192.0.2.1"}
                  - {name: b, url: "udp://192.0.2.2"}

                """
            let old = try settings("", base + "routes:\n" + text("a", 0..<count))
            let new = try settings("", base + "routes:\n" + text("b", (1...count).reversed()))
            var comparison = TreeComparison()
            comparison.compare(old.routes, new.routes, at: "routes")
            #expect(comparison.changes.count == 2 * (count - 1) + 2)
            return comparison.steps
        }
        let (some, many) = (try steps(250), try steps(1_000))
        #expect(many <= 5 * some)
    }

    @Test("the report of a reload names each changed option, list and entry")
    func named() throws {
        let new = try settings(
            """
            cache: {maximum-ttl: 2d, stale: off}
            allow: ["127.0.0.0/8", "192.0.2.0/24"]
            log: {queries: true}

            """,
            """
            upstreams:
              - {name: two, url: "udp://192.0.2.2", timeout: 1s}
              - {name: three, url: "udp://192.0.2.3"}
            routes:
              - {domains: [example.com], upstreams: [three]}
              - {domains: [example.net], upstreams: [two]}

            """
        )
        let found = difference(try settings(), new)
        #expect(found.contains("changed cache.maximum-ttl: 1d -> 2d"))
        #expect(found.contains { $0.hasPrefix("changed cache.stale: {") && $0.hasSuffix("-> off") })
        #expect(found.contains(#"removed allow: removed "::1/128""#))
        #expect(found.contains("added allow: added 192.0.2.0/24"))
        #expect(found.contains("changed log.queries: false -> true"))
        #expect(found.contains { $0.hasPrefix("removed upstreams.one: removed {") })
        #expect(found.contains { $0.hasPrefix("added upstreams.three: added {") })
        #expect(found.contains("changed upstreams.two.timeout: 2s -> 1s"))
        #expect(found.contains("removed routes.example.com.domains: removed example.org"))
        #expect(found.contains { $0.hasPrefix("added routes.example.net: added {") })
        #expect(found.count == 12, "\(found)")
    }

    @Test(
        "a change of any option of a route is reported",
        arguments: [
            ("prefetch: off", "changed routes.example.com.prefetch: true -> false"),
            ("minimum-ttl: 5m", "added routes.example.com.minimum-ttl: added 5m"),
            ("maximum-ttl: 1h", "added routes.example.com.maximum-ttl: added 1h"),
            ("client-subnet: 192.0.2.7", "added routes.example.com.client-subnet: added 192.0.2.7"),
            ("sdns: {tier: gold}", "added routes.example.com.sdns: added {tier: gold}"),
        ]
    )
    func ofRoutes(_ option: String, _ change: String) throws {
        func side(_ option: String) throws -> Settings {
            try settings(
                """
                vendors: {a: {kind: alibaba, account: 1}}
                routes: [{domains: [example.com], vendors: [a]\(option)}]

                """,
                "upstreams: [{name: one, url: \"udp://192.0.2.1\"}]\n"
            )
        }
        #expect(difference(try side(""), try side(", " + option)) == [change])
    }

    @Test("another order of upstreams is a change, but another order of routes is not")
    func order() throws {
        let turned = try settings(
            "",
            """
            upstreams:
              - {name: two, url: "udp://192.0.2.2"}
              - {name: one, url: "udp://192.0.2.1"}
            routes:
              - {domains: [example.com, example.org], upstreams: [two]}

            """
        )
        #expect(difference(try settings(), turned) == ["changed upstreams: one, two -> two, one"])
        let list = "allow: [\"127.0.0.0/8\", \"::1/128\"]\n"
        let other = "allow: [\"::1/128\", \"127.0.0.0/8\"]\n"
        #expect(difference(try settings(list), try settings(other)).count == 1)
        let (a, b) = (
            "  - {domains: [a.example], upstreams: [one]}\n",
            "  - {domains: [b.example], upstreams: [one]}\n"
        )
        #expect(
            difference(try settings("", Self.base + a + b), try settings("", Self.base + b + a))
                == []
        )
    }

    @Test("the report of a reload names a changed secret, but not its value")
    func secrets() throws {
        let text = """
            vendors:
              tencent: {kind: tencent, channel: https, token: {credential: token}}
            routes:
              - {domains: [example.com], vendors: [tencent]}
            upstreams: [{name: one, url: "udp://192.0.2.1"}]

            """
        _ = try folder.write(Array("1234567".utf8), to: "token")
        let old = try settings("", text)
        _ = try folder.write(Array("7654321".utf8), to: "token")
        let new = try settings("", text)
        #expect(old != new)
        let changes = old.changes(to: new)
        #expect(changes.map(\.path) == ["vendors.tencent.token"])
        #expect(changes.map(\.kind) == [.secret])
        #expect(!"\(changes)".contains("1234567") && !"\(changes)".contains("7654321"))
        #expect(!new.vendors[0].hasSameValues(as: old.vendors[0]))
        #expect(new.vendors[0].givesSameAnswers(as: old.vendors[0]))
    }

    @Test("a vendor's cached answers stay valid unless its account or client subnet changes")
    func answers() throws {
        func vendor(_ extra: String) throws -> VendorSettings {
            let text = """
                vendors:
                  json: {kind: json, url: "https://dns.example/resolve", servers: [192.0.2.9]\(extra)}
                routes: [{domains: [example.com], vendors: [json]}]
                upstreams: [{name: one, url: "udp://192.0.2.1"}]

                """
            return try settings("", text).vendors[0]
        }
        let plain = try vendor("")
        for tuning in [", timeout: 1s", ", hedge-after: 100ms", ", budget: {calls-per-day: 5}"] {
            #expect(try vendor(tuning).givesSameAnswers(as: plain), "\(tuning)")
            #expect(try !vendor(tuning).hasSameValues(as: plain), "\(tuning)")
        }
        #expect(try !vendor(", client-subnet: 203.0.113.7").givesSameAnswers(as: plain))
        #expect(try vendor("").hasSameValues(as: plain))
    }

    @Test("a reload keeps the old values of options that need a restart, and lists these options")
    func restart() throws {
        let old = try settings()
        let new = try settings(
            "workers: 3\ncontrol: {mode: \"0600\"}\ncache: {maximum-ttl: 2d}\n"
                + "metrics: {listen: /run/m.sock, group: prometheus}\n"
        )
        let (effective, needsRestart) = new.takingEffect(after: old)
        #expect(needsRestart == ["workers", "control.mode", "metrics.group"])
        #expect(effective.metrics.group == "httpdns" && effective.metrics.listen.count == 1)
        #expect(effective.workers == old.workers)
        #expect(effective.control == old.control)
        #expect(effective.cache.maximumTTL == .seconds(172_800))
        #expect(try settings("log: {level: debug}\n").takingEffect(after: old).needsRestart == [])
    }

    @Test("the list of an account's secrets contains every secret option of the account")
    func allSecrets() throws {
        for kind in VendorKind.allCases {
            let account = VendorSettings.Account(kind).any
            let named = Set(account.secrets.map(\.option))
            let stored = Mirror(reflecting: account).children.count { child in
                type(of: child.value) == SecretSetting?.self
            }
            #expect(named.count >= 1 && named.count == stored, "\(kind)")
        }
    }
}
