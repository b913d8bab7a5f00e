// SPDX-License-Identifier: Apache-2.0
import Control

enum VendorText {
    /// Reason for a pause, and time of the next call.
    static func rest(_ rest: VendorRest, of vendor: String) -> String {
        let soon = rest.forSeconds.map { $0 > 0 ? "in \(Units.seconds($0))" : "now" } ?? "later"
        return switch rest.by {
        case .operator: "paused by the operator until `httpdnsctl resume \(vendor)`"
        case .account:
            "refused the account\(rest.error.map { " (\($0))" } ?? ""): one probe call \(soon)"
        case .limit: "rate limited (all servers returned HTTP 429): next call \(soon)"
        case .budget: "today's budget is spent: next call \(soon)"
        }
    }

    static func budget(_ budget: BudgetStatus) -> String {
        let beyond =
            switch budget.state {
            case .within: budget.beyond == 0 ? "" : ", \(Units.count(budget.beyond)) over budget"
            case .spent: ", \(Units.count(budget.beyond)) not made"
            case .exceeded: ", \(Units.count(budget.beyond)) made over budget"
            }
        return
            "budget: \(Units.count(budget.spentToday)) of \(Units.count(budget.callsPerDay)) calls"
            + " today (\(Units.percent(budget.spentToday, of: budget.callsPerDay)))\(beyond);"
            + " the day ends in \(Units.seconds(budget.dayEndsSeconds))"
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
