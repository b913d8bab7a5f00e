// SPDX-License-Identifier: Apache-2.0
internal import Control

/// Value of `from`: source of the servers of an upstream.
package enum UpstreamSource: Sendable, Hashable, CustomStringConvertible {
    case network

    case file(String)

    package var description: String {
        switch self {
        case .network: "network"
        case .file(let path): path
        }
    }
}

extension SettingsKind where Value == UpstreamSource {
    static var upstreamSource: SettingsKind {
        let paths = SettingsKind<String>.path()
        return .scalar(
            "`network` or \(paths.expected)",
            schema: SettingsSchema.string("^(network$|/)", longest: SettingsLimits.pathOctets),
            read: { text throws(Mismatch) in
                guard text != "network" else { return .network }
                guard text.hasPrefix("/"), text.utf8.count <= SettingsLimits.pathOctets else {
                    throw Mismatch(hint: DidYouMean.hint(for: text, among: ["network"]))
                }
                return .file(text)
            }
        )
    }
}
