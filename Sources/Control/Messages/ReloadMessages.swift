// SPDX-License-Identifier: Apache-2.0

/// The arguments of `Check`.
package struct CheckRequest: CallParameters, Equatable {
    /// The text to check; nil for the daemon's own file as it is now.
    package var text: String?

    /// What its problems are to call it.
    package var file: String?

    /// Makes the request; without a text, for the daemon's own file.
    package init(text: String? = nil, file: String? = nil) {
        self.text = text
        self.file = file
    }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable { case text, file }
}

/// One thing that is wrong, or odd, in settings.
package struct SettingsComplaint: Codable, Sendable, Equatable {
    /// The file as the daemon knows it.
    package var file: String

    /// Where, from 1; 0 if the whole file is meant, or what it asks for does not work.
    package var line: Int
    package var column: Int

    /// What is wrong; never holds the value of a secret.
    package var message: String

    /// What would be right.
    package var hint: String?

    /// Makes a complaint of its parts.
    package init(file: String, line: Int, column: Int, message: String, hint: String?) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.hint = hint
    }
}

/// One thing that new settings say otherwise.
package struct SettingChange: Codable, Sendable, Equatable {
    /// What is changed.
    package enum Kind: String, Codable, Sendable {
        case added, removed, changed

        /// A secret has another value, which is not shown.
        case secret
    }

    /// The option; entries by their names, routes by their first domains.
    package var path: String
    package var kind: Kind

    /// The values in one line of YAML; nil where there is none to show.
    package var old: String?
    package var new: String?

    /// Makes a change of its parts.
    package init(path: String, kind: Kind, old: String?, new: String?) {
        self.path = path
        self.kind = kind
        self.old = old
        self.new = new
    }
}

/// The reply to `Reload` and `Check`.
package struct ReloadReply: Codable, Sendable, Equatable {
    /// Whether the settings are in force now, as far as they need no restart; false of a check.
    package var applied: Bool

    /// Why they are not, or would not be; empty if nothing is wrong.
    package var problems: [SettingsComplaint]

    /// What is merely odd in them.
    package var warnings: [SettingsComplaint]

    /// In what they differ from those that were in force.
    package var changes: [SettingChange]

    /// The options among them that are only read when the daemon starts.
    package var needsRestart: [String]

    /// Answers that were removed from the cache, as they are not right any more.
    package var removedAnswers: Int

    /// Notes for the operator, as sentences; nil if there are none.
    package var notes: [String]?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case applied, problems, warnings, changes, notes
        case needsRestart = "needs-restart"
        case removedAnswers = "removed-answers"
    }

    /// Makes the reply of its parts.
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
