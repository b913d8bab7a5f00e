// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control

extension ReloadReply {
    init(_ outcome: ReloadOutcome) {
        self.init(
            applied: outcome.isApplied,
            problems: outcome.problems.map(SettingsComplaint.init),
            warnings: outcome.warnings.map(SettingsComplaint.init),
            changes: outcome.changes.map(SettingChange.init),
            needsRestart: outcome.needsRestart,
            removedAnswers: outcome.removedAnswers,
            notes: outcome.notes.isEmpty ? nil : outcome.notes
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
