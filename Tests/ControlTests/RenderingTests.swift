// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Control
@testable import httpdnsctl

@Suite("What people see")
struct RenderingTests {
    /// No colours.
    let plain = Palette(isEnabled: false)

    @Test("status is one screen, with every fault on it")
    func status() {
        #expect(
            StatusText.render(Samples.status, plain) == """
                httpdnsd 0.1.0  DEGRADED  up 3 d 4 h  pid 4711
                listening    127.0.0.1:53 (udp+tcp)  [::1]:53 (udp, socket-activation)
                resolv.conf  points here (127.0.0.1)
                cache        1 entry, 12.0 MiB of 64.0 MiB (18.8 %)

                VENDOR       STATE      CALLS  FAILED   MEDIAN  BILLABLE  HOW                 REMARKS
                tencent      degraded  12,345                     12,000  tencent over https  clock 1 min 15 s behind ours
                * 192.0.2.1  up        12,000       0  18.3 ms
                  192.0.2.2  DOWN         345     345        -                                last error: timeout, 2 min 10 s ago

                UPSTREAM  STATE  QUERIES  FAILED  MEDIAN  HOW                             REMARKS
                isp       up          99       1  900 µs  udp://192.0.2.53 (unprotected)  last error: refused, 1 h 6 min ago

                PROBLEMS
                  vendor tencent: 1 of 2 servers does not answer

                """
        )
    }

    @Test("the status of a daemon that has just begun has no empty tables")
    func bareStatus() {
        let status = StatusReply(state: .starting, version: "0.1.0", pid: 1, uptimeSeconds: 0)
        #expect(
            StatusText.render(status, plain) == """
                httpdnsd 0.1.0  STARTING  up 0 s  pid 1
                listening    nowhere
                resolv.conf  could not be read
                cache        0 entries, 0 B of 0 B (-)

                """
        )
    }

    @Test("stats has a section for each kind of counter")
    func stats() {
        #expect(
            StatsText.render(Samples.stats, plain) == """
                since 1 min ago

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
                hits     900 of 1,000 questions (90.0 %)
                changes  70 inserted, 2 evicted, 13 expired

                VENDOR   CALLS  BILLABLE  WITH ADDRESS  EMPTY  FAILED  CONNECTIONS  REUSED  AVOIDED
                tencent     61        58            55      3       3            4      57      937
                    failed: 2 timeout, 1 http
                    avoided: 900 cache, 30 paired, 7 merged

                UPSTREAM               QUERIES  ANSWERED  FAILED  TCP RETRIES
                isp       unprotected       42        41       1            1
                    failed: 1 timeout

                MISSES   3 in flight, 7 merged, 0 dropped
                PACKETS  1,002 received, 2 ignored, 1 truncated-replies
                PROCESS  20.0 MiB resident, 24 descriptors, 4 threads, 1.25 s of processor time

                """
        )
    }

    @Test("a watch shows the counters that moved, by how much and how fast")
    func rates() {
        var later = Samples.stats
        later.sinceSeconds = 62
        later.queries.total += 500
        later.queries.bySource["cache"] = 1400
        later.queries.bySource["stale"] = 1
        later.vendors[0].calls += 3
        #expect(
            RatesText.render(from: Samples.stats, to: later, seconds: 2, plain) == """
                in 2.0 s
                COUNTER             MORE  PER SECOND
                queries              500     250.0/s
                queries from cache   500     250.0/s
                queries from stale     1       0.5/s
                tencent calls          3       1.5/s
                now: 3 in flight, 55 entries cached, 20.0 MiB resident, 24 descriptors


                """
        )
    }

    @Test("a watch notices that the counters began again")
    func restart() {
        var later = StatsReply(sinceSeconds: 4)
        later.queries.total = 8
        #expect(
            RatesText.render(from: Samples.stats, to: later, seconds: 10, plain) == """
                counters started again 4 s ago
                COUNTER  MORE  PER SECOND
                queries     8       2.0/s
                now: 0 in flight, 0 entries cached, 0 B resident, 0 descriptors


                """
        )
    }

    @Test("a watch without change says so")
    func quiet() {
        let text = RatesText.render(from: Samples.stats, to: Samples.stats, seconds: 1, plain)
        #expect(text.hasPrefix("in 1.0 s\nnothing happened\nnow: "))
    }

    @Test("lookup shows the records below each entry")
    func lookup() {
        #expect(
            LookupText.render(Samples.lookup, plain) == """
                NAME              TYPE  RCODE      TTL         AGE   HITS  FROM
                www.example.com.  A     noerror   18 s        42 s  1,234  tencent 192.0.2.1:443
                    192.0.2.10
                    192.0.2.11
                www.example.com.  TXT   nodata   stale  6 min 40 s      0  isp (do)

                """
        )
    }

    @Test("version tells of both programs and the libraries")
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

    @Test("colours change nothing but colours")
    func colours() {
        let coloured = Palette(isEnabled: true)
        for (with, without) in [
            (StatusText.render(Samples.status, coloured), StatusText.render(Samples.status, plain)),
            (StatsText.render(Samples.stats, coloured), StatsText.render(Samples.stats, plain)),
            (LookupText.render(Samples.lookup, coloured), LookupText.render(Samples.lookup, plain)),
        ] {
            #expect(with != without)
            #expect(with.replacing(/\u{1B}\[[0-9]+m/, with: "") == without)
        }
    }

    @Test("nothing the daemon sends can command the terminal")
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
        status.upstreams[0].url = evil
        var stats = Samples.stats
        stats.queries.bySource[evil] = 1
        stats.packets[evil] = 1
        stats.vendors[0].failures[evil] = 1
        var lookup = Samples.lookup
        lookup.entries[0].name = evil
        lookup.entries[0].records = [evil]
        for text in [
            StatusText.render(status, plain), StatsText.render(stats, plain),
            LookupText.render(lookup, plain),
            RatesText.render(from: Samples.stats, to: stats, seconds: 1, plain),
            try JSONOutput.text(status, indented: true),
        ] {
            #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || isPrintable($0) } as Bool)
        }
        #expect(
            Failure(message: evil, hint: evil, status: .failed).text
                == "httpdnsctl: \(escaped)\nhint: \(escaped)"
        )
    }

    @Test("escaped JSON is still the same JSON")
    func escapedJSON() throws {
        let value = JSONValue.object(["a": .string("\u{9B}\u{1F600}\u{E0001}\u{7F}\n\"")])
        let text = try JSONOutput.text(value, indented: false)
        #expect(text.contains(#"\u009b"#) && text.contains(#"\udb40\udc01"#))
        #expect(try JSONText.decode(JSONValue.self, from: Array(text.utf8)) == value)
    }
}
