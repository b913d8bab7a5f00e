// SPDX-License-Identifier: Apache-2.0

/// Where the cache is kept while the daemon does not run.
package enum SnapshotSetting: Sendable, Hashable {
    /// Where systemd gives the unit a directory for its state, if it does.
    case automatic

    /// Nowhere.
    case off

    /// A file with this absolute path.
    case file(String)

    /// The path of the file; nil for none.
    ///
    /// - Parameter stateDirectory: what systemd gives the unit, if anything.
    func path(in stateDirectory: String?) -> String? {
        switch self {
        case .automatic: stateDirectory.map { $0 + "/cache.snapshot" }
        case .off: nil
        case .file(let path): path
        }
    }
}

extension SettingsKind where Value == SnapshotSetting {
    /// An absolute path, `auto` or `off`.
    static var snapshot: SettingsKind {
        // Room for what comes behind it: `.damaged`.
        let octets = SettingsLimits.pathOctets - 16
        return .scalar(
            "an absolute path of up to \(octets) octets, `auto` or `off`",
            schema: SettingsSchema.either(
                SettingsSchema.string("^(auto|off|false|/(.*[^/])?)$", longest: octets),
                .word("false")
            ),
            read: { text throws(Mismatch) in
                switch text {
                case "auto": return .automatic
                case "off", "false": return .off
                default:
                    guard text.hasPrefix("/"), text.utf8.count <= octets else { throw Mismatch() }
                    guard !text.hasSuffix("/") else {
                        throw Mismatch(hint: "add a file's name, such as \(text)cache.snapshot")
                    }
                    return .file(text)
                }
            },
            write: { setting in
                switch setting {
                case .automatic: .text("auto")
                case .off: .text("off")
                case .file(let path): .text(path)
                }
            }
        )
    }
}
