// SPDX-License-Identifier: Apache-2.0

/// Position in a settings file.
package struct SettingsPlace: Sendable, Hashable, CustomStringConvertible {
    package var file = ""

    /// Line from 1; 0 if the setting is not from a file.
    package var line = 0

    /// Column in Unicode scalars, from 1.
    package var column = 0

    package var description: String { "\(file):\(line)" }
}

/// Error or warning about a settings file.
package struct SettingsProblem: Sendable, Hashable, CustomStringConvertible {
    package var file: String

    /// Line from 1; 0 if the problem concerns the whole file.
    package var line: Int

    /// Column in Unicode scalars, from 1; 0 if the problem concerns the whole file.
    package var column: Int

    package var message: String

    /// Proposed correction, such as "did you mean `listen`?".
    package var hint: String?

    /// True if the message or hint depends on the content of a secret file.
    package var describesSecret = false

    package init(file: String, line: Int, column: Int, message: String, hint: String? = nil) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.hint = hint
    }

    /// Text `file:line:column: message (hint)`.
    package var description: String {
        let place = line == 0 ? file : "\(file):\(line):\(column)"
        return "\(place): \(message)" + (hint.map { " (\($0))" } ?? "")
    }
}

package struct SettingsErrors: Error, Sendable, Hashable, CustomStringConvertible {
    package var problems: [SettingsProblem]
    package var warnings: [SettingsProblem] = []

    package init(problems: [SettingsProblem], warnings: [SettingsProblem] = []) {
        self.problems = problems
        self.warnings = warnings
    }

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
