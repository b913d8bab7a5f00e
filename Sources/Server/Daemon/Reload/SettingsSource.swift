// SPDX-License-Identifier: Apache-2.0

/// Where the daemon's settings come from, each time that they are read.
package struct SettingsSource: Sendable {
    /// The file, as it was named on the command line.
    package let file: String

    /// Reads the settings; may take as long as a disk does.
    package let load: @Sendable () throws(SettingsErrors) -> Settings

    /// Reads the text of another file as if it were this one, whose drop-ins it has.
    package let check: @Sendable (_ text: String, _ file: String) throws(SettingsErrors) -> Settings

    /// The settings of a file and its drop-ins.
    package init(file: String) {
        self.file = file
        load = { () throws(SettingsErrors) in try Settings.load(file: file) }
        check = { text, name throws(SettingsErrors) in
            try Settings.load(text, named: name, insteadOf: file)
        }
    }

    /// Settings from a text that `load` makes, without a file.
    init(load: @escaping @Sendable () throws(SettingsErrors) -> Settings) {
        file = ""
        self.load = load
        check = { text, name throws(SettingsErrors) in try Settings(parsing: text, fileName: name) }
    }
}
