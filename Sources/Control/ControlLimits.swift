// SPDX-License-Identifier: Apache-2.0

/// Limits for peers of the control socket.
package enum ControlLimits {
    /// Octets of a call without NUL; a `Flush` has less than 2 KiB.
    package static let callOctets = 64 * 1024

    /// Octets of a reply without NUL, as in systemd.
    package static let replyOctets = 16 * 1024 * 1024

    /// Levels of nested objects and lists; a reply to `Explain` has 7.
    package static let nesting = 16

    /// Values in a call, an empty list or object as two; a `Resolve` call with 1024 names has about
    /// 1030.
    package static let callValues = 4096

    /// Entries in a reply to `Top`: the names counted for each vendor.
    package static let topEntries = 1...1024

    package static let topEntriesDefault = 10

    /// Names in a `Resolve` call with several replies.
    package static let resolvedNames = 1...1024

    /// Names in a `Resolve` call with one reply, resolved within 5 s.
    package static let resolvedAtOnce = 1...resolvedTogether

    /// Names of a call that are resolved concurrently.
    package static let resolvedTogether = 16
}
