// SPDX-License-Identifier: Apache-2.0
package import HTTPDNS

/// Token or key, and its source.
package struct SecretSetting: Sendable, Equatable {
    package let source: Source
    package let value: Secret

    package enum Source: Sendable, Hashable {
        case file(String)

        /// File in `$CREDENTIALS_DIRECTORY`.
        case credential(String)
    }

    package init(wiping octets: inout [UInt8], source: Source) {
        value = Secret(wiping: &octets)
        self.source = source
    }
}

extension SecretSetting: Redacted {
    package var description: String { "\(value)" }
}
