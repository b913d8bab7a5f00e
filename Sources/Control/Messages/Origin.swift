// SPDX-License-Identifier: Apache-2.0

/// The vendor or upstream that gave an answer, and its server.
///
/// `source` and `server` mean one thing in answers (how the client was answered; `name/server`) and
/// another in entries of the cache (the name; the address).  These two mean the same everywhere.
package struct AnswerOrigin: Sendable, Equatable {
    /// The name in the settings, or `hosts`; nil for an answer of the daemon itself.
    package let name: String?

    /// The address or URL of the server; nil if there is none.
    package let server: String?

    /// Reads `name/server`, as answers have it; the name has no slash.
    package init(_ text: String?) {
        let parts = (text ?? "").split(separator: "/", maxSplits: 1).map(String.init)
        name = parts.first
        server = parts.count > 1 ? parts[1] : nil
    }
}

/// A time in milliseconds as whole microseconds, rounded; 0 for one that is negative or not finite.
func microseconds(_ milliseconds: Double) -> UInt64 {
    UInt64(exactly: (milliseconds * 1_000).rounded()) ?? 0
}
