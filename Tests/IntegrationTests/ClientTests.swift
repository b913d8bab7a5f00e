// SPDX-License-Identifier: Apache-2.0
import Testing

/// Machine with only the daemon in its `/etc/resolv.conf`.
private final class Machine: Sendable {
    let namespace: Namespace
    let emulator: TestEmulator
    let daemon: TestDaemon
    private let upstream: TestUpstream
    private let scratch: Scratch

    init(_ options: String = "edns0 trust-ad single-request", search: String? = nil) throws {
        scratch = try Scratch()
        namespace = try Namespace(addresses: ["192.0.2.10/32", "2001:db8::10/128"])
        try namespace.setResolver(Self.resolver(options, search: search))
        emulator = try TestEmulator(
            zone: """
                www.example.com 300 A 192.0.2.1
                www.example.com 300 A 192.0.2.2
                www.example.com 300 AAAA 2001:db8::1
                four.example.com 300 A 192.0.2.4
                six.example.com 300 AAAA 2001:db8::6
                host.corp.example.com 300 A 192.0.2.5
                web.example.com 300 A 192.0.2.10
                web.example.com 300 AAAA 2001:db8::10

                """,
            in: namespace
        )
        let start = "$TTL 300\n@ SOA ns.example.net. root.example.net. 1 3600 600 86400 60\n"
        let zones = [
            ".": start + "@ NS ns.example.net.\n",
            "2.0.192.in-addr.arpa": start + "@ NS ns.example.net.\n1 PTR www.example.com.\n",
        ]
        upstream = try TestUpstream(zones: TestUpstream.zones.merging(zones) { $1 }, in: namespace)
        // The timeouts are long, because a retry on a slow machine would change the count of calls.
        let vendor = try VendorText(
            .aes,
            servers: [emulator.address],
            in: scratch,
            extra: "hedge-after: 5s\ntimeout: 5s"
        )
        daemon = try TestDaemon(
            """
            \(vendor.text)
            routes:
              - {domains: [example.com], vendors: [tencent], fallback-after: off}
              - {domains: [2.0.192.in-addr.arpa], upstreams: [nsd]}
            \(upstream.text)
            """,
            listen: "127.0.0.1:53",
            in: namespace
        )
    }

    /// Returns a resolv.conf with one attempt per query, because retries would hide failures.
    static func resolver(_ options: String, search: String? = nil) -> String {
        """
        nameserver 127.0.0.1
        \(search.map { "search \($0)" } ?? "")
        options timeout:10 attempts:1 \(options)

        """
    }

    func stop() throws {
        let queries = try daemon.stats()["queries"]
        #expect(queries["total"].int ?? 0 > 0)
        for failure in ["servfail", "formerr", "notimp", "refused", "badvers", "other"] {
            #expect(queries["by-rcode", failure].int ?? 0 == 0, "\(failure)")
        }
        try daemon.stop()
    }
}

@Suite("Clients configured by resolv.conf only", .needs(.unshare, .ip, .nsd, .curl), .hangLimit)
struct ClientTests {
    private static let www: Set<String> = ["192.0.2.1", "192.0.2.2", "2001:db8::1"]

    private func check(
        _ client: Client,
        texts: Bool = false,
        otherwise: [String: Set<String>] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let machine = try Machine()
        var expected: KeyValuePairs<String, Set<String>> {
            [
                "both www.example.com": Self.www,
                "ipv4 www.example.com": ["192.0.2.1", "192.0.2.2"],
                "ipv6 WWW.eXample.COM": ["2001:db8::1"],
                "both six.example.com": ["2001:db8::6"],
                "ipv4 six.example.com": [client.noData],
                "ipv6 four.example.com": [client.noData],
                "both nowhere.example.org": ["no-name"],
                "ipv4 one.example.org": ["198.51.100.3"],
                "ipv4 forty.example.org": Set(TestUpstream.forty),
                "pointer 192.0.2.1": ["www.example.com"],
            ]
        }
        var wishes = expected.map { ($0.key, otherwise[$0.key] ?? $0.value) }
        if texts { wishes.append(("texts big.example.org", ["20"])) }
        let told = try client.ask(wishes.map(\.0), in: machine.namespace)
        #expect(told.count == wishes.count, sourceLocation: sourceLocation)
        for ((wish, right), found) in zip(wishes, told) {
            let aliases: Set = ["two.example.org.", "three.example.org."]
            #expect(found.subtracting(aliases) == right, "\(wish)", sourceLocation: sourceLocation)
        }
        #expect(try machine.emulator.lookups() == 3)
        try machine.stop()
    }

    @Test("dig gets the right answers", .needs(.dig))
    func dig() throws { try check(.dig, texts: true) }

    @Test("kdig gets the right answers", .needs(.kdig))
    func kdig() throws { try check(.kdig, texts: true) }

    @Test("delv gets the right answers", .needs(.dig))
    func delv() throws { try check(.delv, texts: true) }

    @Test("getent of glibc gets the right answers")
    func getent() throws {
        try check(.getent, otherwise: ["ipv6 four.example.com": ["::ffff:192.0.2.4"]])
    }

    @Test("Python's socket gets the right answers", .needs(.python3))
    func python() throws { try check(.python) }

    @Test("dnspython's stub gets the right answers", .needs(.python3, .dnspython))
    func dnspython() throws { try check(.dnspython, texts: true) }

    @Test("Node's `lookup` (getaddrinfo) gets the right answers", .needs(.node))
    func nodeLookup() throws { try check(.nodeLookup) }

    @Test("Node's `resolve` (c-ares) gets the right answers", .needs(.node))
    func nodeResolve() throws { try check(.nodeResolve, texts: true) }

    @Test("Java's InetAddress gets the right answers", .needs(.java))
    func java() throws { try check(.java) }

    @Test("Java's directory interface gets the right answers", .needs(.java))
    func javaDirectory() throws { try check(.javaDirectory, texts: true) }

    @Test("Go's resolver gets the right answers", .needs(.go))
    func go() throws { try check(.go, texts: true) }

    @Test("Go with getaddrinfo gets the right answers", .needs(.go))
    func cgo() throws { try check(.cgo) }

    @Test("musl's getaddrinfo gets the right answers", .needs(.musl))
    func musl() throws {
        // Debian's version of musl does not use TCP.
        try check(.musl, otherwise: ["ipv4 forty.example.org": ["no-name"]])
    }

    @Test("nslookup of BusyBox gets the right answers", .needs(.busybox))
    func busybox() throws {
        // BusyBox does not use TCP.
        try check(.busybox, otherwise: ["ipv4 forty.example.org": ["no-data"]])
    }

    @Test("Mono's Dns class gets the right answers", .needs(.mono))
    func mono() throws { try check(.mono) }

    @Test("Hickory (Rust) gets the right answers", .needs(.hickory))
    func hickory() throws { try check(.hickory, texts: true) }

    @Test("curl fetches a page by name over IPv4 and IPv6")
    func curl() throws {
        let machine = try Machine()
        for (family, place, address, missing) in [
            ("--ipv4", "192.0.2.10:80", "192.0.2.10", "six.example.com"),
            ("--ipv6", "[2001:db8::10]:80", "2001:db8::10", "four.example.com"),
        ] {
            let server = try TestEmulator(zone: "", listen: place, in: machine.namespace)
            func get(_ name: String) throws -> Child.End {
                try machine.namespace.run(
                    "curl",
                    [
                        "--silent", "--noproxy", "*", "--max-time", "20", family, "--output",
                        "/dev/null", "--write-out", "%{http_code} %{remote_ip}",
                        "http://\(name)/_emulator/calls",
                    ]
                )
            }
            #expect(try get("web.example.com").output == "200 \(address)")
            #expect(try get("Web.Example.Com").output == "200 \(address)")
            #expect(try get("nowhere.example.org").status == 6)
            #expect([6, 7].contains(try get(missing).status))
            try server.program.stop()
        }
        try machine.stop()
    }

    @Test("Chromium loads a page by name", .needs(.chromium), arguments: ["enable", "disable"])
    func chromium(ownResolver: String) throws {
        let machine = try Machine()
        let scratch = try Scratch()
        let server = try TestEmulator(zone: "", listen: "192.0.2.10:80", in: machine.namespace)
        let end = try machine.namespace.run(
            "chromium",
            [
                "--headless", "--no-sandbox", "--no-first-run", "--disable-gpu",
                "--disable-background-networking", "--disable-component-update",
                "--\(ownResolver)-features=AsyncDns", "--user-data-dir=\(scratch.path)",
                "--timeout=60000", "--dump-dom", "http://web.example.com/_emulator/calls",
            ]
        )
        #expect(end.status == 0, "\(end.errors)")
        #expect(end.output.contains("<pre>"), "the page is JSON text")
        #expect(!end.output.contains("ERR_"), "\(end.output)")
        #expect(try machine.emulator.lookups() > 0)
        try server.program.stop()
        try machine.stop()
    }

    private func checkSearch(_ client: Client) throws {
        let search = "example.com example.org"
        let machine = try Machine("", search: search)
        #expect(
            try client.ask(
                [
                    "both www", "ipv4 three", "both missing", "both www.example.com",
                    "ipv4 host.corp",
                ],
                in: machine.namespace
            ) == [Self.www, ["198.51.100.3"], ["no-name"], Self.www, ["192.0.2.5"]]
        )
        try machine.namespace.setResolver(Machine.resolver("ndots:3", search: search))
        #expect(
            try client.ask(["ipv4 host.corp", "both www.example.com"], in: machine.namespace)
                == [["192.0.2.5"], Self.www]
        )
        try machine.stop()
    }

    @Test("getent of glibc uses the search list")
    func getentSearch() throws { try checkSearch(.getent) }

    @Test("Python's socket uses the search list", .needs(.python3))
    func pythonSearch() throws { try checkSearch(.python) }

    @Test("dnspython uses the search list", .needs(.python3, .dnspython))
    func dnspythonSearch() throws { try checkSearch(.dnspython) }

    @Test("Node's `lookup` uses the search list", .needs(.node))
    func nodeSearch() throws { try checkSearch(.nodeLookup) }

    @Test("Java's InetAddress uses the search list", .needs(.java))
    func javaSearch() throws { try checkSearch(.java) }

    @Test("Go's resolver uses the search list", .needs(.go))
    func goSearch() throws { try checkSearch(.go) }

    @Test("Hickory uses the search list", .needs(.hickory))
    func hickorySearch() throws { try checkSearch(.hickory) }

    @Test("glibc gets the right answers with each option of resolv.conf", .needs(.python3))
    func options() throws {
        let machine = try Machine()
        for options in [
            "", "edns0", "trust-ad", "edns0 trust-ad", "single-request", "single-request-reopen",
            "use-vc", "use-vc edns0 trust-ad single-request", "rotate", "unheard-of",
        ] {
            try machine.namespace.setResolver(Machine.resolver(options))
            let told = try Client.python.ask(
                ["both www.example.com", "ipv6 four.example.com", "both nowhere.example.org"],
                in: machine.namespace
            )
            #expect(told == [Self.www, ["no-data"], ["no-name"]], "\(options)")
        }
        // Two of the option lists have `use-vc`.
        #expect(try machine.daemon.stats()["queries", "by-transport", "tcp"].int == 2 * 5)
        try machine.stop()
    }
}
