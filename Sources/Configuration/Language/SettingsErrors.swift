// SPDX-License-Identifier: Apache-2.0
package import Control

/// Position in a settings file.
package struct SettingsPlace: Sendable, Hashable, CustomStringConvertible {
    package var file = ""

    /// Line from 1; 0 if the setting is not from a file.
    package var line = 0

    /// Column in Unicode scalars, from 1.
    package var column = 0

    package var description: String { "\(file):\(line)" }
}

package struct SettingsErrors: Error, Sendable, Hashable, CustomStringConvertible {
    package var problems: [SettingsComplaint]
    package var warnings: [SettingsComplaint] = []

    package init(problems: [SettingsComplaint], warnings: [SettingsComplaint] = []) {
        self.problems = problems
        self.warnings = warnings
    }

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
