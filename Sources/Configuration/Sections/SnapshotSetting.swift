// SPDX-License-Identifier: Apache-2.0

package enum SnapshotSetting: Sendable, Hashable {
    /// File in `$STATE_DIRECTORY`; no snapshot if this variable is not set.
    case automatic

    case off
    case file(String)

    /// Returns nil if no snapshot is written.
    package func path(in stateDirectory: String?) -> String? {
        switch self {
        case .automatic: stateDirectory.map { $0 + "/cache.snapshot" }
        case .off: nil
        case .file(let path): path
        }
    }
}

extension SettingsKind where Value == SnapshotSetting {
    static var snapshot: SettingsKind {
        // Leaves space for suffixes such as `.damaged`.
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
                        throw Mismatch(hint: "add a file name, for example \(text)cache.snapshot")
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
