// SPDX-License-Identifier: Apache-2.0
import Control

enum ExplainText {
    static func render(_ reply: ExplainReply, _ palette: Palette) -> String {
        var steps = Table("", "", "")
        for (index, step) in reply.steps.enumerated() {
            steps.add(
                Table.Cell("\(index + 1)", .faint),
                Table.Cell(step.stage == "special" ? "special names" : step.stage, .heading),
                step.result,
                notes: step.notes
            )
        }
        let (answer, notes) = self.answer(reply.answer)
        steps.add("", Table.Cell("answer", .heading), answer, notes: notes)
        steps.add("", Table.Cell("cost", .heading), cost(reply.cost))
        var text = steps.text(palette)
        if let live = reply.live { text += "\n" + report(live, palette) }
        return text
    }

    private static func answer(_ answer: Resolved?) -> (String, [String]) {
        guard let answer else { return ("unknown until resolved", []) }
        let ttl = answer.ttlSeconds.map { ", TTL \(Units.seconds($0))" } ?? ""
        let explanation = answer.explanation.map { ["EDE \($0)"] } ?? []
        let server = answer.server.map { " (\($0))" } ?? ""
        let made = answer.synthesized == true ? ", synthesized" : ""
        return (
            "\(answer.rcode) from \(answer.source)\(server)\(made)\(ttl)",
            answer.records + explanation
        )
    }

    private static func cost(_ cost: ExplainedCost) -> String {
        func calls(_ count: Int, _ units: UInt64?, _ money: BilledCost?) -> String {
            let parts = parts(count, units, money, to: cost.vendor)
            return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
        }
        var now = calls(cost.billableCalls, cost.units, cost.money) + " now"
        guard let next = cost.nextSeconds else { return now }
        if let units = cost.answerUnits {
            now += "; the answer cost at most \(Units.units(units, cost.answerMoney))"
        }
        let when =
            if cost.nextBy == "query" {
                "the first query after \(Units.seconds(next)) starts a resolution"
            } else {
                (next == 0 ? "the next query" : "a query after \(Units.seconds(next))")
                    + " starts a refresh"
            }
        return now + "; \(when): "
            + calls(cost.nextBillableCalls, cost.nextUnits, cost.nextMoney)
    }

    private static func parts(
        _ calls: Int,
        _ units: UInt64?,
        _ money: BilledCost?,
        to vendor: String? = nil
    ) -> [String] {
        let units = units.flatMap { $0 > 0 ? Units.units($0, money) : nil }
        let name = vendor.map { " to \($0)" } ?? ""
        return [
            calls > 0 ? Units.count(calls, "billable call", "billable calls") + name : nil, units,
        ].compactMap(\.self)
    }

    private static func report(_ live: LiveReport, _ palette: Palette) -> String {
        var table = Table(">AFTER", "WHY", "SERVER", ">TOOK", "CONNECTION", "STATUS", "RESULT")
        for attempt in live.attempts {
            table.add(
                Units.milliseconds(attempt.afterMs),
                attempt.why,
                Table.Cell("\(attempt.name) \(attempt.server)", .heading),
                attempt.tookMs.map(Units.milliseconds) ?? "-",
                attempt.reused.map { $0 ? "reused" : "new" } ?? "-",
                attempt.status.map { "\($0)" } ?? "-",
                attempt.result,
                notes: [attempt.request, times(attempt)].compactMap(\.self)
            )
        }
        var text = table.text(palette)
        for note in live.notes { text += palette.line("- " + note, indent: 2) }
        if live.leftOut > 0 {
            let count = Units.count(live.leftOut)
            text += palette.paint("\(count) more attempts and notes not shown", .faint) + "\n"
        }
        let (answer, records) = self.answer(live.answer)
        let took = live.answer.tookUs.map { " after \(Units.microseconds(UInt64($0)))" } ?? ""
        text += palette.line("answer \(answer)\(took)")
        for record in records { text += palette.line("    " + record, indent: 6) }
        let cost = parts(live.billableCalls, live.units, live.money)
        return text
            + palette.line("cost \(cost.isEmpty ? "nothing" : cost.joined(separator: ", "))")
    }

    private static func times(_ attempt: LiveAttempt) -> String? {
        let parts = [
            ("connected", attempt.connectedMs), ("TLS ready", attempt.securedMs),
            ("first octet", attempt.firstOctetMs),
        ]
        let words = parts.compactMap { name, time in
            time.map { "\(name) after \(Units.milliseconds($0))" }
        }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }
}
