// SPDX-License-Identifier: Apache-2.0
import DNSWire
internal import HTTPDNS

extension SettingsKind where Value == String {
    /// An account's number or the public part of a key, as the vendors' consoles show them.
    static var account: SettingsKind {
        let longest = VendorLimits.maximumAccount
        return .scalar(
            "1 to \(longest) letters and digits",
            read: { text throws(Mismatch) in
                let isUsable = text.utf8.allSatisfy { octet in
                    switch octet {
                    case UInt8(ascii: "0")...UInt8(ascii: "9"),
                        UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "a")...UInt8(ascii: "z"):
                        true
                    default: false
                    }
                }
                guard isUsable, (1...longest).contains(text.utf8.count) else { throw Mismatch() }
                return text
            },
            write: { .text($0) }
        )
    }

    /// What a certificate is for: a host name, or an IP address.
    static var certificateName: SettingsKind {
        .scalar(
            "a host name or an IP address",
            read: { text throws(Mismatch) in
                if IPAddress(text) != nil { return text }
                guard let name = try? Name(text), name.isHostname else { throw Mismatch() }
                return name.text
            },
            write: { .text($0) }
        )
    }
}

extension SettingsKind where Value == JSONSettings.Address {
    /// The URL of a JSON API.
    static var jsonURL: SettingsKind {
        .scalar(
            "a URL such as https://dns.example/resolve, without user or fragment",
            read: { text throws(Mismatch) in try JSONSettings.Address(reading: text) },
            write: { .text($0.text) }
        )
    }
}
