// SPDX-License-Identifier: Apache-2.0
import Control

enum TopText {
    static func costs(_ reply: TopReply<NameCost>, _ palette: Palette) -> String {
        var table = Table("NAME", ">CALLS", ">SHARE", ">UNITS", "VENDOR", "ROUTE")
        for entry in reply.entries {
            table.add(
                Table.Cell(entry.name, .heading),
                calls(entry),
                Units.percent(entry.calls, of: reply.total),
                entry.units.map(Units.count) ?? "-",
                entry.vendor,
                route(entry.route, entry.domain)
            )
        }
        let title =
            "\(Units.count(reply.total, "billable call", "billable calls")), counted per name,"
            + " in the last \(Units.seconds(reply.sinceSeconds))"
        return palette.paint(title, .faint) + "\n" + table.text(palette)
    }

    static func counts(_ reply: TopReply<QueryCount>, _ palette: Palette) -> String {
        let kind = TopRequest.Kind(rawValue: reply.kind)
        let subject = kind == .clients ? "CLIENT" : "NAME"
        var table =
            kind == .fallback
            ? Table(subject, ">QUERIES", ">SHARE", ">VENDOR EMPTY", ">VENDOR FAILED")
            : Table(subject, ">QUERIES", ">SHARE", ">MISSES", ">SLOWEST")
        for entry in reply.entries {
            let last =
                kind == .fallback
                ? (Units.count(entry.fallbackEmpty), Units.count(entry.fallbackFailed))
                : (Units.count(entry.misses), Units.microseconds(UInt64(entry.slowestUs)))
            table.add(
                Table.Cell(entry.name, .heading),
                Units.count(entry.queries),
                Units.percent(entry.queries, of: reply.total),
                last.0,
                last.1
            )
        }
        return title(reply, palette) + table.text(palette)
    }

    static func slowest(_ reply: TopReply<QueryEvent>, _ palette: Palette) -> String {
        var table = Table(">TOOK", "NAME", "TYPE", "RCODE", "FROM", "CLIENT")
        for entry in reply.entries {
            table.add(
                Units.microseconds(UInt64(entry.tookUs)),
                Table.Cell(entry.name, .heading),
                entry.type,
                entry.rcode,
                entry.from,
                entry.client
            )
        }
        return title(reply, palette) + table.text(palette)
    }

    private static func title<Entry>(_ reply: TopReply<Entry>, _ palette: Palette) -> String {
        let title =
            Units.count(reply.total, "query", "queries")
            + " in the last \(Units.seconds(reply.sinceSeconds))"
        return palette.paint(title, .faint) + "\n"
    }

    private static func calls(_ entry: NameCost) -> String {
        guard entry.excess > 0 else { return Units.count(entry.calls) }
        return "\(Units.count(entry.calls - min(entry.excess, entry.calls)))"
            + " to \(Units.count(entry.calls))"
    }

    static func route(_ place: String, _ domain: String) -> String {
        guard !place.isEmpty else { return "health probes" }
        return domain.isEmpty ? place : "\(place) (\(domain))"
    }
}
