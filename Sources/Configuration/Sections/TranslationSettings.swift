// SPDX-License-Identifier: Apache-2.0
internal import Control
package import DNSWire

package enum NAT64Setting: Sendable, Hashable {
    /// Prefix from router advertisements (RFC 8781) or, if there is none, from DNS (RFC 7050).
    case automatic
    case off
    case prefix(NAT64Prefix)
}

/// Names that get synthesized addresses (`dns64`).
package enum DNS64Setting: String, Sendable, Hashable, CaseIterable {
    case vendors, all, off
}

/// Value of `portal`.
package enum PortalSetting: String, Sendable, Hashable, CaseIterable {
    case automatic = "auto"
    case off
}

extension SettingsKind where Value == NAT64Setting {
    static var nat64: SettingsKind {
        .scalar(
            "`auto`, `off` or an IPv6 prefix such as 64:ff9b::/96",
            schema: SettingsSchema.string("^(auto|off|[0-9A-Fa-f:.]+/(32|40|48|56|64|96))$"),
            read: { text throws(Mismatch) in
                switch text {
                case "auto": return .automatic
                case "off": return .off
                default:
                    guard let network = IPPrefix(text), case .v6 = network.address else {
                        throw Mismatch(hint: DidYouMean.hint(for: text, among: ["auto", "off"]))
                    }
                    guard let prefix = NAT64Prefix(network) else { throw mismatch(network, text) }
                    return .prefix(prefix)
                }
            },
            write: { setting in
                switch setting {
                case .automatic: .text("auto")
                case .off: .text("off")
                case .prefix(let prefix): .text("\(prefix)")
                }
            }
        )
    }

    private static func mismatch(_ network: IPPrefix, _ text: String) -> Mismatch {
        guard [32, 40, 48, 56, 64, 96].contains(network.length) else {
            return Mismatch(
                message: "the prefix length of `\(text)` is not valid",
                hint: "RFC 6052 §2.2: a NAT64 prefix has 32, 40, 48, 56, 64 or 96 bits"
            )
        }
        return Mismatch(
            message: "`\(text)` cannot be a NAT64 prefix",
            hint: "bits 64 to 71 must be zero, and the prefix must not be link-local, multicast or"
                + " below ::/64"
        )
    }
}
