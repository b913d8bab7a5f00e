// SPDX-License-Identifier: Apache-2.0
import TestWorld
import Testing

@testable import Control
@testable import httpdnsctl

@Suite("Text output")
struct RenderingTests {
    let plain = Palette(isEnabled: false)

    @Test("status fits on one screen and shows every fault")
    func status() {
        #expect(
            StatusText.render(Samples.status, plain) == """
                httpdnsd 0.1.0  DEGRADED  up 3 d 4 h  pid 4711
                listening     127.0.0.1:53 (udp+tcp)  [::1]:53 (udp, socket-activation)
                resolv.conf   points to the daemon (127.0.0.1)
                cache         1 entry, 12.0 MiB of 64.0 MiB (18.8 %)
                acceleration  suspended (an operator watches the queries): 1,200 entries in the kernel, 56,789 answers from the kernel
                network       2 network changes, 1 wake-up from suspend, last 1 min 15 s ago

                VENDOR       STATE      CALLS  FAILED   MEDIAN  BILLABLE  KIND, CHANNEL   REMARKS
                tencent      degraded  12,345                     12,000  tencent, https  vendor clock 1 min 15 s behind this machine
                    budget: 12,000 of 20,000 calls today (60.0 %); the day ends in 3 h 5 min
                    client address: 203.0.113.9
                    connections: 12 opened, 11,988 reuses
                    addresses refreshed 3 times, last 3 min 20 s ago, 1 failure: timeout
                  192.0.2.1  up        12,000       0  18.3 ms            used first
                  192.0.2.2  DOWN         345     345        -                            last error: timeout, 2 min 10 s ago
                alibaba      paused         0                          0  alibaba, gcm
                    paused by the operator until `httpdnsctl resume alibaba`

                UPSTREAM                         STATE     QUERIES  ANSWERED  FAILED  LATENCY  URL                                   REMARKS
                isp                              up             99        98       1   1.2 ms  udp://192.0.2.53 (unprotected)        last error: refused, 1 h 6 min ago
                dot                              degraded    1,005     1,000       5  12.0 ms  tls://dns.example (validates DNSSEC)
                    connections: 6 opened, 998 reuses
                  tls://dns.example (192.0.2.1)  up          1,000     1,000       0  11.5 ms  tls
                  tls://dns.example (192.0.2.2)  backoff         4         0       4        -  tls                                   last error: timed out; next attempt in 7 s
                  tls://dns.example (192.0.2.3)  LOOPS           1         0       1        -  tls                                   queries return to this daemon; next check now

                PROBLEMS
                  vendor tencent: 1 of 2 servers does not answer

                """
        )
    }

    @Test("the status of a starting daemon has no empty tables")
    func bareStatus() {
        let status = StatusReply(state: .starting, version: "0.1.0", pid: 1, uptimeSeconds: 0)
        #expect(
            StatusText.render(status, plain) == """
                httpdnsd 0.1.0  STARTING  up 0 s  pid 1
                listening    none
                resolv.conf  could not be read
                cache        0 entries, 0 B of 0 B (-)

                """
        )
    }

    @Test(
        "`status` shows if a vendor's clock is fast or slow, and if the daemon corrects the offset"
    )
    func clockSkew() {
        var status = Samples.status
        status.vendors[0].clockSkewSeconds = -90
        #expect(StatusText.render(status, plain).contains("clock 1 min 30 s behind this machine"))
        status.vendors[0].refusedClockSkewSeconds = -500
        #expect(
            StatusText.render(status, plain)
                .contains("clock 8 min 20 s behind this machine: too much to correct, check NTP")
        )
    }

    @Test("`status` and `stats` show the cache snapshot; each shows a write error only once")
    func snapshot() {
        var status = StatusReply(state: .ready, version: "0.1.0", pid: 1, uptimeSeconds: 0)
        status.cache.snapshot = SnapshotStatus(path: "/var/lib/httpdnsd/cache.snapshot")
        let unwritten = StatusText.render(status, plain)
        #expect(
            unwritten.contains(
                "snapshot     none yet, file /var/lib/httpdnsd/cache.snapshot\n"
            )
        )
        status.cache.snapshot = Samples.snapshot
        let error = "/var/lib/httpdnsd/cache.snapshot.tmp: write: No space left on device"
        status.problems = ["snapshot of the cache: \(error)"]
        let written = StatusText.render(status, plain)
        #expect(
            written.contains(
                "snapshot     1,234 entries, 100.0 KiB, 3 min 20 s old, "
                    + "file /var/lib/httpdnsd/cache.snapshot\n"
            ),
            "\(written)"
        )
        #expect(written.split(separator: error).count == 2, "\(written)")
        var stats = Samples.stats
        stats.cache.snapshot = Samples.snapshot
        #expect(
            StatsText.render(stats, plain).contains(
                "1,234 entries, 100.0 KiB, 3 min 20 s old; \(error)\n"
            )
        )
        stats.cache.snapshot?.lastError = nil
        let text = StatsText.render(stats, plain)
        #expect(
            text.contains(
                "1,234 entries, 100.0 KiB, 3 min 20 s old, file /var/lib/httpdnsd/cache.snapshot\n"
            ),
            "\(text)"
        )
    }

    @Test("`stats` prints a section for each group of counters")
    func stats() {
        #expect(
            StatsText.render(Samples.stats, plain) == """
                counted for 1 min: since the daemon's start, or since `stats --reset`

                QUERIES                 COUNT   SHARE
                total                   1,000
                by source     cache       900  90.0 %
                              vendor       60   6.0 %
                              upstream     40   4.0 %
                by rcode      noerror     950  95.0 %
                              nxdomain     50   5.0 %
                by transport  udp         999  99.9 %
                              tcp           1   0.1 %

                LATENCY   COUNT   50 %    90 %     99 %   99.9 %  LONGEST
                client    1,000  90 µs  400 µs  25.0 ms  80.0 ms   1.25 s
                cache         0      -       -        -        -        -
                vendor        0      -       -        -        -        -
                upstream      0      -       -        -        -        -

                CACHE
                holds    55 entries (5 negative)
                memory   10.0 KiB of 64.0 MiB (0.0 %), index 2.0 KiB
                hits     900 of 1,000 queries (90.0 %)
                changes  70 inserted, 2 evicted, 13 expired

                VENDOR   NAME LOOKUPS  WITH ADDRESS  EMPTY  UNANSWERED  CALLS  FAILED CALLS
                tencent            97            92      3           2     61             3
                    failed 3: 2 timeout, 1 http
                    calls avoided 927: 890 cached, 30 paired, 7 merged
                    connections: 4 opened, 57 reuses
                    budget: 1,000 of 1,000 calls today (100.0 %), 4 calls not made; the day ends in 1 h
                    units: 290 to 300 since start, 1,200 today, 45,000 this month (0.18 CNY)

                BILLED   CALLS  NAMES   SHARE  ROUTE
                tencent     58     60          all
                                   45  75.0 %  httpdnsd.yaml:12 (example.com)
                                   15  25.0 %  httpdnsd.yaml:16 (=www.example.org)

                UPSTREAM  PROTECTION   QUERIES  ANSWERED  FAILED  TCP RETRIES  FOREIGN
                isp       unprotected       42        41       1            1        2
                    failed 1: 1 timeout
                    connections: 3 opened, 4 reuses

                MISSES   3 in flight, 7 merged, 0 dropped
                REFRESH  12 started, 11 done, 1 failed, 4 over budget, 3 not sent
                PACKETS  1,002 received, 2 ignored, 1 truncated replies
                NETWORK  2 network changes, 0 wake-ups from suspend
                LOG      5 lines dropped
                PROCESS  20.0 MiB resident, 24 descriptors, 4 threads, 1.25 s CPU time

                """
        )
    }

    @Test("watch prints one line per query")
    func queries() {
        let lines = QueryText.render(Samples.watch, Palette(isEnabled: false))
            .split(separator: "\n").map { String($0.drop { $0 != " " }) }
        #expect(
            lines == [
                " 21 µs     noerror   A      www.example.com.                    cache "
                    + "(tencent/192.0.2.1:443) (refreshed), client 127.0.0.1",
                " 48.2 ms   nxdomain  AAAA   gone.example.com.                   "
                    + "isp/udp://192.0.2.53:53 (no vendor address), client 2001:db8::7 over TCP",
                " queries not shown: too many",
            ]
        )
    }

    @Test("`top` prints tables, with a column for each reason of a fallback")
    func counts() {
        let plain = Palette(isEnabled: false)
        #expect(
            TopText.counts(Samples.counts(.names), plain) == """
                4 queries in the last 1 min 15 s
                NAME              QUERIES   SHARE  MISSES  SLOWEST
                www.example.com.        3  75.0 %       2  48.2 ms
                a.example.com.          1  25.0 %       0    12 µs

                """
        )
        #expect(
            TopText.counts(Samples.counts(.fallback), plain) == """
                4 queries in the last 1 min 15 s
                NAME              QUERIES   SHARE  VENDOR EMPTY  VENDOR FAILED
                www.example.com.        3  75.0 %             1              1
                a.example.com.          1  25.0 %             0              0

                """
        )
        #expect(
            TopText.slowest(Samples.slowest, plain) == """
                2 queries in the last 1 min 15 s
                   TOOK  NAME               TYPE  RCODE     FROM                           CLIENT
                48.2 ms  gone.example.com.  AAAA  nxdomain  isp/udp://192.0.2.53:53        2001:db8::7
                  21 µs  www.example.com.   A     noerror   cache (tencent/192.0.2.1:443)  127.0.0.1

                """
        )
    }

    @Test("stats --watch shows changed counters with difference and rate")
    func rates() {
        var later = Samples.stats
        later.sinceSeconds = 62
        later.queries.total += 500
        later.queries.bySource["cache"] = 1400
        later.queries.bySource["stale"] = 1
        later.vendors[0].calls += 3
        #expect(
            RatesText.render(from: Samples.stats, to: later, seconds: 2, plain) == """
                changes in 2.0 s
                COUNTER             CHANGE  PER SECOND
                queries                500     250.0/s
                queries from cache     500     250.0/s
                queries from stale       1       0.5/s
                tencent calls            3       1.5/s
                now: 3 misses in flight, 55 entries cached, 20.0 MiB resident, 24 descriptors


                """
        )
    }

    @Test("stats --watch detects a reset")
    func restart() {
        var later = StatsReply(sinceSeconds: 4)
        later.queries.total = 8
        #expect(
            RatesText.render(from: Samples.stats, to: later, seconds: 10, plain) == """
                counters reset 4 s ago
                COUNTER  CHANGE  PER SECOND
                queries       8       2.0/s
                now: 0 misses in flight, 0 entries cached, 0 B resident, 0 descriptors


                """
        )
    }

    @Test("stats --watch reports that nothing changed")
    func quiet() {
        let text = RatesText.render(from: Samples.stats, to: Samples.stats, seconds: 1, plain)
        #expect(text.hasPrefix("changes in 1.0 s\nno changes\nnow: "))
    }

    @Test("lookup shows the records of each entry")
    func lookup() {
        #expect(
            LookupText.render(Samples.lookup, plain) == """
                NAME              TYPE  RCODE      TTL         AGE   HITS  FROM
                www.example.com.  A     noerror   18 s        42 s  1,234  tencent 192.0.2.1:443
                    192.0.2.10
                    192.0.2.11
                www.example.com.  TXT   nodata   stale  6 min 40 s      0  isp udp://192.0.2.53 (unprotected) (validated) (queries with do)

                """
        )
    }

    @Test("explain shows steps, answer and cost")
    func dryRun() {
        #expect(
            ExplainText.render(Samples.foretold, plain) == """
                1  question  www.example.com. IN A
                2  cache     miss
                3  vendors   asked in this order
                    tencent: 192.0.2.1:443 first
                   answer    noerror from cache (tencent/192.0.2.1:443), TTL 1 min
                    192.0.2.10
                    192.0.2.11
                   cost      nothing now; the answer cost at most 5 units (0.000015 CNY); a query after 45 s starts a refresh: 1 billable call to tencent, 10 units (0.00003 CNY)

                """
        )
    }

    @Test("explain shows whether a refresh or a client's query will start the next resolution")
    func renewed() {
        var reply = Samples.foretold
        reply.cost.nextSeconds = 1
        reply.cost.nextBy = "query"
        let text = ExplainText.render(reply, plain)
        #expect(
            text.contains("the first query after 1 s starts a resolution: 1 billable call"),
            "\(text)"
        )
    }

    @Test("explain --live shows attempts and notes")
    func explained() throws {
        let text = ExplainText.render(Samples.explained, plain)
        let report = try #require(text.firstRange(of: "\n\n"))
        #expect(
            text[report.upperBound...] == """
                  AFTER  WHY    SERVER                    TOOK  CONNECTION  STATUS  RESULT
                 250 µs  first  tencent 192.0.2.1:443  18.0 ms  new         200     www.example.com. A 192.0.2.10 (60 s)
                    GET https://192.0.2.1/d?dn=…&token=…
                    connected after 4.5 ms, TLS ready after 9.0 ms, first octet after 17.5 ms
                12.0 ms  hedge  tencent 192.0.2.2:443        -  -           -       under way
                - cached www.example.com. A for 60 s
                3 more attempts and notes not shown
                answer noerror from vendor (tencent/192.0.2.1:443), TTL 1 min after 18.2 ms
                    192.0.2.10
                    192.0.2.11
                cost 2 billable calls, 10 units (0.0003 CNY)

                """
        )
    }

    @Test("resolve prints one line per query, with records")
    func resolve() {
        #expect(
            ResolveText.heading
                + Samples.resolved.results.map { ResolveText.render($0, plain) }.joined() == """
                    NAME                                   TYPE  RCODE        TTL       TOOK  ANSWER
                    www.example.com.                       A     noerror     60 s    18.2 ms  vendor tencent/192.0.2.1:443
                        192.0.2.10
                        192.0.2.11
                    www.example.com.                       AAAA  servfail       -    18.3 ms  failed: Network Error: no upstream could be reached

                    """
        )
    }

    @Test("dump prints one line per record set or negative entry")
    func dump() {
        #expect(
            Samples.dump.entries.map(DumpText.render).joined() == """
                www.example.com. 18 IN A 192.0.2.10, 192.0.2.11 ; tencent 192.0.2.1:443 age=42 hits=1234
                www.example.com. 0 IN TXT ; isp udp://192.0.2.53 unprotected validated nodata stale age=400 hits=0 do
                  example.com. 0 IN SOA ns.example.com. admin.example.com. 1 2 3 4 5 ; part of www.example.com. TXT

                """
        )
    }

    @Test("top shows an inexact count as a range")
    func top() {
        #expect(
            TopText.costs(Samples.top, plain) == """
                2,000 billable calls, counted per name, in the last 1 h
                NAME                 CALLS   SHARE  UNITS  VENDOR   ROUTE
                www.example.com.     1,500  75.0 %  7,500  tencent  httpdnsd.yaml:12 (example.com)
                a.example.org.    10 to 12   0.6 %      -  alibaba  httpdnsd.yaml:16

                """
        )
    }

    @Test("bill shows the counts of the vendor and of the daemon, or why the vendor has no count")
    func counted() throws {
        var reply = Samples.bill
        let text = BillText.render(reply, plain)
        for part in ["100 over HTTP", "9,000 over HTTPS", "45,100 units", "100 units more"] {
            #expect(text.contains(part), "\(text)")
        }
        var count = VendorCount()
        count.problem = "timed out"
        reply.vendors[0].counted = count
        #expect(BillText.render(reply, plain).contains("unknown (timed out)\n"))
    }

    @Test("prove shows the cost and each step, with the expected result if the step does not agree")
    func proved() throws {
        #expect(
            ProveText.plan(Samples.proved)
                == "alibaba: 2 calls with the name www.example.com., at most 10 units (0.25 CNY) "
                + "in total"
        )
        var steps = Samples.proved.steps
        #expect(
            steps.map { ProveText.step($0, plain) }.joined() == """
                agrees   families: A, 5 units
                    GET https://192.0.2.1/v2/d?id=…&m=…
                    HTTP 200: www.example.com. A 192.0.2.10 (60 s)
                skipped  http: 2
                    expected: addresses
                    not called

                """
        )
        steps[0].verdict = .differs
        #expect(ProveText.step(steps[0], plain).hasPrefix("DIFFERS  families: A, 5 units\n    exp"))
        #expect(
            ProveText.summary(steps) == "0 agree, 1 differs, 1 skipped; at most 5 units billed\n"
        )
    }

    @Test("`pause` and `resume` report the new state of the vendor")
    func pause() {
        var change = Samples.paused
        let paused = PauseText.render(change, isPause: true)
        #expect(paused.contains("tencent") && paused.contains("2 calls"), "\(paused)")
        change.problems = ["no upstream is left"]
        #expect(
            PauseText.render(change, isPause: true).hasSuffix("\nwarning: no upstream is left\n")
        )
        change.changed = false
        #expect(PauseText.render(change, isPause: true).contains("already"))
        let resumed = PauseText.render(Samples.resumed, isPause: false)
        #expect(resumed.contains("HTTP 401") && resumed.contains("4 min 10 s"), "\(resumed)")
        change.rest = nil
        #expect(PauseText.render(change, isPause: false).contains("not paused"))
    }

    @Test(
        "status shows the reason and the end of a suspension",
        arguments: [
            (VendorRest(by: .operator), ["`httpdnsctl resume tencent`"]),
            (VendorRest(by: .account, forSeconds: 0, error: "HTTP 403"), ["HTTP 403", "now"]),
            (VendorRest(by: .limit, forSeconds: 7), ["HTTP 429", "in 7 s"]),
            (VendorRest(by: .budget, forSeconds: 7200), ["budget", "in 2 h"]),
        ]
    )
    func rest(_ rest: VendorRest, _ parts: [String]) {
        let text = VendorText.rest(rest, of: "tencent")
        #expect(parts.allSatisfy { text.contains($0) }, "\(text)")
    }

    @Test("reload shows changes, needed restarts, and removed entries")
    func reload() {
        #expect(
            ReloadText.render(Samples.reloaded, plain) == """
                warning: httpdnsd.yaml:9:3: odd
                  cache.maximum-ttl: 1d -> 2d
                + listen: 127.0.0.2:53
                - upstreams.isp: {url: udp://192.0.2.1}
                  vendors.tencent.token: new secret value
                  workers: auto -> 4
                needs a restart: workers
                reloaded; 3 answers removed from the cache

                """
        )
        #expect(ReloadText.render(ReloadReply(applied: true), plain) == "reloaded, no changes\n")
        #expect(
            ReloadText.render(ReloadReply(applied: true, notes: ["restart"]), plain)
                == "reloaded, no changes\nnote: restart\n"
        )
        #expect(
            ReloadText.render(ReloadReply(applied: false), plain)
                == "ok, a reload would change nothing\n"
        )
        let change = SettingChange(path: "workers", kind: .changed, old: "auto", new: "4")
        #expect(
            ReloadText.render(
                ReloadReply(applied: false, changes: [change], removedAnswers: 1),
                plain
            ) == """
                  workers: auto -> 4
                ok, a reload would make these changes; it would remove 1 answer from the cache

                """
        )
        #expect(ReloadText.render(Samples.rejected, plain).isEmpty)
    }

    @Test("version lists programs and libraries")
    func version() {
        #expect(
            VersionText.render(Samples.version, plain) == """
                httpdnsd    0.1.0
                httpdnsctl  \(Product.version)
                Swift       6.3.1
                libcurl     7.88.1
                OpenSSL     3.0.16
                libyaml     0.2.5

                """
        )
    }

    @Test("colors do not change the text")
    func colours() {
        let coloured = Palette(isEnabled: true)
        for (with, without) in [
            (StatusText.render(Samples.status, coloured), StatusText.render(Samples.status, plain)),
            (StatsText.render(Samples.stats, coloured), StatsText.render(Samples.stats, plain)),
            (LookupText.render(Samples.lookup, coloured), LookupText.render(Samples.lookup, plain)),
            (TopText.costs(Samples.top, coloured), TopText.costs(Samples.top, plain)),
            (
                ExplainText.render(Samples.explained, coloured),
                ExplainText.render(Samples.explained, plain)
            ),
            (
                ResolveText.render(Samples.resolved.results[1], coloured),
                ResolveText.render(Samples.resolved.results[1], plain)
            ),
        ] {
            #expect(with != without)
            #expect(with.replacing(/\u{1B}\[[0-9]+m/, with: "") == without)
        }
    }

    @Test("httpdnsctl escapes control characters in all texts")
    func hostile() throws {
        let evil = "\u{1B}]0;gone\u{7}\r\u{9B}2J\u{202E}\u{2028}\n\u{7F}"
        let escaped = #"\u{1b}]0;gone\u{7}\u{d}\u{9b}2J\u{202e}\u{2028}\u{a}\u{7f}"#
        #expect(printable(evil) == escaped)
        #expect(printable("naïve 域名 µ") == "naïve 域名 µ")

        var status = Samples.status
        status.version = evil
        status.problems = [evil]
        status.resolvConf.nameservers = [evil]
        status.vendors[0].servers[0].lastError = evil
        status.vendors[0].refresh?.error = evil
        status.vendors[1].name = evil
        status.vendors[1].rest?.error = evil
        status.upstreams[0].url = evil
        status.upstreams[0].servers[0].lastError = evil
        status.upstreams[1].servers[0].url = evil
        status.upstreams[1].servers[1].reason = evil
        var stats = Samples.stats
        stats.queries.bySource[evil] = 1
        stats.packets[evil] = 1
        stats.vendors[0].failures[evil] = 1
        stats.vendors[0].routes[0].domain = evil
        var top = Samples.top
        top.entries[0].name = evil
        top.entries[0].route = evil
        var change = Samples.resumed
        change.vendor = evil
        change.rest?.error = evil
        var lookup = Samples.lookup
        lookup.entries[0].name = evil
        lookup.entries[0].records = [evil, "a 1 IN A \(evil)"]
        lookup.entries[0].server = evil
        var explained = Samples.explained
        explained.steps[0] = ExplainStep(evil, evil, notes: [evil])
        explained.live?.attempts[0].request = evil
        explained.live?.attempts[0].result = evil
        explained.live?.notes = [evil]
        var resolved = Samples.resolved.results[0]
        (resolved.name, resolved.records, resolved.explanation) = (evil, [evil], evil)
        explained.live?.answer = resolved
        for text in [
            StatusText.render(status, plain), StatsText.render(stats, plain),
            LookupText.render(lookup, plain), TopText.costs(top, plain),
            ExplainText.render(explained, plain), ResolveText.render(resolved, plain),
            DumpText.render(lookup.entries[0]),
            PauseText.render(change, isPause: true), PauseText.render(change, isPause: false),
            RatesText.render(from: Samples.stats, to: stats, seconds: 1, plain),
            try JSONOutput.text(status, indented: true),
        ] { #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || isPrintable($0) } as Bool) }
        #expect(
            Failure(message: evil, hint: evil, status: .failed).text
                == "httpdnsctl: \(escaped)\nhint: \(escaped)"
        )
    }

    @Test("JSON with escaped characters decodes to the original value")
    func escapedJSON() throws {
        let value = JSONValue.object(["a": .string("\u{9B}\u{1F600}\u{E0001}\u{7F}\n\"")])
        let text = try JSONOutput.text(value, indented: false)
        #expect(text.contains(#"\u009b"#) && text.contains(#"\udb40\udc01"#))
        #expect(try JSONText.decode(JSONValue.self, from: Array(text.utf8)) == value)
    }

    @Test("on a narrow terminal a table wraps between words")
    func narrow() {
        let narrow = Palette(isEnabled: false, width: 80)
        let wide = StatusText.render(Samples.status, plain)
        let text = StatusText.render(Samples.status, narrow)
        let lines = text.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(text)")
        let words = { (text: String) in text.split(whereSeparator: \.isWhitespace) }
        #expect(words(text) == words(wide))
    }

    @Test("all texts fit into 80 columns")
    func fitting() {
        let narrow = Palette(isEnabled: false, width: 80)
        let texts = [
            StatusText.render(Samples.status, narrow),
            StatsText.render(Samples.stats, narrow),
            RatesText.render(
                from: StatsReply(sinceSeconds: 0),
                to: Samples.stats,
                seconds: 2,
                narrow
            ),
            QueryText.heading, QueryText.render(Samples.watch, narrow),
            TopText.costs(Samples.top, narrow), TopText.slowest(Samples.slowest, narrow),
            TopText.counts(Samples.counts(.names), narrow),
            TopText.counts(Samples.counts(.fallback), narrow),
            LookupText.render(Samples.lookup, narrow),
            ExplainText.render(Samples.foretold, narrow),
            ExplainText.render(Samples.explained, narrow),
            ResolveText.heading
                + Samples.resolved.results.map { ResolveText.render($0, narrow) }.joined(),
            ReloadText.render(Samples.reloaded, narrow),
            RoutesText.render(Samples.routes, narrow),
        ]
        for line in texts.flatMap({ $0.split(separator: "\n") }) {
            #expect(line.count <= 80, "\(line)")
        }
    }

    @Test("at a width of 80 columns, `stats` wraps no table row")
    func unwrapped() {
        var stats = Samples.stats
        // The line about the budget is wider than 80 columns, so the test omits the budget.
        stats.vendors[0].budget = nil
        let narrow = Palette(isEnabled: false, width: 80)
        #expect(StatsText.render(stats, narrow) == StatsText.render(stats, plain))
    }

    @Test("a wide text in the last column wraps inside this column")
    func hanging() {
        var table = Table("", "")
        table.add("PACKETS", "one two three four")
        #expect(
            table.text(Palette(isEnabled: false, width: 20)) == """
                PACKETS  one two
                         three four

                """
        )
    }

    @Test("`stats` shows billable calls for names without a route as `health probes`")
    func probes() {
        var stats = Samples.stats
        stats.vendors[0].routes = [RouteCost(route: "", domain: "", names: 60)]
        #expect(StatsText.render(stats, plain).contains("60  100.0 %  health probes\n"))
    }

    @Test("lines wrap between words; a long word is not split")
    func wrapping() {
        #expect(wrapped("  one two three", to: 10, indent: 4) == "  one two\n    three")
        #expect(wrapped("a 0123456789 b", to: 5, indent: 0) == "a\n0123456789\nb")
        #expect(wrapped("one two three", to: nil, indent: 0) == "one two three")
        #expect(wrapped("a  b   c d", to: 6, indent: 1) == "a  b\n c d")
    }

    @Test("the titles of watch are above their columns")
    func watchColumns() throws {
        let line = try #require(QueryText.render(Samples.watch, plain).split(separator: "\n").first)
        let query = try #require(Samples.watch.queries.first)
        for (title, cell) in [
            ("RCODE", query.rcode), ("TYPE", " " + query.type + " "), ("NAME", query.name),
        ] {
            let column = try #require(QueryText.heading.firstRange(of: title)).lowerBound
            let start = QueryText.heading.distance(from: QueryText.heading.startIndex, to: column)
            let blanks = cell.prefix { $0 == " " }.count
            #expect(line.dropFirst(start - blanks).hasPrefix(cell), "\(title)")
        }
    }

    @Test("dump marks each record whose name differs from the name of its entry")
    func dumpedAlias() {
        let entry = CachedEntry(
            name: "www.example.com.",
            type: "A",
            rcode: "noerror",
            source: "isp",
            server: "udp://192.0.2.53",
            ageSeconds: 2,
            ttlSeconds: 58,
            records: [
                "www.example.com. 300 IN CNAME web.example.net.",
                "web.example.net. 58 IN A 192.0.2.1",
            ]
        )
        #expect(
            DumpText.render(entry) == """
                www.example.com. 300 IN CNAME web.example.net. ; isp udp://192.0.2.53 age=2 hits=0
                  web.example.net. 58 IN A 192.0.2.1 ; part of www.example.com. A

                """
        )
    }

    @Test("stats shows the reasons of dropped addresses")
    func droppedAddresses() {
        var stats = Samples.stats
        stats.vendors[0].dropped = ["private": 3, "unusable": 1]
        let text = StatsText.render(stats, plain)
        #expect(text.contains("addresses dropped 4: 3 private, 1 unusable"), "\(text)")
    }

    @Test(
        "a latency argument without a unit is in milliseconds",
        arguments: [
            ("50ms", 50_000), ("1s", 1_000_000), ("0.5s", 500_000), ("800us", 800), ("50", 50_000),
            ("0", 0), ("soon", nil), ("1h", nil), ("", nil), ("-1", nil), ("1e9", nil),
        ] as [(String, Int?)]
    )
    func latencies(_ text: String, _ microseconds: Int?) {
        #expect(Latency(argument: text)?.microseconds == microseconds)
    }

    @Test("JSON replies have the current field names in addition to the deprecated field names")
    func oneMeaning() throws {
        var server = UpstreamServer(url: "udp://192.0.2.53", transport: "udp", protected: false)
        server.latencyMs = 1.25
        server.failures = 7
        #expect(server.latencyUs == 1_250 && server.failed == 7)
        var stats = UpstreamStats(name: "isp", protected: false)
        stats.failures = ["timeout": 2, "broken": 1]
        #expect(stats.failed == 3 && stats.failuresByKind == stats.failures)
        let result = Resolved(
            name: "a.",
            type: "A",
            rcode: "noerror",
            source: "cache",
            server: "isp/udp://192.0.2.53"
        )
        #expect(result.origin == "isp" && result.originServer == "udp://192.0.2.53")
        let entry = CachedEntry(
            name: "a.",
            type: "A",
            rcode: "noerror",
            source: "isp",
            server: "udp://192.0.2.53",
            ageSeconds: 0,
            ttlSeconds: 1
        )
        #expect(entry.origin == result.origin && entry.originServer == result.originServer)
        var attempt = LiveAttempt(name: "isp", server: "", why: "first", afterMs: 0.5)
        attempt.tookMs = 20
        #expect(attempt.afterUs == 500 && attempt.tookUs == 20_000)
    }
}
