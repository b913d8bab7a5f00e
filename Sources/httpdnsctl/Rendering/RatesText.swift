// SPDX-License-Identifier: Apache-2.0
import Control

enum RatesText {
    static func render(
        from old: StatsReply,
        to new: StatsReply,
        seconds: Double,
        _ palette: Palette
    ) -> String {
        let restarted = new.sinceSeconds < old.sinceSeconds
        let before = restarted ? [:] : Dictionary(counters(old)) { first, _ in first }
        let elapsed = restarted ? Double(max(1, new.sinceSeconds)) : max(seconds, 0.001)
        var table = Table("COUNTER", ">CHANGE", ">PER SECOND")
        for (name, value) in counters(new) {
            let (change, isLess) = value.subtractingReportingOverflow(before[name] ?? 0)
            guard !isLess, change > 0 else { continue }
            table.add(
                name,
                Units.count(change),
                Units.decimal(Double(change) / elapsed, digits: 1) + "/s"
            )
        }
        let title =
            restarted
            ? "counters reset \(Units.seconds(new.sinceSeconds)) ago"
            : "changes in \(Units.decimal(seconds, digits: 1)) s"
        let body = table.isEmpty ? "no changes\n" : table.text(palette)
        return palette.paint(title, .faint) + "\n" + body + now(new, palette) + "\n"
    }

    private static func now(_ stats: StatsReply, _ palette: Palette) -> String {
        palette.line(
            "now: \(Units.count(stats.misses.inFlight, "miss", "misses")) in flight,"
                + " \(Units.count(stats.cache.entries, "entry", "entries")) cached,"
                + " \(Units.octets(stats.process.rssOctets)) resident,"
                + " \(Units.count(stats.process.descriptors, "descriptor", "descriptors"))",
            .faint
        )
    }

    private static func counters(_ stats: StatsReply) -> [(String, UInt64)] {
        var list: [(String, UInt64)] = [("queries", stats.queries.total)]
        func add(_ title: String, _ counts: Counts) {
            for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
                list.append(("\(title) \(name)", count))
            }
        }
        add("queries from", stats.queries.bySource)
        add("queries with", stats.queries.byRcode)
        add("queries over", stats.queries.byTransport)
        list += [
            ("cache hits", stats.cache.hits), ("cache misses", stats.cache.misses),
            ("cache insertions", stats.cache.insertions),
            ("cache evictions", stats.cache.evictions), ("cache expired", stats.cache.expired),
        ]
        for vendor in stats.vendors {
            list += [
                ("\(vendor.name) lookups", vendor.lookups),
                ("\(vendor.name) lookups with address", vendor.successes),
                ("\(vendor.name) lookups empty", vendor.empty),
                ("\(vendor.name) lookups unanswered", vendor.unanswered),
                ("\(vendor.name) calls", vendor.calls),
                ("\(vendor.name) billable calls", vendor.billableCalls),
                ("\(vendor.name) names in billable calls", vendor.billableNames),
            ]
            add("\(vendor.name) calls failed", vendor.failures)
            list += [
                ("\(vendor.name) connections opened", vendor.connectionsOpened),
                ("\(vendor.name) connections reused", vendor.connectionsReused),
            ]
            add("\(vendor.name) calls avoided", vendor.avoided)
            add("\(vendor.name) addresses dropped", vendor.dropped ?? [:])
            if let budget = vendor.budget {
                list.append(("\(vendor.name) calls beyond the budget", budget.beyond))
            }
        }
        for upstream in stats.upstreams {
            list += [
                ("\(upstream.name) queries", upstream.queries),
                ("\(upstream.name) queries answered", upstream.successes),
            ]
            add("\(upstream.name) queries failed", upstream.failures)
            list.append(("\(upstream.name) TCP retries", upstream.tcpRetries))
            list.append(("\(upstream.name) foreign replies", upstream.foreignReplies))
        }
        add("packets", stats.packets)
        list += [("misses merged", stats.misses.merged), ("misses dropped", stats.misses.dropped)]
        list += [("refreshes started", stats.refresh.started)]
        list += [("refreshes failed", stats.refresh.failed)]
        list += [("log lines dropped", stats.log?.dropped ?? 0)]
        return list
    }
}
