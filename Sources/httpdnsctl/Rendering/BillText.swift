// SPDX-License-Identifier: Apache-2.0
import Control

enum BillText {
    static func render(_ reply: BillReply, _ palette: Palette) -> String {
        guard !reply.vendors.isEmpty else { return "no vendors configured\n" }
        var text = vendors(reply, palette)
        for vendor in reply.vendors {
            let parts = [routes(vendor, palette), names(vendor, palette)].compactMap(\.self)
            for part in parts { text += "\n" + part }
        }
        return text + "\n" + advice(reply.advice, palette)
    }

    private static func vendors(_ reply: BillReply, _ palette: Palette) -> String {
        let period = reply.period == "month" ? "COST THIS MONTH" : "COST TODAY"
        var table = Table([
            "VENDOR", ">UNITS TODAY", ">UNITS THIS MONTH", ">\(period)", ">UNITS SINCE START",
        ])
        for vendor in reply.vendors {
            let units = vendor.units
            table.add(
                Table.Cell(vendor.name, .heading),
                units.today.map(Units.count) ?? "unknown",
                units.month.map(Units.count) ?? "unknown",
                vendor.cost.map(Units.money) ?? "unknown",
                Units.range(units),
                notes: [rules(vendor.rules)] + saved(vendor.saved)
                    + (vendor.counted.map { [counted($0)] } ?? [])
                    + (vendor.problem.map { [$0] } ?? [])
            )
        }
        return table.text(palette)
    }

    private static func rules(_ rules: BillRules) -> String {
        let item =
            switch rules.item {
            case "request": "request"
            case "name": "name in a request"
            default: "name and family (A or AAAA) for which the reply has an address"
            }
        var text = "\(Units.count(rules.weight, "unit", "units")) per \(item)"
        if rules.freePerMonth > 0 {
            text += "; \(Units.count(rules.freePerMonth, "unit", "units")) a month free"
        }
        if let price = rules.price { text += "; \(Units.money(price)) per 10,000 units" }
        if let page = rules.page, let day = rules.readOn {
            text += "; vendor's page, read on \(day): \(page)"
        }
        return rules.known
            ? text : "assumed, because the vendor publishes no billing rules: " + text
    }

    private static func counted(_ count: VendorCount) -> String {
        let what = "resolutions that the vendor counted this month for the whole account"
        let label =
            count.confirmed
            ? "" : " (the request for this count was not tested with a real account)"
        if let problem = count.problem { return "\(what)\(label): unknown (\(problem))" }
        var text =
            "\(what)\(label): \(Units.count(count.http ?? 0)) over HTTP, "
            + "\(Units.count(count.https ?? 0)) over HTTPS"
        if let units = count.units { text += " = \(Units.count(units, "unit", "units"))" }
        if let difference = count.difference {
            text +=
                difference == 0
                ? ", as many units as the daemon counted"
                : ", \(Units.count(difference.magnitude, "unit", "units")) "
                    + "\(difference > 0 ? "more" : "fewer") than the daemon counted"
        }
        return text
    }

    private static func saved(_ saved: Counts) -> [String] {
        let parts = saved.filter { $0.value > 0 }.sorted { $0.key < $1.key }
            .map { "\(Units.count($0.value)) \($0.key)" }
        return parts.isEmpty ? [] : ["units saved: " + parts.joined(separator: ", ")]
    }

    private static func routes(_ vendor: VendorBill, _ palette: Palette) -> String? {
        let routes = vendor.routes.filter { $0.names > 0 }
        guard !routes.isEmpty else { return nil }
        var table = Table("ROUTE", ">UNITS", ">SHARE")
        for route in routes {
            table.add(
                TopText.route(route.route, route.domain),
                Units.count(route.units ?? 0),
                Units.percent(route.units ?? 0, of: vendor.units.atMost)
            )
        }
        return table.text(palette)
    }

    private static func names(_ vendor: VendorBill, _ palette: Palette) -> String? {
        guard !vendor.names.isEmpty else { return nil }
        var table = Table("NAME", ">UNITS", ">CALLS")
        for name in vendor.names {
            table.add(name.name, Units.count(name.units ?? 0), Units.count(name.calls))
        }
        return table.text(palette)
    }

    private static func advice(_ advice: [BillAdvice], _ palette: Palette) -> String {
        guard !advice.isEmpty else {
            return "For the calls so far, no other setting would have cost less.\n"
        }
        var table = Table("SETTING THAT COSTS LESS", "VENDOR", ">UNITS A DAY", ">CHANGE")
        for entry in advice {
            table.add(
                Table.Cell(entry.setting, .heading),
                entry.vendor,
                Units.count(entry.unitsPerDay),
                "\(entry.changePercent) %",
                notes: ["disadvantage: \(entry.givesUp)"]
            )
        }
        return table.text(palette)
    }
}
