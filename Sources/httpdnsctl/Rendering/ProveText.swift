// SPDX-License-Identifier: Apache-2.0
import Control

enum ProveText {
    static func plan(_ plan: ProveReply) -> String {
        "\(plan.vendor): \(Units.count(plan.calls, "call", "calls")) with the name "
            + "\(printable(plan.name)), at most \(Units.units(plan.units, plan.money)) in total"
    }

    static func step(_ step: ProofStep, _ palette: Palette) -> String {
        let (word, tone): (String, Palette.Tone) =
            switch step.verdict {
            case .agrees: ("agrees", .good)
            case .differs: ("DIFFERS", .bad)
            case .skipped: ("skipped", .doubtful)
            }
        let units = step.units > 0 ? ", \(Units.count(step.units, "unit", "units"))" : ""
        var text =
            palette.paint(word, tone) + String(repeating: " ", count: 9 - word.count)
            + printable(step.label) + units + "\n"
        if step.verdict != .agrees {
            text += palette.line("    expected: \(step.expected)", indent: 6)
        }
        if let request = step.request { text += palette.line("    " + request, indent: 6) }
        let status = step.status.map { "HTTP \($0): " } ?? ""
        return text + palette.line("    " + status + step.result, indent: 6)
    }

    static func summary(_ steps: [ProofStep]) -> String {
        func count(_ verdict: ProofStep.Verdict) -> Int { steps.count { $0.verdict == verdict } }
        return "\(Units.count(count(.agrees), "agrees", "agree")), "
            + "\(Units.count(count(.differs), "differs", "differ")), "
            + "\(count(.skipped)) skipped; "
            + "at most \(Units.count(steps.reduce(0) { $0 + $1.units }, "unit", "units")) billed\n"
    }
}
