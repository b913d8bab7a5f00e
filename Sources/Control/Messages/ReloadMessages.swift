// SPDX-License-Identifier: Apache-2.0

package struct CheckRequest: CallParameters, Equatable {
    package var text: String?

    package var file: String?

    package init(text: String? = nil, file: String? = nil) {
        self.text = text
        self.file = file
    }

    package enum CodingKeys: CodingKey, CaseIterable { case text, file }
}

/// Error or warning about a settings file.
package struct SettingsComplaint: Codable, Sendable, Hashable, CustomStringConvertible {
    package var file: String

    package var line: Int

    /// In Unicode scalars.
    package var column: Int

    /// Contains no values of secrets.
    package var message: String

    package var hint: String?

    /// A warning ends with this text if the service would not start with the settings, or if this
    /// is not known.
    ///
    /// If a warning has this text, the scripts that install the daemon do not restart the service.
    package static let outage = "after a restart, this machine would have no DNS"

    /// True if the message or hint depends on the content of a secret file; never sent.
    package var describesSecret = false

    private enum CodingKeys: CodingKey { case file, line, column, message, hint }

    package init(file: String, line: Int, column: Int, message: String, hint: String? = nil) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.hint = hint
    }

    package var description: String {
        let place = line == 0 ? file : "\(file):\(line):\(column)"
        return "\(place): \(message)" + (hint.map { " (\($0))" } ?? "")
    }
}

package struct SettingChange: Codable, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: String, Codable, Sendable {
        case added, removed, changed

        /// The value of a secret is never sent.
        case secret
    }

    package var path: String
    package var kind: Kind

    package var old: String?

    package var new: String?

    package init(path: String, kind: Kind, old: String?, new: String?) {
        self.path = path
        self.kind = kind
        self.old = old
        self.new = new
    }

    package var description: String {
        switch kind {
        case .secret: "\(path): secret changed"
        case .added: "\(path): added \(new ?? "")"
        case .removed: "\(path): removed \(old ?? "")"
        case .changed: "\(path): \(old ?? "") -> \(new ?? "")"
        }
    }
}

package struct ReloadReply: Codable, Sendable, Equatable {
    /// True if the settings are in force, except options that need a restart.
    package var applied: Bool
    package var problems: [SettingsComplaint]
    package var warnings: [SettingsComplaint]
    package var changes: [SettingChange]

    /// Number of changes that are not in ``changes``; never sent.
    package var unlistedChanges = 0

    package var needsRestart: [String]
    package var removedAnswers: Int
    package var notes: [String]?

    private enum CodingKeys: CodingKey {
        case applied, problems, warnings, changes, needsRestart, removedAnswers, notes
    }

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
