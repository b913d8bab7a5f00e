// SPDX-License-Identifier: Apache-2.0
import Control

/// What several verbs say about a vendor.
enum VendorText {
    /// Why a vendor is not asked, and until when.
    static func rest(_ rest: VendorRest, of vendor: String) -> String {
        let soon = rest.forSeconds.map { $0 > 0 ? "in \(Units.seconds($0))" : "now" } ?? "later"
        return switch rest.by {
        case .operator: "paused by an operator, until `httpdnsctl resume \(vendor)`"
        case .account:
            "refuses the account\(rest.error.map { " (\($0))" } ?? ""): one trial call \(soon)"
        case .limit: "rests, as all its servers said 429: asked again \(soon)"
        case .budget: "has spent today's budget: asked again \(soon)"
        }
    }

    /// What has been spent of what may be.
    static func budget(_ budget: BudgetStatus) -> String {
        let beyond =
            switch budget.state {
            case .within: budget.beyond == 0 ? "" : ", \(Units.count(budget.beyond)) beyond"
            case .spent: ", \(Units.count(budget.beyond)) not made"
            case .exceeded: ", \(Units.count(budget.beyond)) made beyond"
            }
        return
            "budget: \(Units.count(budget.spentToday)) of \(Units.count(budget.callsPerDay)) calls"
            + " today (\(Units.percent(budget.spentToday, of: budget.callsPerDay)))\(beyond);"
            + " the day ends in \(Units.seconds(budget.dayEndsSeconds))"
    }

    /// How the addresses of its servers are kept up to date.
    static func refresh(_ refresh: AddressRefresh) -> String {
        let age = refresh.lastAgeSeconds.map { ", last \(Units.seconds($0)) ago" } ?? ""
        let failures =
            refresh.failures == 0
            ? "" : ", \(Units.count(refresh.failures, "time", "times")) in vain"
        return "addresses: came \(Units.count(refresh.count, "time", "times"))\(age)\(failures)"
            + (refresh.error.map { ": \($0)" } ?? "")
    }
}
