// SPDX-License-Identifier: Apache-2.0
package import Configuration

/// Source of the daemon's settings.
package struct SettingsSource: Sendable {
    package let file: String

    /// Loads the settings; may block on the disk.
    package let load: @Sendable () throws(SettingsErrors) -> Settings

    /// Parses `text` in place of the file, with its drop-ins.
    package let check: @Sendable (_ text: String, _ file: String) throws(SettingsErrors) -> Settings

    /// Creates a source that reads a file and its drop-ins.
    package init(file: String) {
        self.file = file
        load = { () throws(SettingsErrors) in try Settings.load(file: file) }
        check = { text, name throws(SettingsErrors) in
            try Settings.load(text, named: name, insteadOf: file)
        }
    }

    /// Creates a source without a file.
    package init(load: @escaping @Sendable () throws(SettingsErrors) -> Settings) {
        file = ""
        self.load = load
        check = { text, name throws(SettingsErrors) in try Settings(parsing: text, fileName: name) }
    }
}
