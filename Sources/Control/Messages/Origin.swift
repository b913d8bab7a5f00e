// SPDX-License-Identifier: Apache-2.0

/// Vendor or upstream of an answer, and its server.
///
/// The older fields `source` and `server` differ between answers (type of source; `name/server`)
/// and cache entries (name; address).
package struct AnswerOrigin: Sendable, Equatable {
    /// Name in the settings, or `hosts`; nil for the daemon.
    package let name: String?

    /// Address or URL of the server.
    package let server: String?

    /// Parses `name/server`; the name has no slash.
    package init(_ text: String?) {
        let parts = (text ?? "").split(separator: "/", maxSplits: 1).map(String.init)
        name = parts.first
        server = parts.count > 1 ? parts[1] : nil
    }
}

/// Rounds to microseconds; 0 if negative or not finite.
func microseconds(_ milliseconds: Double) -> UInt64 {
    UInt64(exactly: (milliseconds * 1_000).rounded()) ?? 0
}
