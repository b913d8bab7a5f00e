// SPDX-License-Identifier: Apache-2.0
import Control

enum StatsText {
    static func render(_ stats: StatsReply, _ palette: Palette) -> String {
        [
            "counted for \(Units.seconds(stats.sinceSeconds)): since the daemon's start, or since "
                + "`stats --reset`\n",
            queries(stats.queries, palette),
            latency(stats.latency, palette),
            cache(stats.cache, palette),
            vendors(stats.vendors, palette),
            cost(stats.vendors, palette),
            upstreams(stats.upstreams, palette),
            stats.fleet.map { FleetText.stats($0, palette) } ?? "",
            rest(stats, palette),
        ]
        .filter { !$0.isEmpty }
        .joined(separator: "\n")
    }

    // MARK: - Sections

    private static func queries(_ stats: QueryStats, _ palette: Palette) -> String {
        var table = Table("QUERIES", "", ">COUNT", ">SHARE")
        table.add("total", "", Units.count(stats.total), "")
        for (title, counts) in [
            ("by source", stats.bySource), ("by rcode", stats.byRcode),
            ("by transport", stats.byTransport),
            ("by origin", (stats.byOrigin?["fleet"] ?? 0) > 0 ? stats.byOrigin ?? [:] : [:]),
        ] {
            var title = title
            for (name, count) in descending(counts) {
                table.add(
                    Table.Cell(title, .faint),
                    name,
                    Units.count(count),
                    Units.percent(count, of: stats.total)
                )
                title = ""
            }
        }
        if stats.earlyFallback > 0 {
            table.add(
                Table.Cell("of upstream", .faint),
                "early fallback",
                Units.count(stats.earlyFallback),
                Units.percent(stats.earlyFallback, of: stats.total)
            )
        }
        return table.text(palette)
    }

    private static func latency(_ stats: LatencyStats, _ palette: Palette) -> String {
        var table = Table("LATENCY", ">COUNT", ">50 %", ">90 %", ">99 %", ">99.9 %", ">LONGEST")
        for (name, times) in [
            ("client", stats.client), ("cache", stats.cache), ("vendor", stats.vendor),
            ("upstream", stats.upstream),
        ] {
            let cells = [times.p50Us, times.p90Us, times.p99Us, times.p999Us, times.maxUs].map {
                Table.Cell(times.count == 0 ? "-" : Units.microseconds($0))
            }
            table.add(
                name,
                Units.count(times.count),
                cells[0],
                cells[1],
                cells[2],
                cells[3],
                cells[4]
            )
        }
        return table.text(palette)
    }

    private static func cache(_ stats: CacheStats, _ palette: Palette) -> String {
        var table = Table("CACHE", "")
        let asked = stats.hits + stats.misses
        table.add(
            "holds",
            Units.count(stats.entries, "entry", "entries")
                + " (\(Units.count(stats.negativeEntries)) negative)"
        )
        table.add(
            "memory",
            "\(Units.octets(stats.octets)) of \(Units.octets(stats.limitOctets))"
                + " (\(Units.percent(stats.octets, of: stats.limitOctets))),"
                + " index \(Units.octets(stats.indexOctets))"
        )
        table.add(
            "hits",
            "\(Units.count(stats.hits)) of \(Units.count(asked, "query", "queries"))"
                + " (\(Units.percent(stats.hits, of: asked)))"
        )
        table.add(
            "changes",
            "\(Units.count(stats.insertions)) inserted, \(Units.count(stats.evictions))"
                + " evicted, \(Units.count(stats.expired)) expired"
        )
        if let snapshot = stats.snapshot { table.add("snapshot", SnapshotText.cell(snapshot)) }
        return table.text(palette)
    }

    private static func vendors(_ vendors: [VendorStats], _ palette: Palette) -> String {
        var table = Table([
            "VENDOR", ">NAME LOOKUPS", ">WITH ADDRESS", ">EMPTY", ">UNANSWERED", ">CALLS",
            ">FAILED CALLS",
        ])
        for vendor in vendors {
            table.add(
                vendor.name,
                Units.count(vendor.lookups),
                Units.count(vendor.successes),
                Units.count(vendor.empty),
                Table.Cell(
                    Units.count(vendor.unanswered),
                    vendor.unanswered == 0 ? .plain : .doubtful
                ),
                Units.count(vendor.calls),
                failed(vendor.failures),
                notes: (vendor.protected ? [] : ["unprotected: its answers can be forged"])
                    + breakdown("failed", vendor.failures)
                    + breakdown("calls avoided", vendor.avoided)
                    + connections(vendor.connectionsOpened, vendor.connectionsReused)
                    + breakdown("addresses dropped", vendor.dropped ?? [:])
                    + (vendor.budget.map { [VendorText.budget($0)] } ?? [])
                    + (vendor.units.map { [VendorText.units($0, vendor.cost)] } ?? [])
            )
        }
        return table.text(palette)
    }

    private static func cost(_ vendors: [VendorStats], _ palette: Palette) -> String {
        var table = Table("BILLED", ">CALLS", ">NAMES", ">SHARE", "ROUTE")
        for vendor in vendors {
            table.add(
                vendor.name,
                Units.count(vendor.billableCalls),
                Units.count(vendor.billableNames),
                "",
                "all"
            )
            for cost in vendor.routes where cost.names > 0 {
                table.add(
                    "",
                    "",
                    Units.count(cost.names),
                    Units.percent(cost.names, of: vendor.billableNames),
                    TopText.route(cost.route, cost.domain)
                )
            }
        }
        return table.text(palette)
    }

    private static func upstreams(_ upstreams: [UpstreamStats], _ palette: Palette) -> String {
        var table = Table([
            "UPSTREAM", "PROTECTION", ">QUERIES", ">ANSWERED", ">FAILED", ">TCP RETRIES",
            ">FOREIGN",
        ])
        for upstream in upstreams {
            table.add(
                upstream.name,
                upstream.protected ? "protected" : Table.Cell("unprotected", .doubtful),
                Units.count(upstream.queries),
                Units.count(upstream.successes),
                failed(upstream.failures),
                Units.count(upstream.tcpRetries),
                foreign(upstream.foreignReplies),
                notes: breakdown("failed", upstream.failures)
                    + connections(upstream.connectionsOpened, upstream.connectionsReused)
            )
        }
        return table.text(palette)
    }

    private static func foreign(_ count: UInt64) -> Table.Cell {
        count == 0 ? Table.Cell(Units.count(count)) : Table.Cell(Units.count(count), .doubtful)
    }

    private static func rest(_ stats: StatsReply, _ palette: Palette) -> String {
        var table = Table("", "")
        table.add(
            Table.Cell("MISSES", .heading),
            "\(Units.count(stats.misses.inFlight)) in flight,"
                + " \(Units.count(stats.misses.merged)) merged,"
                + " \(Units.count(stats.misses.dropped)) dropped"
        )
        table.add(
            Table.Cell("REFRESH", .heading),
            "\(Units.count(stats.refresh.started)) started,"
                + " \(Units.count(stats.refresh.done)) done,"
                + " \(Units.count(stats.refresh.failed)) failed,"
                + " \(Units.count(stats.refresh.overBudget)) over budget,"
                + " \(Units.count(stats.refresh.held)) not sent"
        )
        if !stats.packets.isEmpty {
            table.add(Table.Cell("PACKETS", .heading), packets(stats.packets))
        }
        if let acceleration = stats.acceleration {
            table.add(Table.Cell("ACCELERATION", .heading), AccelerationText.cell(acceleration))
        }
        table.add(Table.Cell("NETWORK", .heading), NetworkText.render(stats.network))
        if let log = stats.log {
            table.add(
                Table.Cell("LOG", .heading),
                Table.Cell(
                    Units.count(log.dropped, "line", "lines") + " dropped",
                    log.dropped == 0 ? .plain : .doubtful
                )
            )
        }
        table.add(
            Table.Cell("PROCESS", .heading),
            "\(Units.octets(stats.process.rssOctets)) resident,"
                + " \(Units.count(stats.process.descriptors, "descriptor", "descriptors")),"
                + " \(Units.count(stats.process.threads, "thread", "threads")),"
                + " \(Units.decimal(stats.process.cpuSeconds, digits: 2)) s CPU time"
        )
        return table.text(palette)
    }

    private static func packets(_ counts: Counts) -> Table.Cell {
        let texts = descending(counts).map { name, count in
            "\(Units.count(count)) \(packetTexts[name] ?? name)"
        }
        return Table.Cell(texts.joined(separator: ", "))
    }

    private static let packetTexts = [
        "evicted-sessions": "TCP connections closed to accept new connections",
        "malformed-sessions": "TCP connections closed for invalid data",
        "overfull-sessions": "TCP connections with too many queries",
        "truncated-replies": "truncated replies",
        "unsent-replies": "replies not sent",
    ]

    // MARK: - Counts

    private static func descending(_ counts: Counts) -> [(name: String, count: UInt64)] {
        counts.map { (name: $0.key, count: $0.value) }
            .sorted { ($1.count, $0.name) < ($0.count, $1.name) }
    }

    private static func sum(_ counts: Counts) -> UInt64 {
        counts.values.reduce(0) { $0.addingReportingOverflow($1).partialValue }
    }

    private static func failed(_ counts: Counts) -> Table.Cell {
        Table.Cell(Units.count(sum(counts)), sum(counts) == 0 ? .plain : .doubtful)
    }

    private static func connections(_ opened: UInt64, _ reused: UInt64) -> [String] {
        opened > 0 || reused > 0 ? [Units.connections(opened, reused)] : []
    }

    private static func breakdown(_ title: String, _ counts: Counts) -> [String] {
        sum(counts) == 0
            ? [] : ["\(title) \(Units.count(sum(counts))): \(list(counts.filter { $0.value > 0 }))"]
    }

    private static func list(_ counts: Counts) -> String {
        descending(counts).map { "\(Units.count($0.count)) \($0.name)" }.joined(separator: ", ")
    }
}
