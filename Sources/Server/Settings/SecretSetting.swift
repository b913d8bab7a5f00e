// SPDX-License-Identifier: Apache-2.0
package import HTTPDNS

/// A token or key, and where the settings say it is kept.
package struct SecretSetting: Sendable {
    /// Where the secret is kept: this is what the settings say and print.
    package let source: Source

    /// The value, without the newline that ended the file.
    package let value: Secret

    /// The two places a secret may be kept in; a literal in the settings is none of them.
    package enum Source: Sendable, Hashable {
        /// `{file: PATH}`: a file that the world cannot read.
        case file(String)

        /// `{credential: NAME}`: a file below `$CREDENTIALS_DIRECTORY`, made by systemd.
        case credential(String)
    }

    /// Makes a secret of what was read from `source`, and wipes that.
    package init(wiping octets: inout [UInt8], source: Source) {
        value = Secret(wiping: &octets)
        self.source = source
    }
}

extension SecretSetting: Equatable {
    package static func == (left: SecretSetting, right: SecretSetting) -> Bool {
        left.source == right.source && left.value == right.value
    }
}

extension SecretSetting: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "\(value)" }
    package var debugDescription: String { description }

    /// A mirror without children, so that `dump` finds nothing either.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
