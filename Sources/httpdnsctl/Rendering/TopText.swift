// SPDX-License-Identifier: Apache-2.0
import Control

/// `top` for people.
enum TopText {
    /// The names, the costliest first.
    static func render(_ reply: TopReply, _ palette: Palette) -> String {
        var table = Table("NAME", ">CALLS", ">SHARE", "VENDOR", "ROUTE")
        for entry in reply.entries {
            table.add(
                Table.Cell(entry.name, .heading),
                Table.Cell(calls(entry)),
                Table.Cell(Units.percent(entry.calls, of: reply.total)),
                Table.Cell(entry.vendor),
                Table.Cell(route(entry.route, entry.domain))
            )
        }
        let title =
            "\(Units.count(reply.total, "name", "names")) in billable calls"
            + " since \(Units.seconds(reply.sinceSeconds)) ago"
        return palette.paint(title, .faint) + "\n" + table.text(palette)
    }

    /// The calls about a name: a number, or the range it is in.
    private static func calls(_ entry: NameCost) -> String {
        guard entry.excess > 0 else { return Units.count(entry.calls) }
        return "\(Units.count(entry.calls - min(entry.excess, entry.calls)))"
            + " to \(Units.count(entry.calls))"
    }

    /// A route by its place and its first domain.
    static func route(_ place: String, _ domain: String) -> String {
        domain.isEmpty ? place : "\(place) (\(domain))"
    }
}
