// SPDX-License-Identifier: Apache-2.0
import HTTPDNS
import Testing

@testable import Configuration

@Suite("Errors in a settings file are all reported, with their places")
struct SettingsProblemTests {
    @Test("values of the wrong type", arguments: Self.values)
    func checkValues(_ bad: BadText) {
        #expect(problems(in: bad.text) == bad.errors)
    }

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
            "f:3:11: `hosts.files` must be an absolute path of up to 4095 octets, not `hosts`",
            "f:5:5: `localhost` always means this machine and cannot be set (RFC 6761 §6.3)",
            "f:6:5: `x.LocalHost` always means this machine and cannot be set (RFC 6761 §6.3)",
            "f:7:12: `hosts.records.a.lan` must be a list of IP addresses, not `192.0.2.1`"
                + " (write [192.0.2.1])",
            "f:8:13: `hosts.records.b.lan` must be an IP address, not `c.lan`",
            "f:9:5: `d..lan` in `hosts.records` is not a host name",
            "f:10:12: `hosts.records.e.lan` takes 1 to 64 IP addresses, not 0",
            "f:12:5: `e.lan` already has a record"
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
            "f:3:18: `answers.https-records` must be one of `align`, `forward`, `block`, not `strip`",
            "f:4:9: `answers.aaaa` must be one of `keep`, `suppress`, not `off`",
            "f:5:10: `answers.order` must be one of `as-received`, `rotate`, `fastest`, not `random`",
            "f:7:35: `answers.probe.port` must be a whole number from 1 to 65535, not `0`",
            "f:8:7: `answers.probe.domain` is missing",
            "f:9:29: unknown key `prt` in `answers.probe` (did you mean `port`?)",
            "f:10:7: `answers.probe` must be {domain: DOMAIN, port: PORT}, not `example.com`",
            "f:11:22: `rebinding.protect` must be `true` or `false` (or `on`, `off`), not `maybe`",
            "f:11:38: `rebinding.except` must be a domain (`example.com`, \"=exact.example.com\" or"
                + " \"*.below.example.com\"), not `.example.com` (did you mean"
                + " \"*.example.com\"?)"
        ),
        BadText(
            "unknown key",
            isp + "lisen: []",
            "f:2:1: unknown key `lisen` (did you mean `listen`?)"
        ),
        BadText(
            "no similar key",
            isp + "cache: {colour: red}",
            "f:2:9: unknown key `colour` in `cache`"
        ),
        BadText(
            "a misspelt section is not reported as missing",
            "upstream: []",
            "f:1:1: unknown key `upstream` (did you mean `upstreams`?)"
        ),
        BadText(
            "a value that is not a list",
            isp + "listen: 127.0.0.1:53",
            "f:2:9: `listen` must be a list of addresses, not `127.0.0.1:53`"
                + " (write [\"127.0.0.1:53\"])"
        ),
        BadText("too few", isp + "listen: []", "f:2:9: `listen` takes 1 to 32 addresses, not 0"),
        BadText(
            "a host name",
            isp + "listen: [localhost:53]",
            "f:2:10: `listen` must be IP:PORT or [IPv6]:PORT (port 53 if left out), not"
                + " `localhost:53` (write its IP address: httpdnsd does not resolve names in its"
                + " settings)"
        ),
        BadText(
            "port out of range",
            isp + "listen: [\"192.0.2.1:99999\"]\nallow: [192.0.2.0/24]",
            "f:2:10: `listen` must be IP:PORT or [IPv6]:PORT (port 53 if left out), not"
                + " `192.0.2.1:99999`"
        ),
        BadText(
            "bits beyond the prefix",
            isp + "allow: [192.0.2.1/24]",
            "f:2:9: `allow`: `192.0.2.1/24` has host bits set"
                + " (did you mean `192.0.2.0/24`?)"
        ),
        BadText(
            "no address at all",
            isp + "allow: [all]",
            "f:2:9: `allow` must be an IP address or a network such as 192.0.2.0/24, not `all`"
        ),
        BadText(
            "workers",
            isp + "workers: atuo",
            "f:2:10: `workers` must be `auto` or a whole number from 1 to 256, not `atuo`"
                + " (did you mean `auto`?)"
        ),
        BadText(
            "no workers",
            isp + "workers: 0",
            "f:2:10: `workers` must be `auto` or a whole number from 1 to 256, not `0`"
        ),
        BadText(
            "a size without unit",
            isp + "cache: {size: 64}",
            "f:2:15: `cache.size` must be a size from 1MiB to 64GiB, not `64`"
                + " (did you mean `64MiB`?)"
        ),
        BadText(
            "a size with another unit",
            isp + "cache: {size: 64MB}",
            "f:2:15: `cache.size` must be a size from 1MiB to 64GiB, not `64MB`"
                + " (did you mean `64MiB`?)"
        ),
        BadText(
            "a duration without unit",
            isp + "cache:\n  minimum-ttl: 5",
            "f:3:16: `cache.minimum-ttl` must be a duration from 0s to 7d, not `5`"
                + " (did you mean `5s`?)"
        ),
        BadText(
            "a duration with another unit",
            isp + "cache: {negative-ttl: {maximum: 10min}}",
            "f:2:33: `cache.negative-ttl.maximum` must be a duration from 0s to 3h, not `10min`"
                + " (did you mean `10m`?)"
        ),
        BadText(
            "a duration beyond every range",
            isp + "cache: {maximum-ttl: 99999999999999999999d}",
            "f:2:22: `cache.maximum-ttl` must be a duration from 0s to 7d, not"
                + " `99999999999999999999d`"
        ),
        BadText(
            "negative duration",
            isp + "cache: {maximum-ttl: -1s}",
            "f:2:22: `cache.maximum-ttl` must be a duration from 0s to 7d, not `-1s`"
        ),
        BadText(
            "minimum above maximum",
            isp + "cache: {minimum-ttl: 1h, maximum-ttl: 10m, negative-ttl: {minimum: 6m}}",
            "f:2:22: `cache.minimum-ttl` is greater than `cache.maximum-ttl`",
            "f:2:68: `cache.negative-ttl.minimum` is greater than `cache.negative-ttl.maximum`"
        ),
        BadText(
            "level",
            isp + "log: {level: warn, queries: yes}",
            "f:2:14: `log.level` must be one of `trace`, `debug`, `info`, `notice`, `warning`,"
                + " `error`, `critical`, not `warn` (did you mean `warning`?)",
            "f:2:29: `log.queries` must be `true` or `false` (or `on`, `off`), not `yes`"
                + " (did you mean `true`?)"
        ),
        BadText(
            "control",
            isp + "control: {socket: run/x, mode: \"0999\", group: \"\"}",
            "f:2:19: `control.socket` must be an absolute path of up to 107 octets, not `run/x`",
            "f:2:32: `control.mode` must be permissions in octal such as \"0660\", not `0999`",
            "f:2:47: `control.group` must be the name of a group, not ``"
        ),
        BadText(
            "no value",
            isp + "control:\nlog: ~",
            "f:2:9: `control` has no value; it must be a mapping of options (`key: value`)"
                + " (to use the default, leave the key out)",
            "f:3:6: `log` has no value; it must be a mapping of options (`key: value`)"
                + " (to use the default, leave the key out)"
        ),
        BadText(
            "shapes",
            isp + "routes: {}\nvendors: []\ncache: [a]",
            "f:2:9: `routes` must be a list (`- key: value`), not a mapping",
            "f:3:10: `vendors` must be a mapping of names (`tencent: {…}`), not a list",
            "f:4:8: `cache` must be a mapping of options (`key: value`), not a list"
        ),
    ]

    @Test("upstreams", arguments: Self.upstreams)
    func checkUpstreams(_ bad: BadText) {
        #expect(problems(in: bad.text) == bad.errors)
    }

    static let upstreams: [BadText] = [
        BadText(
            "URL without scheme",
            "upstreams: [{name: a, url: 192.0.2.1}]",
            "f:1:28: `upstreams.url` must be a URL: https://HOST/PATH, tls://HOST,"
                + " udp://IP or tcp://IP, not `192.0.2.1`"
                + " (did you mean `udp://192.0.2.1`?)"
        ),
        BadText(
            "host name",
            "upstreams: [{name: a, url: \"udp://dns.example\"}]",
            "f:1:28: `upstreams.url` must be a URL: https://HOST/PATH, tls://HOST,"
                + " udp://IP or tcp://IP, not"
                + " `udp://dns.example` (write its IP address: httpdnsd does not resolve names in"
                + " its settings)"
        ),
        BadText(
            "unknown scheme",
            "upstreams: [{name: a, url: \"upd://192.0.2.1\"}]",
            "f:1:28: `upstreams.url` must be a URL: https://HOST/PATH, tls://HOST,"
                + " udp://IP or tcp://IP, not"
                + " `upd://192.0.2.1` (did you mean `udp://`?)"
        ),
        BadText(
            "no destination address",
            "upstreams: [{name: a, url: \"udp://0.0.0.0\"}]",
            "f:1:28: `upstreams.url` must be a URL: https://HOST/PATH, tls://HOST,"
                + " udp://IP or tcp://IP, not `udp://0.0.0.0`"
        ),
        BadText(
            "missing options",
            "upstreams:\n  - {only: true}\n  - isp",
            "f:2:5: `upstreams.name` is missing",
            "f:2:5: `upstreams.url` is missing",
            "f:3:5: `upstreams` must be a mapping of options (`key: value`), not `isp`"
        ),
        BadText(
            "no name",
            "upstreams: [{name: \"a b\", url: \"udp://192.0.2.1\"}]",
            "f:1:20: `upstreams.name`: `a b` is not a name (names have up to 63 letters, digits, `-`,"
                + " `_` and `.`)"
        ),
        BadText(
            "a duplicate name",
            "upstreams:\n- {name: a, url: \"udp://192.0.2.1\"}\n- {name: a, url: \"udp://192.0.2.2\"}",
            "f:3:10: duplicate upstream name `a` (first on line 2)"
        ),
        BadText(
            "itself",
            "upstreams: [{name: a, url: \"udp://127.0.0.1\"}]",
            "f:1:28: `udp://127.0.0.1` is httpdnsd itself, which listens on `127.0.0.1:53`"
                + " (queries would loop: use another resolver)"
        ),
        BadText(
            "itself, listening on all addresses",
            "listen: [\"0.0.0.0:5353\"]\nallow: [\"192.0.2.0/24\"]\n"
                + "upstreams: [{name: a, url: \"udp://127.0.0.2:5353\"}]",
            "f:3:28: `udp://127.0.0.2:5353` is httpdnsd itself, which listens on `0.0.0.0:5353`"
                + " (queries would loop: use another resolver)"
        ),
        BadText(
            "open to all without `allow`",
            isp + "listen: [\"127.0.0.1:53\", \"0.0.0.0:53\"]",
            "f:2:26: `0.0.0.0:53` listens on all addresses of the machine, but `allow` is not set"
                + " (list your clients, such as allow: [\"127.0.0.0/8\", \"192.0.2.0/24\"])"
        ),
        BadText(
            "one address twice",
            isp + "listen: [\"127.0.0.1:53\", 127.0.0.1]",
            "f:2:26: duplicate address `127.0.0.1:53`"
        ),
        BadText(
            "neither vendors nor upstreams",
            "# empty\n",
            "f:1:1: no name can be resolved: there are no routes, and no upstreams without `only`"
                + " (add one, such as upstreams: [{name: isp, url: \"udp://192.0.2.1\"}])"
        ),
        BadText(
            "only an unused upstream",
            "upstreams: [{name: a, url: \"udp://192.0.2.1\", only: true}]",
            "f:1:12: no name can be resolved: there are no routes, and no upstreams without `only`"
                + " (add one, such as upstreams: [{name: isp, url: \"udp://192.0.2.1\"}])"
        ),
    ]

    @Test("routes", arguments: Self.routes)
    func checkRoutes(_ bad: BadText) {
        #expect(problems(in: bad.text) == bad.errors)
    }

    static let routes: [BadText] = [
        BadText(
            "unknown names",
            isp + "routes: [{domains: [example.com], vendors: [tencent], upstreams: [ips]}]",
            "f:2:45: there is no vendor `tencent`",
            "f:2:67: there is no upstream `ips` (did you mean `isp`?)"
        ),
        BadText(
            "a name twice",
            isp + "routes: [{domains: [example.com], upstreams: [isp, isp]}]",
            "f:2:52: duplicate upstream `isp`"
        ),
        BadText(
            "a domain twice",
            isp + "routes:\n  - {domains: [example.com, \"=example.com\"], upstreams: [isp]}\n"
                + "  - {domains: [EXAMPLE.com.], upstreams: [isp]}",
            "f:4:16: `example.com` already has a route (on line 3)"
        ),
        BadText(
            "exceptions outside of the route's domains",
            isp + "routes:\n  - domains: [example.com, \"*.example.net\", \"=example.org\"]\n"
                + "    upstreams: [isp]\n    except:\n      - example.com\n      - a.example.com\n"
                + "      - \"=example.com\"\n      - \"*.example.com\"\n      - example.net\n"
                + "      - a.example.net\n      - a.example.org\n      - com\n",
            "f:6:9: `example.com` is in both `domains` and `except`",
            "f:10:9: `example.net` is not below a domain of this route",
            "f:12:9: `a.example.org` is not below a domain of this route",
            "f:13:9: `com` is not below a domain of this route"
        ),
        BadText(
            "no vendor and no upstream",
            isp + "routes:\n  - domains: [example.com]\n  - domains: [example.net]\n"
                + "    fallback: none\n    upstreams: [isp]\n  - upstreams: [isp]\n",
            "f:3:5: the route has neither `vendors` nor `upstreams`",
            "f:5:15: `fallback: none` requires `vendors`, and the route has none",
            "f:7:5: `routes.domains` is missing"
        ),
        BadText(
            "invalid domains",
            isp + "routes:\n- upstreams: [isp]\n  domains: [.example, \"*\", a..b, \"*a.example\","
                + " bücher.example]",
            "f:4:13: `routes.domains` must be a domain (`example.com`, \"=exact.example.com\" or"
                + " \"*.below.example.com\"), not `.example` (did you mean \"*.example\"?)",
            "f:4:23: `routes.domains` must be a domain (`example.com`, \"=exact.example.com\" or"
                + " \"*.below.example.com\"), not `*` (use `.` for every name)",
            "f:4:28: `routes.domains`: `a..b` is not a domain: empty label at character 3",
            "f:4:34: `routes.domains`: `*a.example` has a `*` in the wrong place"
                + " (only a leading \"*.\" is allowed; `example.com` includes all names below it)",
            "f:4:48: `routes.domains`: `bücher.example` is not a domain: character 2 must be"
                + " written as \\DDD (international names: xn--)"
        ),
        BadText(
            "patterns of other programs",
            isp
                + "routes:\n- upstreams: [isp]\n  domains:\n    - \"*.\"\n    - \"domain:x.com\"\n"
                + "    - \"full:x.com\"\n    - \"keyword:x\"\n",
            "f:5:7: `routes.domains` must be a domain (`example.com`, \"=exact.example.com\" or"
                + " \"*.below.example.com\"), not `*.` (use `.` for every name)",
            "f:6:7: `routes.domains`: `domain:x.com` is not a domain"
                + " (write `x.com`, which includes all names below it)",
            "f:7:7: `routes.domains`: `full:x.com` is not a domain"
                + " (write `=x.com` for this name only)",
            "f:8:7: `routes.domains`: `keyword:x` is not a domain"
                + " (patterns are domains, such as `example.com`)"
        ),
        BadText(
            "URLs, ports, networks, paths and lists",
            isp
                + "routes:\n- upstreams: [isp]\n  domains:\n    - http://x.com/\n"
                + "    - \"x.com:443\"\n"
                + "    - 192.168.0.0/16\n    - 2001:db8::/32\n    - /x.com/\n    - \"a.com,b.com\"\n"
                + "    - user@x.com\n    - 0/25.2.0.192.in-addr.arpa\n    - _x.example.com\n",
            "f:5:7: `routes.domains`: `http://x.com/` is not a domain"
                + " (write only the host of the URL: `x.com`)",
            "f:6:7: `routes.domains`: `x.com:443` is not a domain (remove the port: `x.com`)",
            "f:7:7: `routes.domains`: `192.168.0.0/16` is not a domain"
                + " (for reverse names, write `168.192.in-addr.arpa`)",
            "f:8:7: `routes.domains`: `2001:db8::/32` is not a domain"
                + " (for reverse names, write `8.b.d.0.1.0.0.2.ip6.arpa`)",
            "f:9:7: `routes.domains`: `/x.com/` is not a domain (remove the path: `x.com`)",
            "f:10:7: `routes.domains`: `a.com,b.com` is not a domain"
                + " (write a list of domains: [a.example, b.example])",
            "f:11:7: `routes.domains`: `user@x.com` is not a domain"
                + " (host names do not contain `@`; if it is intended, write \\DDD)"
        ),
        BadText(
            "an unknown key hides only errors of the similar key",
            isp + "cahce: {}\nfoo: 1\nvendors: {t: {kind: json, url: \"https://192.0.2.1/q\"}}\n"
                + "routes: [{domains: [a.example], vendors: [tt], upstreams: [ips]}]\n",
            "f:2:1: unknown key `cahce` (did you mean `cache`?)",
            "f:3:1: unknown key `foo`",
            "f:4:14: `vendors.t.servers` is missing",
            "f:5:43: there is no vendor `tt` (did you mean `t`?)",
            "f:5:60: there is no upstream `ips` (did you mean `isp`?)"
        ),
        BadText(
            "a misspelled section is not reported as empty",
            isp
                + "vendorss: {}\n"
                + "routes: [{domains: [a.example], vendors: [t], upstreams: [ips]}]\n",
            "f:2:1: unknown key `vendorss` (did you mean `vendors`?)",
            "f:3:59: there is no upstream `ips` (did you mean `isp`?)"
        ),
        BadText(
            "another name of a vendor",
            isp + "vendors:\n  a: {kind: aliyun}\n  b: {kind: DNSPod}\n"
                + "routes: [{domains: [a.example], vendors: [a, b]}]\n",
            "f:3:13: `vendors.a.kind` must be one of `tencent`, `alibaba`, `json`, `baidu`,"
                + " `volcengine`, not `aliyun` (did you mean `alibaba`?)",
            "f:4:13: `vendors.b.kind` must be one of `tencent`, `alibaba`, `json`, `baidu`,"
                + " `volcengine`, not `DNSPod` (did you mean `tencent`?)"
        ),
        BadText(
            "TTL limits of a route",
            isp + "cache: {minimum-ttl: 1m, maximum-ttl: 1h}\nroutes:\n"
                + "  - {domains: [a.example], upstreams: [isp], minimum-ttl: 3m, maximum-ttl: 2m}\n"
                + "  - {domains: [b.example], upstreams: [isp], minimum-ttl: 2h}\n"
                + "  - {domains: [c.example], upstreams: [isp], maximum-ttl: 30s}\n"
                + "  - {domains: [d.example], upstreams: [isp], minimum-ttl: 2h, maximum-ttl: 3h}\n",
            "f:4:59: `minimum-ttl` is greater than `maximum-ttl`",
            "f:5:59: `minimum-ttl` is greater than `cache.maximum-ttl`"
                + " (set `maximum-ttl` of this route, too)",
            "f:6:59: `cache.minimum-ttl` is greater than `maximum-ttl`"
                + " (set `minimum-ttl` of this route, too)"
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
            "f:4:61: `client-subnet` requires `vendors`, and the route has none",
            "f:5:52: only vendors of kind alibaba take `sdns`, and the route has none"
                + " (remove `sdns`, or add such a vendor to `vendors`)",
            "f:6:48: only vendors of kind alibaba take `sdns`, and the route has none"
                + " (remove `sdns`, or add such a vendor to `vendors`)",
            "f:8:41: there is no vendor `b` (did you mean `a`?)",
            "f:8:52: `routes.sdns`: \(AlibabaSetupError.parameter("a b"))"
        ),
        BadText(
            "unquoted asterisk",
            isp + "routes:\n  - domains: [*.example.com]",
            "f:3:16: while scanning an alias: did not find expected alphabetic or numeric character"
                + " (a value that starts with `*` must be quoted: \"*.example.com\")"
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
        #expect(
            try settings(of: text).warnings.map(\.description) == [
                "f:1:10: `192.0.2.1:53` accepts queries only from this machine, as `allow` is not"
                    + " set (set `allow` to your clients)",
                "f:2:17: every user of this machine may connect to the control socket",
                "f:5:3: names without a route cannot be resolved: no upstream serves them",
                "f:6:5: the upstream `spare` is unused: it has `only`, and no route names it",
            ]
        )
        let open = try settings(of: isp + "listen: [\"0.0.0.0:53\"]\nallow: [0.0.0.0/0]")
        #expect(
            open.warnings.map(\.description) == [
                "f:3:9: `0.0.0.0/0` makes this an open resolver, which attackers use to flood others"
            ]
        )
    }

    @Test("printed errors have a limit, and the rest is counted")
    func flood() {
        let keys = (0..<1000).map { "k\($0): 1" }.joined(separator: "\n")
        let found = problems(in: keys)
        #expect(found.count == SettingsReading.maximumProblems)
        #expect(found.last == "f:100:1: unknown key `k99` (and 901 more errors)")
    }

    @Test("a long value is quoted in part")
    func longValue() {
        let value = String(repeating: "x", count: 10_000)
        #expect(problems(in: isp + "workers: \(value)").allSatisfy { $0.utf8.count < 300 })
    }
}
