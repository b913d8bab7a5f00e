// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS

extension VendorSettings {
    func checkBudget(_ path: String, _ reading: inout SettingsReading) {
        let limits = ["calls-per-day", "units-per-day", "units-per-month"]
        guard client.budget != nil, !reading.isDamaged("\(path).budget"),
            !limits.contains(where: { reading.has("\(path).budget.\($0)") })
        else { return }
        reading.report(
            reading.place(of: "\(path).budget"),
            "the budget of the vendor `\(name)` has no limit",
            hint: "set `calls-per-day`, `units-per-day` or `units-per-month`"
        )
    }

    func checkCost(_ path: String, _ reading: inout SettingsReading) {
        guard client.budget == nil, client.callsPerSecond == nil,
            !reading.isDamaged("\(path).budget"), !reading.isDamaged("\(path).calls-per-second"),
            let vendor = try? account.vendor(), vendor.facts.isBillable,
            price?.applied(to: vendor.price).weight ?? vendor.price.weight > 0
        else { return }
        reading.warn(
            reading.place(of: path),
            "the vendor `\(name)` has no limit of billed calls: clients that query random names "
                + "can cause unlimited costs",
            hint:
                "set `budget`, for example `budget: {calls-per-day: 100000}`, or `calls-per-second`"
        )
    }

    func checkPrice(_ path: String, _ reading: inout SettingsReading) {
        if !reading.isDamaged("\(path).price") {
            let (amount, currency) = ("\(path).price.per-10000", "\(path).price.currency")
            if reading.has(amount), !reading.has(currency) {
                reading.report(
                    reading.place(of: amount),
                    "the price of the vendor `\(name)` has no currency",
                    hint: "set `price.currency`, for example `currency: CNY`"
                )
            } else if reading.has(currency), !reading.has(amount) {
                reading.report(
                    reading.place(of: currency),
                    "the vendor `\(name)` has a currency without a price",
                    hint: "set `price.per-10000` in this currency"
                )
            }
        }
        guard let budget = client.budget, budget.onExceeded == .fallback,
            !reading.isDamaged("\(path).budget"),
            let page = try? account.vendor().price
        else { return }
        let weight = price?.applied(to: page).weight ?? page.weight
        for (option, limit) in [
            ("units-per-day", budget.unitsPerDay), ("units-per-month", budget.unitsPerMonth),
        ] {
            guard let limit, limit < weight else { continue }
            reading.report(
                reading.place(of: "\(path).budget.\(option)"),
                "the vendor `\(name)` would never be called: a name costs \(weight) units, and "
                    + "`\(option)` is \(limit)",
                hint: "raise `\(option)`"
                    + (price?.weight == nil ? "" : ", or correct `price.weight`")
            )
        }
    }
}
