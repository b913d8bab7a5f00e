// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control

extension ReloadReply {
    /// Creates the reply; `hidesSecrets` replaces messages that depend on secret files' content.
    init(_ outcome: ReloadOutcome, hidesSecrets: Bool = false) {
        self.init(
            applied: outcome.isApplied,
            problems: outcome.problems.map { problem in
                let isHidden = hidesSecrets && problem.describesSecret
                return SettingsComplaint(isHidden ? problem.withoutReason : problem)
            },
            warnings: outcome.warnings.map(SettingsComplaint.init),
            changes: outcome.changes.map(SettingChange.init),
            needsRestart: outcome.needsRestart,
            removedAnswers: outcome.removedAnswers,
            notes: outcome.notes.isEmpty ? nil : outcome.notes
        )
    }
}

extension SettingsProblem {
    fileprivate var withoutReason: SettingsProblem {
        SettingsProblem(
            file: file,
            line: line,
            column: column,
            message: "the secret is not valid",
            hint: "to see the reason, run `httpdnsd --config FILE --check` as root"
        )
    }
}

extension SettingsComplaint {
    fileprivate init(_ problem: SettingsProblem) {
        self.init(
            file: problem.file,
            line: problem.line,
            column: problem.column,
            message: problem.message,
            hint: problem.hint
        )
    }
}

extension SettingChange {
    fileprivate init(_ change: SettingsChange) {
        let kind: Kind =
            switch change.kind {
            case .added: .added
            case .removed: .removed
            case .changed: .changed
            case .secret: .secret
            }
        self.init(path: change.path, kind: kind, old: change.old, new: change.new)
    }
}
