// SPDX-License-Identifier: Apache-2.0

/// Vendor or upstream that sent an answer, and its server.
///
/// The older fields `source` and `server` differ between types. In ``Resolved``, `source` is a kind
/// such as `vendor`, and `server` has the form `name/server`. In ``CachedEntry``, `source` is the
/// name, and `server` is the address.
package struct AnswerOrigin: Sendable, Equatable {
    /// Name in the settings, or `hosts`; nil if the answer is local.
    package let name: String?

    package let server: String?

    /// Parses text of the form `name/server`; the name has no slash.
    package init(_ text: String?) {
        let parts = (text ?? "").split(separator: "/", maxSplits: 1).map(String.init)
        name = parts.first
        server = parts.count > 1 ? parts[1] : nil
    }
}

/// Converts milliseconds to rounded microseconds; 0 if negative or not finite.
func microseconds(_ milliseconds: Double) -> UInt64 {
    UInt64(exactly: (milliseconds * 1_000).rounded()) ?? 0
}
