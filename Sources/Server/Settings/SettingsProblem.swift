// SPDX-License-Identifier: Apache-2.0

/// A place in a settings file, as `explain` shows it; lines and columns count from 1.
package struct SettingsPlace: Sendable, Hashable, CustomStringConvertible {
    /// The file as it was named on the command line.
    package var file: String

    /// The line, or 0 if the setting came from no file.
    package var line: Int

    /// The column, in characters (Unicode scalars).
    package var column: Int

    /// Makes a place; without arguments, the place of what came from no file.
    package init(file: String = "", line: Int = 0, column: Int = 0) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// The form `file:line`.
    package var description: String { "\(file):\(line)" }
}

/// One thing that is wrong, or odd, in a settings file.
package struct SettingsProblem: Sendable, Hashable, CustomStringConvertible {
    /// The file as it was named on the command line.
    package var file: String

    /// The line counted from 1, or 0 if the whole file is meant.
    package var line: Int

    /// The column counted from 1 in characters, or 0 if the whole file is meant.
    package var column: Int

    /// What is wrong; never holds the value of a secret.
    package var message: String

    /// What would be right, as in "did you mean `listen`?".
    package var hint: String?

    /// The form `file:line:column: message (hint)`, on one line.
    package var description: String {
        let place = line == 0 ? file : "\(file):\(line):\(column)"
        return "\(place): \(message)" + (hint.map { " (\($0))" } ?? "")
    }
}

/// Everything that is wrong in a settings file, in the order of its lines.
package struct SettingsErrors: Error, Sendable, Hashable, CustomStringConvertible {
    /// The errors, at least one.
    package var problems: [SettingsProblem]

    /// What is merely odd.
    package var warnings: [SettingsProblem] = []

    /// The errors, one per line.
    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
