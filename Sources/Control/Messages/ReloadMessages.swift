// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Check`.
package struct CheckRequest: CallParameters, Equatable {
    /// Text to check; nil for the daemon's settings file as it is now.
    package var text: String?

    /// File name to use in reported problems.
    package var file: String?

    /// Creates the request; without a text, for the daemon's own file.
    package init(text: String? = nil, file: String? = nil) {
        self.text = text
        self.file = file
    }

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable { case text, file }
}

/// An error or warning about the settings.
package struct SettingsComplaint: Codable, Sendable, Equatable {
    /// File as the daemon names it.
    package var file: String

    /// Position from 1; 0 if the complaint concerns the whole file or a resource that it names.
    package var line: Int
    package var column: Int

    /// Description; never contains the value of a secret.
    package var message: String

    /// Suggested correction.
    package var hint: String?

    /// Creates a complaint of its parts.
    package init(file: String, line: Int, column: Int, message: String, hint: String?) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.hint = hint
    }
}

/// A difference between the old and the new settings.
package struct SettingChange: Codable, Sendable, Equatable {
    /// Kind of change.
    package enum Kind: String, Codable, Sendable {
        case added, removed, changed

        /// A secret with another value, which is not shown.
        case secret
    }

    /// Path of the option; vendors and upstreams by name, routes by first domain.
    package var path: String
    package var kind: Kind

    /// Values as one line of YAML; nil if there is no value or it must not be shown.
    package var old: String?
    package var new: String?

    /// Creates a change from its parts.
    package init(path: String, kind: Kind, old: String?, new: String?) {
        self.path = path
        self.kind = kind
        self.old = old
        self.new = new
    }
}

/// Reply to `Reload` and `Check`.
package struct ReloadReply: Codable, Sendable, Equatable {
    /// True if the settings are in force now, except for `needsRestart`; false after a check.
    package var applied: Bool

    /// Errors that prevent or would prevent the reload; empty if there are none.
    package var problems: [SettingsComplaint]

    /// Warnings about the settings.
    package var warnings: [SettingsComplaint]

    /// Differences from the settings that were in force.
    package var changes: [SettingChange]

    /// Changed options that take effect only at a restart.
    package var needsRestart: [String]

    /// Answers that were removed from the cache because they are no longer valid.
    package var removedAnswers: Int

    /// Remarks for the operator; nil if there are none.
    package var notes: [String]?

    /// Creates the reply of its parts.
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
