// SPDX-License-Identifier: Apache-2.0
package import Control

/// Sample replies of the daemon, in which every field has a value.
package enum Samples {
    package static var snapshot: SnapshotStatus {
        var snapshot = SnapshotStatus(path: "/var/lib/httpdnsd/cache.snapshot")
        snapshot.ageSeconds = 200
        snapshot.entries = 1234
        snapshot.octets = 102_400
        snapshot.lastError =
            "/var/lib/httpdnsd/cache.snapshot.tmp: write: No space left on device"
        return snapshot
    }

    package static var status: StatusReply {
        var status = StatusReply(
            state: .degraded,
            version: "0.1.0",
            pid: 4711,
            uptimeSeconds: 275_460
        )
        status.listeners = [
            ListenerStatus(address: "127.0.0.1:53", transport: "udp", origin: "settings"),
            ListenerStatus(address: "127.0.0.1:53", transport: "tcp", origin: "settings"),
            ListenerStatus(address: "[::1]:53", transport: "udp", origin: "socket-activation"),
        ]
        var vendor = VendorStatus(name: "tencent", kind: "tencent", channel: "https")
        vendor.state = .degraded
        vendor.calls = 12345
        vendor.billableCalls = 12000
        vendor.connectionsOpened = 12
        vendor.connectionsReused = 11_988
        vendor.clockSkewSeconds = -75
        vendor.clientAddress = "203.0.113.9"
        vendor.clientSubnet = "203.0.113.7"
        var budget = BudgetStatus(dayEndsSeconds: 11_100)
        (budget.callsPerDay, budget.spentToday) = (20_000, 12_000)
        vendor.budget = budget
        vendor.refresh = AddressRefresh(
            count: 3,
            failures: 1,
            lastAgeSeconds: 200,
            error: "timeout"
        )
        var first = VendorServer(address: "192.0.2.1", current: true)
        first.calls = 12000
        first.latencyMsP50 = 18.25
        var second = VendorServer(address: "192.0.2.2", state: .down)
        second.calls = 345
        second.failures = 345
        second.lastError = "timeout"
        second.lastErrorAgeSeconds = 130
        vendor.servers = [first, second]
        var other = VendorStatus(name: "alibaba", kind: "alibaba", channel: "gcm", state: .paused)
        other.rest = VendorRest(by: .operator)
        status.vendors = [vendor, other]
        var upstream = UpstreamStatus(name: "isp", url: "udp://192.0.2.53", protected: false)
        upstream.calls = 99
        upstream.failures = 1
        upstream.latencyMsP50 = 0.9
        upstream.lastError = "refused"
        upstream.lastErrorAgeSeconds = 4000
        var lone = UpstreamServer(url: "udp://192.0.2.53", transport: "udp", protected: false)
        lone.queries = 99
        lone.successes = 98
        lone.failures = 1
        lone.latencyMs = 1.2
        lone.lastError = "refused"
        lone.lastErrorAgeSeconds = 4000
        upstream.servers = [lone]
        status.upstreams = [upstream, Self.dot]
        status.cache = CacheUsage(entries: 1, octets: 12_582_912, limitOctets: 67_108_864)
        status.acceleration = AccelerationStatus(
            state: .resting,
            why: "an operator watches the queries"
        )
        status.acceleration?.entries = 1200
        status.acceleration?.answers = 56_789
        status.network.changes = 2
        status.network.resumes = 1
        status.network.lastAgeSeconds = 75
        status.resolvConf = ResolvConf(pointsHere: true, nameservers: ["127.0.0.1"])
        status.problems = ["vendor tencent: 1 of 2 servers does not answer"]
        return status
    }

    package static var dot: UpstreamStatus {
        let url = "tls://dns.example"
        var dot = UpstreamStatus(name: "dot", url: url, protected: true, state: .degraded)
        dot.validates = true
        dot.calls = 1005
        dot.failures = 5
        dot.latencyMsP50 = 12
        var first = UpstreamServer(url: "\(url) (192.0.2.1)", transport: "tls", protected: true)
        first.queries = 1000
        first.successes = 1000
        first.latencyMs = 11.5
        first.connectionsOpened = 2
        first.connectionsReused = 998
        var second = first
        second.url = "\(url) (192.0.2.2)"
        second.state = .rests
        second.forSeconds = 7
        second.reason = "timed out"
        second.latencyMs = nil
        second.queries = 4
        second.successes = 0
        second.failures = 4
        second.connectionsReused = 0
        second.lastError = "timed out"
        second.lastErrorAgeSeconds = 1
        var third = second
        third.url = "\(url) (192.0.2.3)"
        third.state = .loops
        third.forSeconds = 0
        third.reason = "leads back to this server"
        third.queries = 1
        third.failures = 1
        dot.servers = [first, second, third]
        return dot
    }

    package static var stats: StatsReply {
        var stats = StatsReply(sinceSeconds: 60)
        stats.queries.total = 1000
        stats.queries.bySource = ["cache": 900, "vendor": 60, "upstream": 40]
        stats.queries.byRcode = ["noerror": 950, "nxdomain": 50]
        stats.queries.byTransport = ["udp": 999, "tcp": 1]
        stats.latency.client.count = 1000
        stats.latency.client.p50Us = 90
        stats.latency.client.p90Us = 400
        stats.latency.client.p99Us = 25_000
        stats.latency.client.p999Us = 80_000
        stats.latency.client.maxUs = 1_250_000
        stats.cache.entries = 55
        stats.cache.octets = 10_240
        stats.cache.limitOctets = 67_108_864
        stats.cache.indexOctets = 2048
        stats.cache.hits = 900
        stats.cache.misses = 100
        stats.cache.insertions = 70
        stats.cache.evictions = 2
        stats.cache.expired = 13
        stats.cache.negativeEntries = 5
        var vendor = VendorStats(name: "tencent")
        vendor.lookups = 97
        vendor.successes = 92
        vendor.empty = 3
        vendor.unanswered = 2
        vendor.calls = 61
        vendor.billableCalls = 58
        vendor.billableNames = 60
        vendor.routes = [
            RouteCost(route: "httpdnsd.yaml:12", domain: "example.com", names: 45),
            RouteCost(route: "httpdnsd.yaml:16", domain: "=www.example.org", names: 15),
        ]
        vendor.failures = ["timeout": 2, "http": 1, "tls": 0]
        vendor.connectionsOpened = 4
        vendor.connectionsReused = 57
        vendor.avoided = ["cached": 890, "merged": 7, "paired": 30, "batched": 0]
        var budget = BudgetStatus(dayEndsSeconds: 3600)
        (budget.callsPerDay, budget.spentToday, budget.beyond) = (1000, 1000, 4)
        budget.state = .spent
        vendor.budget = budget
        vendor.units = BilledUnits(atLeast: 290, atMost: 300, today: 1200, month: 45_000)
        vendor.cost = BilledCost(amount: 0.18, currency: "CNY")
        vendor.clientAddress = "203.0.113.9"
        stats.vendors = [vendor]
        var upstream = UpstreamStats(name: "isp", protected: false)
        upstream.queries = 42
        upstream.successes = 41
        upstream.failures = ["timeout": 1]
        upstream.tcpRetries = 1
        upstream.foreignReplies = 2
        upstream.connectionsOpened = 3
        upstream.connectionsReused = 4
        stats.upstreams = [upstream]
        stats.packets = ["received": 1002, "ignored": 2, "truncated-replies": 1]
        stats.misses.inFlight = 3
        stats.misses.merged = 7
        stats.misses.dropped = 0
        stats.refresh.started = 12
        stats.refresh.done = 11
        stats.refresh.failed = 1
        stats.refresh.overBudget = 4
        stats.refresh.held = 3
        stats.network.changes = 2
        stats.log = LogStats(dropped: 5)
        stats.process.rssOctets = 20_971_520
        stats.process.descriptors = 24
        stats.process.threads = 4
        stats.process.cpuSeconds = 1.25
        return stats
    }

    package static var lookup: LookupReply {
        LookupReply(entries: [
            CachedEntry(
                name: "www.example.com.",
                type: "A",
                rcode: "noerror",
                source: "tencent",
                server: "192.0.2.1:443",
                ageSeconds: 42,
                ttlSeconds: 18,
                hits: 1234,
                records: ["192.0.2.10", "192.0.2.11"]
            ),
            CachedEntry(
                name: "www.example.com.",
                type: "TXT",
                rcode: "nodata",
                source: "isp",
                server: "udp://192.0.2.53",
                protected: false,
                validated: true,
                ageSeconds: 400,
                ttlSeconds: 0,
                stale: true,
                variant: "do"
            ),
        ])
    }

    package static let resolved = ResolveReply(results: [
        Resolved(
            name: "www.example.com.",
            type: "A",
            rcode: "noerror",
            source: "vendor",
            server: "tencent/192.0.2.1:443",
            records: ["192.0.2.10", "192.0.2.11"],
            ttlSeconds: 60,
            tookUs: 18_200
        ),
        Resolved(
            name: "www.example.com.",
            type: "AAAA",
            rcode: "servfail",
            source: "failed",
            explanation: "Network Error: no upstream could be reached",
            tookUs: 18_250
        ),
    ])

    package static var dump: DumpReply {
        var entries = lookup.entries
        entries[0].records = ["192.0.2.10", "192.0.2.11"].map { "www.example.com. 18 IN A \($0)" }
        entries[1].records = ["example.com. 30 IN SOA ns.example.com. admin.example.com. 1 2 3 4 5"]
        return DumpReply(entries: entries, total: 2)
    }

    package static var explained: ExplainReply {
        var reply = ExplainReply(name: "www.example.com.", type: "A")
        reply.steps = [
            ExplainStep("question", "www.example.com. IN A"),
            ExplainStep("cache", "miss"),
            ExplainStep("vendors", "asked in this order", notes: ["tencent: 192.0.2.1:443 first"]),
        ]
        reply.route = ExplainedRoute(
            place: "httpdnsd.yaml:12",
            pattern: "*.example.com",
            vendors: ["tencent"],
            upstreams: [],
            fallback: "upstream"
        )
        reply.cost.vendor = "tencent"
        reply.cost.billableCalls = 1
        reply.cost.units = 5
        reply.cost.money = BilledCost(amount: 0.00015, currency: "CNY")
        var first = LiveAttempt(
            name: "tencent",
            server: "192.0.2.1:443",
            why: "first",
            afterMs: 0.25
        )
        first.request = "GET https://192.0.2.1/d?dn=…&token=…"
        first.status = 200
        first.reused = false
        first.result = "www.example.com. A 192.0.2.10 (60 s)"
        first.tookMs = 18
        first.connectedMs = 4.5
        first.securedMs = 9
        first.firstOctetMs = 17.5
        let second = LiveAttempt(
            name: "tencent",
            server: "192.0.2.2:443",
            why: "hedge",
            afterMs: 12
        )
        var live = LiveReport(answer: resolved.results[0])
        live.attempts = [first, second]
        live.notes = ["cached www.example.com. A for 60 s"]
        live.leftOut = 3
        live.billableCalls = 2
        live.units = 10
        live.money = BilledCost(amount: 0.0003, currency: "CNY")
        reply.live = live
        return reply
    }

    package static var foretold: ExplainReply {
        var reply = explained
        reply.live = nil
        reply.answer = resolved.results[0]
        reply.answer?.source = "cache"
        reply.answer?.tookUs = nil
        reply.cost.billableCalls = 0
        (reply.cost.units, reply.cost.money) = (0, nil)
        reply.cost.answerUnits = 5
        reply.cost.answerMoney = BilledCost(amount: 0.000015, currency: "CNY")
        reply.cost.nextUnits = 10
        reply.cost.nextMoney = BilledCost(amount: 0.00003, currency: "CNY")
        reply.cost.nextSeconds = 45
        reply.cost.nextBy = "refresh"
        reply.cost.nextBillableCalls = 1
        return reply
    }

    package static let events = [
        QueryEvent(
            timeMs: 1_790_000_000_123,
            name: "www.example.com.",
            type: "A",
            rcode: "noerror",
            source: "cache",
            server: "tencent/192.0.2.1:443",
            transport: "udp",
            client: "127.0.0.1",
            tookUs: 21,
            flags: ["refreshed"]
        ),
        QueryEvent(
            timeMs: 1_790_000_001_456,
            name: "gone.example.com.",
            type: "AAAA",
            rcode: "nxdomain",
            source: "upstream",
            server: "isp/udp://192.0.2.53:53",
            fallback: "empty",
            transport: "tcp",
            client: "2001:db8::7",
            tookUs: 48_200
        ),
    ]

    package static let watch = WatchReply(queries: events, missed: 7)

    package static let slowest = TopReply(
        kind: .slow,
        sinceSeconds: 75,
        total: 2,
        entries: Array(events.reversed())
    )

    package static func counts(_ kind: TopRequest.Kind) -> TopReply<QueryCount> {
        var first = QueryCount(name: kind == .clients ? "127.0.0.1" : "www.example.com.")
        (first.queries, first.misses, first.slowestUs) = (3, 2, 48_200)
        (first.fallbackEmpty, first.fallbackFailed) = (1, 1)
        var second = QueryCount(name: kind == .clients ? "192.0.2.7" : "a.example.com.")
        (second.queries, second.slowestUs) = (1, 12)
        return TopReply(kind: kind, sinceSeconds: 75, total: 4, entries: [first, second])
    }

    package static var bill: BillReply {
        var rules = BillRules(item: "name", weight: 5, known: true, freePerMonth: 1000)
        rules.price = BilledCost(amount: 0.04, currency: "CNY")
        rules.page = "vendor.example/price"
        rules.readOn = "2026-11-23"
        var bill = VendorBill(
            name: "baidu",
            units: BilledUnits(atLeast: 290, atMost: 300, today: 1200, month: 45_000),
            rules: rules
        )
        bill.cost = BilledCost(amount: 0.176, currency: "CNY")
        var count = VendorCount()
        (count.http, count.https) = (100, 9000)
        (count.units, count.difference) = (45_100, 100)
        bill.counted = count
        bill.saved = ["cached": 4450, "merged": 35, "paired": 150, "batched": 0]
        bill.routes = [
            RouteCost(route: "httpdnsd.yaml:12", domain: "example.com", names: 60, units: 300)
        ]
        bill.names = [
            NameCost(
                name: "www.example.com.",
                vendor: "baidu",
                calls: 40,
                excess: 0,
                units: 200,
                route: "httpdnsd.yaml:12",
                domain: "example.com"
            )
        ]
        let advice = BillAdvice(
            vendor: "baidu",
            setting: "minimum-ttl: 300s",
            unitsPerDay: 6_000,
            changePercent: -80,
            givesUp: "changed addresses are noticed later"
        )
        return BillReply(period: "month", vendors: [bill], advice: [advice])
    }

    package static var proved: ProveReply {
        var first = ProofStep(
            label: "families: A",
            expected: "addresses",
            result: "www.example.com. A 192.0.2.10 (60 s)"
        )
        first.verdict = .agrees
        first.request = "GET https://192.0.2.1/v2/d?id=…&m=…"
        first.status = 200
        first.units = 5
        first.vector = ProofVector(
            vendor: "alibaba families: A",
            names: ["www.example.com."],
            types: ["A"],
            status: 200,
            body: "{}"
        )
        let second = ProofStep(label: "http: 2", expected: "addresses", result: "not called")
        var reply = ProveReply(
            vendor: "alibaba",
            name: "www.example.com.",
            calls: 2,
            units: 10,
            steps: [first, second]
        )
        reply.money = BilledCost(amount: 0.25, currency: "CNY")
        return reply
    }

    package static var top: TopReply<NameCost> {
        TopReply(
            kind: .cost,
            sinceSeconds: 3600,
            total: 2000,
            entries: [
                NameCost(
                    name: "www.example.com.",
                    vendor: "tencent",
                    calls: 1500,
                    excess: 0,
                    units: 7500,
                    route: "httpdnsd.yaml:12",
                    domain: "example.com"
                ),
                NameCost(
                    name: "a.example.org.",
                    vendor: "alibaba",
                    calls: 12,
                    excess: 2,
                    route: "httpdnsd.yaml:16",
                    domain: ""
                ),
            ]
        )
    }

    package static var reloaded: ReloadReply {
        ReloadReply(
            applied: true,
            warnings: [
                SettingsComplaint(
                    file: "httpdnsd.yaml",
                    line: 9,
                    column: 3,
                    message: "odd",
                    hint: nil
                )
            ],
            changes: [
                SettingChange(path: "cache.maximum-ttl", kind: .changed, old: "1d", new: "2d"),
                SettingChange(path: "listen", kind: .added, old: nil, new: "127.0.0.2:53"),
                SettingChange(
                    path: "upstreams.isp",
                    kind: .removed,
                    old: "{url: udp://192.0.2.1}",
                    new: nil
                ),
                SettingChange(path: "vendors.tencent.token", kind: .secret, old: nil, new: nil),
                SettingChange(path: "workers", kind: .changed, old: "auto", new: "4"),
            ],
            needsRestart: ["workers"],
            removedAnswers: 3
        )
    }

    package static var rejected: ReloadReply {
        ReloadReply(
            applied: false,
            problems: [
                SettingsComplaint(
                    file: "httpdnsd.yaml",
                    line: 1,
                    column: 1,
                    message: "unknown key `cahce`",
                    hint: "did you mean `cache`?"
                ),
                SettingsComplaint(
                    file: "httpdnsd.yaml",
                    line: 0,
                    column: 0,
                    message: "cannot listen",
                    hint: nil
                ),
            ]
        )
    }

    package static let settings = SettingsReply(
        file: "/etc/httpdnsd/httpdnsd.yaml",
        text: "# The effective settings of httpdnsd.\nworkers: auto\n"
    )

    package static let routes = RoutesReply(routes: [
        RouteEntry(
            place: "/etc/httpdnsd/httpdnsd.yaml:7",
            domains: ["example.com", "=www.example.org"],
            except: ["own.example.com"],
            vendors: ["tencent", "alibaba"],
            upstreams: [],
            fallback: "upstream"
        ),
        RouteEntry(
            place: "/etc/httpdnsd/httpdnsd.yaml:9",
            domains: ["corp.example"],
            except: [],
            vendors: [],
            upstreams: ["office"],
            fallback: "upstream"
        ),
    ])

    package static var paused: PauseReply {
        PauseReply(vendor: "tencent", changed: true, inFlight: 2, rest: VendorRest(by: .operator))
    }

    package static var resumed: PauseReply {
        PauseReply(
            vendor: "tencent",
            changed: true,
            inFlight: 0,
            rest: VendorRest(by: .account, forSeconds: 250, error: "HTTP 401")
        )
    }

    package static var version: VersionReply {
        VersionReply(
            version: "0.1.0",
            swift: "6.3.1",
            libcurl: "7.88.1",
            openssl: "3.0.16",
            libyaml: "0.2.5"
        )
    }
}
