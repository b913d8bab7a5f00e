// SPDX-License-Identifier: Apache-2.0
import Control

enum VendorText {
    static func rest(_ rest: VendorRest, of vendor: String) -> String {
        let soon = rest.forSeconds.map { $0 > 0 ? "in \(Units.seconds($0))" : "now" } ?? "later"
        return switch rest.by {
        case .operator: "paused by the operator until `httpdnsctl resume \(vendor)`"
        case .account:
            "refused the account\(rest.error.map { " (\($0))" } ?? ""): one probe call \(soon)"
        case .limit: "rate limited (all servers returned HTTP 429): next call \(soon)"
        case .budget: rest.error ?? "the budget is spent; the next one starts \(soon)"
        }
    }

    static func budget(_ budget: BudgetStatus) -> String {
        let beyond =
            switch budget.state {
            // `beyond` can be above 0 although the budget is not spent. It also counts calls of
            // earlier days, calls at times when the stored counts were unknown, and calls that the
            // daemon did not make because a client had used up its part of the budget.
            case .within:
                budget.beyond == 0
                    ? ""
                    : "; calls not made or over the budget so far:"
                        + " \(Units.count(budget.beyond))"
            case .spent: ", \(calls(budget.beyond)) not made"
            case .exceeded: ", \(calls(budget.beyond)) over the budget"
            }
        if let problem = budget.problem { return "budget: \(problem)" }
        let limits: [(used: UInt64?, limit: UInt64?, what: String)] = [
            (budget.spentToday, budget.callsPerDay, "calls today"),
            (budget.unitsToday, budget.unitsPerDay, "units today"),
            (budget.unitsThisMonth, budget.unitsPerMonth, "units this month"),
        ]
        let uses = limits.compactMap { used, limit, what in
            limit.map { limit in
                "\(Units.count(used ?? 0)) of \(Units.count(limit)) \(what)"
                    + " (\(Units.percent(used ?? 0, of: limit)))"
            }
        }
        let title =
            budget.shared == true ? "this machine's use of the fleet's budget: " : "budget: "
        return title + uses.joined(separator: ", ") + beyond
            + "; the day ends in \(Units.seconds(budget.dayEndsSeconds))"
    }

    private static func calls(_ number: UInt64) -> String { Units.count(number, "call", "calls") }

    static func units(_ units: BilledUnits, _ cost: BilledCost?) -> String {
        let bounds = Units.range(units)
        guard let today = units.today, let month = units.month else {
            return "units: \(bounds) since start; unknown for the day and the month"
        }
        let money = cost.map { " (\(Units.money($0)))" } ?? ""
        return "units: \(bounds) since start, \(Units.count(today)) today,"
            + " \(Units.count(month)) this month\(money)"
    }

    static func refresh(_ refresh: AddressRefresh) -> String {
        let age = refresh.lastAgeSeconds.map { ", last \(Units.seconds($0)) ago" } ?? ""
        let failures =
            refresh.failures == 0
            ? "" : ", \(Units.count(refresh.failures, "failure", "failures"))"
        return "addresses refreshed \(Units.count(refresh.count, "time", "times"))\(age)\(failures)"
            + (refresh.error.map { ": \($0)" } ?? "")
    }
}
