// SPDX-License-Identifier: Apache-2.0
import Control

enum RoutesText {
    static func render(_ reply: RoutesReply, _ palette: Palette) -> String {
        guard !reply.routes.isEmpty else { return "no routes: the upstreams resolve all names\n" }
        var table = Table("DOMAINS", "VENDORS", "FALLBACK", "UPSTREAMS", "PLACE")
        for route in reply.routes {
            let except =
                route.except.isEmpty ? [] : ["except: " + route.except.joined(separator: ", ")]
            let covered = reply.pattern.map { ["covered by `\($0)`"] } ?? []
            table.add(
                Table.Cell(route.domains.joined(separator: ", "), .heading),
                list(route.vendors),
                route.vendors.isEmpty ? "-" : route.fallback,
                route.upstreams.isEmpty ? "default" : list(route.upstreams),
                Table.Cell(route.place, .faint),
                notes: covered + except
            )
        }
        return table.text(palette)
    }

    private static func list(_ names: [String]) -> String {
        names.isEmpty ? "-" : names.joined(separator: ", ")
    }
}
