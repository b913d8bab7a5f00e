// SPDX-License-Identifier: Apache-2.0

package struct CheckRequest: CallParameters, Equatable {
    /// Text of the settings to check; if nil, the daemon's settings file is checked.
    package var text: String?

    package var file: String?

    package init(text: String? = nil, file: String? = nil) {
        self.text = text
        self.file = file
    }

    package enum CodingKeys: CodingKey, CaseIterable { case text, file }
}

package struct SettingsComplaint: Codable, Sendable, Equatable {
    package var file: String

    /// Line from 1; 0 if the problem has no line.
    package var line: Int
    package var column: Int

    /// Error or warning, without values of secrets.
    package var message: String

    package var hint: String?

    package init(file: String, line: Int, column: Int, message: String, hint: String?) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.hint = hint
    }
}

package struct SettingChange: Codable, Sendable, Equatable {
    package enum Kind: String, Codable, Sendable {
        case added, removed, changed

        /// Changed secret; the value is never sent.
        case secret
    }

    package var path: String
    package var kind: Kind

    /// Earlier value, as one line of YAML; nil if the option is new or a secret.
    package var old: String?
    package var new: String?

    package init(path: String, kind: Kind, old: String?, new: String?) {
        self.path = path
        self.kind = kind
        self.old = old
        self.new = new
    }
}

package struct ReloadReply: Codable, Sendable, Equatable {
    package var applied: Bool
    package var problems: [SettingsComplaint]
    package var warnings: [SettingsComplaint]
    package var changes: [SettingChange]
    package var needsRestart: [String]
    package var removedAnswers: Int
    package var notes: [String]?

    package init(
        applied: Bool,
        problems: [SettingsComplaint] = [],
        warnings: [SettingsComplaint] = [],
        changes: [SettingChange] = [],
        needsRestart: [String] = [],
        removedAnswers: Int = 0,
        notes: [String]? = nil
    ) {
        self.applied = applied
        self.problems = problems
        self.warnings = warnings
        self.changes = changes
        self.needsRestart = needsRestart
        self.removedAnswers = removedAnswers
        self.notes = notes
    }
}
