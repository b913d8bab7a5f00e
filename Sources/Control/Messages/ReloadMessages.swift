// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Check`.
package struct CheckRequest: CallParameters, Equatable {
    /// nil for the daemon's file.
    package var text: String?

    package var file: String?

    /// Creates the request.
    package init(text: String? = nil, file: String? = nil) {
        self.text = text
        self.file = file
    }

    /// Names.
    package enum CodingKeys: CodingKey, CaseIterable { case text, file }
}

/// An error or warning in settings.
package struct SettingsComplaint: Codable, Sendable, Equatable {
    package var file: String

    /// From 1; 0 for the whole file or a resource.
    package var line: Int
    package var column: Int

    /// Without values of secrets.
    package var message: String

    package var hint: String?

    /// Creates a complaint.
    package init(file: String, line: Int, column: Int, message: String, hint: String?) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.hint = hint
    }
}

/// A changed option.
package struct SettingChange: Codable, Sendable, Equatable {
    /// Kind of change.
    package enum Kind: String, Codable, Sendable {
        case added, removed, changed

        /// A secret with another value, which is never sent.
        case secret
    }

    package var path: String
    package var kind: Kind

    /// One line of YAML; nil for a secret.
    package var old: String?
    package var new: String?

    /// Creates a change.
    package init(path: String, kind: Kind, old: String?, new: String?) {
        self.path = path
        self.kind = kind
        self.old = old
        self.new = new
    }
}

/// Reply to `Reload` and `Check`.
package struct ReloadReply: Codable, Sendable, Equatable {
    /// False after a check.
    package var applied: Bool

    package var problems: [SettingsComplaint]

    package var warnings: [SettingsComplaint]

    package var changes: [SettingChange]

    package var needsRestart: [String]

    package var removedAnswers: Int

    package var notes: [String]?

    /// Creates the reply.
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
