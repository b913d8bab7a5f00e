// SPDX-License-Identifier: Apache-2.0

/// Vendor or upstream of an answer, and its server.
///
/// The older fields `source` and `server` have one meaning in answers (type of the source;
/// `name/server`) and another in cache entries (name; address). `origin` and `origin-server` mean
/// the same in all messages.
package struct AnswerOrigin: Sendable, Equatable {
    /// Name in the settings, or `hosts`; nil for an answer of the daemon itself.
    package let name: String?

    /// Address or URL of the server; nil if there is none.
    package let server: String?

    /// Parses `name/server`, the form in answers; the name contains no slash.
    package init(_ text: String?) {
        let parts = (text ?? "").split(separator: "/", maxSplits: 1).map(String.init)
        name = parts.first
        server = parts.count > 1 ? parts[1] : nil
    }
}

/// Converts milliseconds to whole microseconds, rounded; 0 if negative or not finite.
func microseconds(_ milliseconds: Double) -> UInt64 {
    UInt64(exactly: (milliseconds * 1_000).rounded()) ?? 0
}
