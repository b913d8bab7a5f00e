// SPDX-License-Identifier: Apache-2.0

struct DoctorReport: Encodable {
    let state: Finding.State
    let findings: [Finding]

    init(_ findings: [Finding]) {
        self.findings = findings
        state =
            findings.contains { $0.state == .failure }
            ? .failure : findings.contains { $0.state == .warning } ? .warning : .ok
    }

    func text(_ palette: Palette) -> String {
        var table = Table("", "", "")
        for finding in findings {
            let cell =
                switch finding.state {
                case .ok: Table.Cell("ok", .good)
                case .warning: Table.Cell("warning", .doubtful)
                case .failure: Table.Cell("FAILURE", .bad)
                case .skipped: Table.Cell("skipped", .faint)
                }
            table.add(
                cell,
                finding.check,
                finding.what,
                notes: finding.fix.map { ["fix: " + $0] } ?? []
            )
        }
        return table.text(palette) + "\n" + conclusion(palette) + "\n"
    }

    private func conclusion(_ palette: Palette) -> String {
        let failures = findings.count { $0.state == .failure }
        let warnings = findings.count { $0.state == .warning }
        guard failures + warnings > 0 else { return palette.paint("no problems found", .good) }
        let parts = [
            failures > 0 ? Units.count(failures, "failure", "failures") : "",
            warnings > 0 ? Units.count(warnings, "warning", "warnings") : "",
        ]
        return palette.paint(
            parts.filter { !$0.isEmpty }.joined(separator: ", "),
            failures > 0 ? .bad : .doubtful
        )
    }
}
