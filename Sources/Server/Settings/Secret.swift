// SPDX-License-Identifier: Apache-2.0

/// A token or key that was read from a file, and where it came from.
///
/// Nothing that prints, dumps or mirrors it shows more than `<redacted>`: the value is reached
/// only through `withValue`, so a search for that name finds every use.
package struct Secret: Sendable, Equatable {
    /// Where the secret is kept: this is what the settings say and print.
    package let source: Source

    /// The value, without the newline that ended the file.
    private let octets: [UInt8]

    /// The two places a secret may be kept in; a literal in the settings is none of them.
    package enum Source: Sendable, Hashable {
        /// `{file: PATH}`: a file that the world cannot read.
        case file(String)

        /// `{credential: NAME}`: a file below `$CREDENTIALS_DIRECTORY`, made by systemd.
        case credential(String)
    }

    /// Makes a secret of what was read from `source`.
    package init(octets: [UInt8], source: Source) {
        self.octets = octets
        self.source = source
    }

    /// Calls `body` with the value; what it returns must not hold it longer than needed.
    package func withValue<Result, Failure: Error>(
        _ body: ([UInt8]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(octets)
    }
}

// MARK: - Conformances

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }

    /// A mirror without children, so that `dump` finds nothing either.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
