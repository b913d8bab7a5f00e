// SPDX-License-Identifier: Apache-2.0
import Control
import HTTPDNS
import Testing

@testable import Configuration

@Suite("All errors in a settings file are reported, with their positions")
struct SettingsProblemTests {
    @Test("errors in values are reported", arguments: Self.values)
    func checkValues(_ bad: BadText) { expectErrors(problems(in: bad.text), bad.errors) }

    static let values: [BadText] = [
        BadText(
            "invalid records",
            isp
                + """
                hosts:
                  files: [hosts]
                  records:
                    localhost: [192.0.2.1]
                    x.LocalHost: [192.0.2.1]
                    a.lan: 192.0.2.1
                    b.lan: [c.lan]
                    d..lan: [192.0.2.1]
                    e.lan: []
                    E.LAN.: [192.0.2.1]
                    e.lan.: [192.0.2.2]
                """,
            "f:3:11: `hosts.files` path 4095 `hosts`",
            "f:5:5: `localhost`",
            "f:6:5: `x.LocalHost`",
            "f:7:12: `hosts.records.a.lan` list `192.0.2.1` 192.0.2.1",
            "f:8:13: `hosts.records.b.lan` `c.lan`",
            "f:9:5: `d..lan` `hosts.records`",
            "f:10:12: `hosts.records.e.lan` 1 64 0",
            "f:12:5: `e.lan` already"
        ),
        BadText(
            "answers and protection with unknown values",
            isp
                + """
                answers:
                  https-records: strip
                  aaaa: off
                  order: random
                  probe:
                    - {domain: example.com, port: 0}
                    - {port: 443}
                    - {domain: example.com, prt: 443}
                    - example.com
                rebinding: {protect: maybe, except: [".example.com"]}
                """,
            "f:3:18: `answers.https-records` `strip`",
            "f:4:9: `answers.aaaa` `off`",
            "f:5:10: `answers.order` `random`",
            "f:7:35: `answers.probe.port` 1 65535 `0`",
            "f:8:7: `answers.probe.domain` missing",
            "f:9:29: unknown `prt` `answers.probe` `port`",
            "f:10:7: `answers.probe` port `example.com`",
            "f:11:22: `rebinding.protect` `maybe`",
            "f:11:38: `.example.com` \"*.example.com\""
        ),
        BadText("unknown key", isp + "lisen: []", "f:2:1: unknown `lisen` `listen`"),
        BadText("no similar key", isp + "cache: {colour: red}", "f:2:9: unknown `colour` `cache`"),
        BadText(
            "a misspelt section is not reported as missing",
            "upstream: []",
            "f:1:1: unknown `upstream` `upstreams`"
        ),
        BadText(
            "a value that is not a list",
            isp + "listen: 127.0.0.1:53",
            "f:2:9: `listen` list `127.0.0.1:53` [\"127.0.0.1:53\"]"
        ),
        BadText("too few", isp + "listen: []", "f:2:9: `listen` 1 32 0"),
        BadText("a host name", isp + "listen: [localhost:53]", "f:2:10: `listen` `localhost:53`"),
        BadText(
            "port out of range",
            isp + "listen: [\"192.0.2.1:99999\"]\nallow: [192.0.2.0/24]",
            "f:2:10: `listen` `192.0.2.1:99999`"
        ),
        BadText(
            "bits beyond the prefix",
            isp + "allow: [192.0.2.1/24]",
            "f:2:9: `allow` `192.0.2.1/24` bits `192.0.2.0/24`"
        ),
        BadText("no address at all", isp + "allow: [all]", "f:2:9: `allow` 192.0.2.0/24 `all`"),
        BadText("workers", isp + "workers: atuo", "f:2:10: `workers` `auto` 256 `atuo` `auto`"),
        BadText("no workers", isp + "workers: 0", "f:2:10: `workers` `auto` 256 `0`"),
        BadText(
            "a size without unit",
            isp + "cache: {size: 64}",
            "f:2:15: `cache.size` 1MiB 32GiB `64` `64MiB`"
        ),
        BadText(
            "a size with another unit",
            isp + "cache: {size: 64MB}",
            "f:2:15: `cache.size` 1MiB 32GiB `64MB` `64MiB`"
        ),
        BadText(
            "a duration without unit",
            isp + "cache:\n  minimum-ttl: 5",
            "f:3:16: `cache.minimum-ttl` 0s 7d `5` `5s`"
        ),
        BadText(
            "a duration with another unit",
            isp + "cache: {negative-ttl: {maximum: 10min}}",
            "f:2:33: `cache.negative-ttl.maximum` 0s 3h `10min` `10m`"
        ),
        BadText(
            "a duration beyond every range",
            isp + "cache: {maximum-ttl: 99999999999999999999d}",
            "f:2:22: `cache.maximum-ttl` 0s 7d `99999999999999999999d`"
        ),
        BadText(
            "negative duration",
            isp + "cache: {maximum-ttl: -1s}",
            "f:2:22: `cache.maximum-ttl` 0s 7d `-1s`"
        ),
        BadText(
            "minimum above maximum",
            isp + "cache: {minimum-ttl: 1h, maximum-ttl: 10m, negative-ttl: {minimum: 6m}}",
            "f:2:22: `cache.minimum-ttl` greater `cache.maximum-ttl`",
            "f:2:68: `cache.negative-ttl.minimum` greater `cache.negative-ttl.maximum`"
        ),
        BadText(
            "level",
            isp + "log: {level: warn, queries: yes}",
            "f:2:14: `log.level` `warn` `warning`",
            "f:2:29: `log.queries` `yes` `true`"
        ),
        BadText(
            "control",
            isp + "control: {socket: run/x, mode: \"0999\", group: \"\"}",
            "f:2:19: `control.socket` path 107 `run/x`",
            "f:2:32: `control.mode` octal \"0660\" `0999`",
            "f:2:47: `control.group` group ``"
        ),
        BadText(
            "no value",
            isp + "control:\nlog: ~",
            "f:2:9: `control` value mapping",
            "f:3:6: `log` value mapping"
        ),
        BadText(
            "shapes",
            isp + "routes: {}\nvendors: []\ncache: [a]",
            "f:2:9: `routes` list mapping",
            "f:3:10: `vendors` mapping list",
            "f:4:8: `cache` mapping list"
        ),
    ]

    @Test("errors in upstreams are reported", arguments: Self.upstreams)
    func checkUpstreams(_ bad: BadText) { expectErrors(problems(in: bad.text), bad.errors) }

    static let upstreams: [BadText] = [
        BadText(
            "missing options",
            "upstreams:\n  - {only: true}\n  - isp",
            "f:2:5: `upstreams.name` missing",
            "f:2:5: `upstreams.url` missing",
            "f:3:5: `upstreams` mapping `isp`"
        ),
        BadText(
            "no name",
            "upstreams: [{name: \"a b\", url: \"udp://192.0.2.1\"}]",
            "f:1:20: `upstreams.name` `a b` 63"
        ),
        BadText(
            "a duplicate name",
            "upstreams:\n- {name: a, url: \"udp://192.0.2.1\"}\n- {name: a, url: \"udp://192.0.2.2\"}",
            "f:3:10: duplicate `a` 2"
        ),
        BadText(
            "itself",
            "upstreams: [{name: a, url: \"udp://127.0.0.1\"}]",
            "f:1:28: `udp://127.0.0.1` itself `127.0.0.1:53`"
        ),
        BadText(
            "itself, listening on all addresses",
            "listen: [\"0.0.0.0:5353\"]\nallow: [\"192.0.2.0/24\"]\n"
                + "upstreams: [{name: a, url: \"udp://127.0.0.2:5353\"}]",
            "f:3:28: `udp://127.0.0.2:5353` itself `0.0.0.0:5353`"
        ),
        BadText(
            "open to all without `allow`",
            isp + "listen: [\"127.0.0.1:53\", \"0.0.0.0:5353\"]",
            "f:2:26: `0.0.0.0:5353` `allow` \"127.0.0.0/8\""
        ),
        BadText(
            "one address twice",
            isp + "listen: [\"127.0.0.1:53\", 127.0.0.1]",
            "f:2:26: duplicate `127.0.0.1:53`"
        ),
        BadText(
            "addresses on which no socket can listen",
            isp + "allow: [127.0.0.0/8]\nlisten:\n  - \"[fe80::1]:5300\"\n"
                + "  - \"[::ffff:127.0.0.1]:5300\"\n  - 224.0.0.251\n  - \"[ff02::1]\"\n"
                + "  - 255.255.255.255\nmetrics: {listen: \"[fe80::1]\"}",
            "f:4:5: `[fe80::1]:5300` link-local `[fe80::1%eth0]:5300`",
            "f:5:5: `[::ffff:127.0.0.1]:5300` IPv4 `127.0.0.1:5300`",
            "f:6:5: `224.0.0.251` multicast",
            "f:7:5: `ff02::1` multicast",
            "f:8:5: `255.255.255.255` broadcast",
            "f:9:19: `[fe80::1]:9353` link-local"
        ),
        BadText(
            "a server at a link-local address without an interface",
            "upstreams: [{name: isp, url: \"udp://[fe80::1]\"}]",
            "f:1:30: `[fe80::1]:53` link-local `[fe80::1%eth0]:53`"
        ),
        BadText(
            "addresses that overlap",
            isp + "listen: [\"0.0.0.0:5301\", \"127.0.0.1:5301\", \"127.0.0.1:5302\", "
                + "\"[::]:5302\"]\nallow: [127.0.0.0/8, \"::1\"]\n"
                + "metrics: {listen: [\"0.0.0.0:5302\", \"[::1]:9353\", \"[::]:9353\"]}",
            "f:2:26: `127.0.0.1:5301` `0.0.0.0:5301` overlap",
            "f:4:20: `0.0.0.0:5302` overlaps `127.0.0.1:5302` `listen` 9353",
            "f:4:50: `[::]:9353` `[::1]:9353` overlap"
        ),
        BadText(
            "neither vendors nor upstreams",
            "# empty\n",
            "f:1:1: no route no upstream \"udp://192.0.2.1\""
        ),
        BadText(
            "only an unused upstream",
            "upstreams: [{name: a, url: \"udp://192.0.2.1\", only: true}]",
            "f:1:12: no route `only` without \"udp://192.0.2.1\""
        ),
    ]

    @Test("errors in routes are reported", arguments: Self.routes)
    func checkRoutes(_ bad: BadText) { expectErrors(problems(in: bad.text), bad.errors) }

    static let routes: [BadText] = [
        BadText(
            "unknown names",
            isp + "routes: [{domains: [example.com], vendors: [tencent], upstreams: [ips]}]",
            "f:2:45: vendor `tencent`",
            "f:2:67: `ips` `isp`"
        ),
        BadText(
            "a name twice",
            isp + "routes: [{domains: [example.com], upstreams: [isp, isp]}]",
            "f:2:52: duplicate `isp`"
        ),
        BadText(
            "a domain twice",
            isp + "routes:\n  - {domains: [example.com, \"=example.com\"], upstreams: [isp]}\n"
                + "  - {domains: [EXAMPLE.com.], upstreams: [isp]}",
            "f:4:16: `example.com` already 3"
        ),
        BadText(
            "exceptions outside of the route's domains",
            isp + "routes:\n  - domains: [example.com, \"*.example.net\", \"=example.org\"]\n"
                + "    upstreams: [isp]\n    except:\n      - example.com\n      - a.example.com\n"
                + "      - \"=example.com\"\n      - \"*.example.com\"\n      - example.net\n"
                + "      - a.example.net\n      - a.example.org\n      - com\n",
            "f:6:9: `example.com` both `domains` `except`",
            "f:10:9: `example.net` below",
            "f:12:9: `a.example.org` below",
            "f:13:9: `com` below"
        ),
        BadText(
            "no vendor and no upstream",
            isp + "routes:\n  - domains: [example.com]\n  - domains: [example.net]\n"
                + "    fallback: none\n    upstreams: [isp]\n  - upstreams: [isp]\n",
            "f:3:5: neither `vendors` `upstreams`",
            "f:5:15: `fallback: none` requires `vendors`",
            "f:7:5: `routes.domains` missing"
        ),
        BadText(
            "invalid domains",
            isp + "routes:\n- upstreams: [isp]\n  domains: [.example, \"*\", a..b, \"*a.example\","
                + " bücher.example]",
            "f:4:13: `.example` \"*.example\"",
            "f:4:23: `*` `.`",
            "f:4:28: `routes.domains` `a..b` empty 3",
            "f:4:34: `routes.domains` `*a.example` `*` \"*.\" `example.com` below",
            "f:4:48: `routes.domains` `bücher.example` 2"
        ),
        BadText(
            "patterns of other programs",
            isp
                + "routes:\n- upstreams: [isp]\n  domains:\n    - \"*.\"\n    - \"domain:x.com\"\n"
                + "    - \"full:x.com\"\n    - \"keyword:x\"\n",
            "f:5:7: `*.` `.`",
            "f:6:7: `routes.domains` `domain:x.com` `x.com` below",
            "f:7:7: `routes.domains` `full:x.com` `=x.com`",
            "f:8:7: `routes.domains` `keyword:x` `example.com`"
        ),
        BadText(
            "URLs, ports, networks, paths and lists",
            isp
                + "routes:\n- upstreams: [isp]\n  domains:\n    - http://x.com/\n"
                + "    - \"x.com:443\"\n"
                + "    - 192.168.0.0/16\n    - 2001:db8::/32\n    - /x.com/\n    - \"a.com,b.com\"\n"
                + "    - user@x.com\n    - 0/25.2.0.192.in-addr.arpa\n    - _x.example.com\n",
            "f:5:7: `routes.domains` `http://x.com/` URL `x.com`",
            "f:6:7: `routes.domains` `x.com:443` port `x.com`",
            "f:7:7: `routes.domains` `192.168.0.0/16` `168.192.in-addr.arpa`",
            "f:8:7: `routes.domains` `2001:db8::/32` `8.b.d.0.1.0.0.2.ip6.arpa`",
            "f:9:7: `routes.domains` `/x.com/` path `x.com`",
            "f:10:7: `routes.domains` `a.com,b.com` list",
            "f:11:7: `routes.domains` `user@x.com` `@`"
        ),
        BadText(
            "an unknown key hides only errors of the similar key",
            isp + "cahce: {}\nfoo: 1\nvendors: {t: {kind: json, url: \"https://192.0.2.1/q\"}}\n"
                + "routes: [{domains: [a.example], vendors: [tt], upstreams: [ips]}]\n",
            "f:2:1: unknown `cahce` `cache`",
            "f:3:1: unknown `foo`",
            "f:4:14: `vendors.t.servers` missing",
            "f:5:43: `tt` `t`",
            "f:5:60: `ips` `isp`"
        ),
        BadText(
            "a misspelled section is not reported as empty",
            isp
                + "vendorss: {}\n"
                + "routes: [{domains: [a.example], vendors: [t], upstreams: [ips]}]\n",
            "f:2:1: unknown `vendorss` `vendors`",
            "f:3:59: `ips` `isp`"
        ),
        BadText(
            "another name of a vendor",
            isp + "vendors:\n  a: {kind: aliyun}\n  b: {kind: DNSPod}\n"
                + "routes: [{domains: [a.example], vendors: [a, b]}]\n",
            "f:3:13: `vendors.a.kind` `aliyun` `alibaba`",
            "f:4:13: `vendors.b.kind` `DNSPod` `tencent`"
        ),
        BadText(
            "TTL limits of a route",
            isp + "cache: {minimum-ttl: 1m, maximum-ttl: 1h}\nroutes:\n"
                + "  - {domains: [a.example], upstreams: [isp], minimum-ttl: 3m, maximum-ttl: 2m}\n"
                + "  - {domains: [b.example], upstreams: [isp], minimum-ttl: 2h}\n"
                + "  - {domains: [c.example], upstreams: [isp], maximum-ttl: 30s}\n"
                + "  - {domains: [d.example], upstreams: [isp], minimum-ttl: 2h, maximum-ttl: 3h}\n",
            "f:4:59: `minimum-ttl` greater `maximum-ttl`",
            "f:5:59: `minimum-ttl` greater `cache.maximum-ttl` `maximum-ttl`",
            "f:6:59: `cache.minimum-ttl` greater `maximum-ttl` `minimum-ttl`"
        ),
        BadText(
            "parameters that no vendor of the route takes",
            isp + "vendors: {j: {kind: json, url: \"https://192.0.2.1/q\", servers: [192.0.2.1]},"
                + " a: {kind: alibaba, account: 1}}\nroutes:\n"
                + "  - {domains: [a.example], upstreams: [isp], client-subnet: 192.0.2.7}\n"
                + "  - {domains: [b.example], upstreams: [isp], sdns: {tier: gold}}\n"
                + "  - {domains: [c.example], vendors: [j], sdns: {tier: gold}}\n"
                + "  - {domains: [d.example], vendors: [j, a], sdns: {tier: gold}}\n"
                + "  - {domains: [e.example], vendors: [a, b], sdns: {a b: gold}}\n",
            "f:4:61: `client-subnet` requires `vendors`",
            "f:5:52: alibaba `sdns`",
            "f:6:48: alibaba `sdns`",
            "f:8:41: `b` `a`",
            "f:8:52: `routes.sdns` a b"
        ),
        BadText(
            "unquoted asterisk",
            isp + "routes:\n  - domains: [*.example.com]",
            "f:3:16: value `*` quoted \"*.example.com\""
        ),
    ]

    @Test("unusual but valid settings cause a warning")
    func warnings() throws {
        let text = """
            listen: ["192.0.2.1:53", "127.0.0.1:53"]
            control: {mode: "0666"}
            routes: [{domains: [example.com], upstreams: [office]}]
            upstreams:
              - {name: office, url: "udp://192.0.2.53", only: true}
              - {name: spare, url: "udp://192.0.2.54", only: true}
            """
        expectErrors(
            try settings(of: text).warnings.map(\.description),
            [
                "f:1:10: `192.0.2.1:53` `allow`",
                "f:2:17: socket",
                "f:5:3: names without route",
                "f:6:5: `spare` unused `only`",
            ]
        )
        let open = try settings(of: isp + "listen: [\"0.0.0.0:53\"]\nallow: [0.0.0.0/0]")
        expectErrors(open.warnings.map(\.description), ["f:3:9: `0.0.0.0/0` open resolver"])
        let lan = try settings(of: isp + "allow: [192.0.2.0/24, \"::1\"]")
        expectErrors(lan.warnings.map(\.description), ["f:2:8: 127.0.0.1 REFUSED"])
        let all = try settings(of: isp + "listen: [\"[::]:53\"]\nallow: [\"2001:db8::/32\"]")
        expectErrors(all.warnings.map(\.description), ["f:3:8: ::1 REFUSED"])
    }

    @Test("the number of printed errors is limited, and further errors are counted")
    func flood() {
        let keys = (0..<1000).map { "k\($0): 1" }.joined(separator: "\n")
        let found = problems(in: keys)
        #expect(found.count == SettingsReading.maximumProblems)
        expectErrors(found.suffix(1), ["f:100:1: unknown `k99` 901"])
    }

    @Test("an error quotes only the beginning of a long value")
    func longValue() {
        let value = String(repeating: "x", count: 10_000)
        #expect(problems(in: isp + "workers: \(value)").allSatisfy { $0.utf8.count < 300 })
    }
}
