// SPDX-License-Identifier: Apache-2.0
package import Configuration

package struct SettingsSource: Sendable {
    package let file: String

    /// May block on the disk.
    package let load: @Sendable () throws(SettingsErrors) -> Settings

    /// Parses `text` with the drop-ins of the settings file; `file` is its name in error messages.
    package let check: @Sendable (_ text: String, _ file: String) throws(SettingsErrors) -> Settings

    package init(file: String) {
        self.file = file
        load = { () throws(SettingsErrors) in
            try Settings.load(file: file, environment: .reload)
        }
        check = { text, name throws(SettingsErrors) in
            try Settings.load(text, named: name, insteadOf: file)
        }
    }

    package init(load: @escaping @Sendable () throws(SettingsErrors) -> Settings) {
        file = ""
        self.load = load
        check = { text, name throws(SettingsErrors) in try Settings(parsing: text, fileName: name) }
    }
}
