// SPDX-License-Identifier: Apache-2.0

package enum ControlLimits {
    /// Octets without NUL.
    package static let callOctets = 64 * 1024

    /// Maximum octets of a reply without NUL (limit of systemd).
    package static let replyOctets = 16 * 1024 * 1024

    /// Maximum octets of the records of one cache entry as text; further records are only counted.
    package static let recordOctets = 64 * 1024

    /// Maximum nesting depth of a reply; a reply to `Explain` has depth 7.
    package static let nesting = 16

    /// Maximum nesting depth of a call; a `Resolve` call has depth 3.
    ///
    /// The time to decode a call grows with the square of the depth.
    package static let callNesting = 5

    /// Values in a call; enough for a `Resolve` call with 1024 names.
    ///
    /// A value takes up to 14 µs to decode.
    package static let callValues = 1100

    /// Default limit of the units that one `Prove` call costs.
    package static let provedUnits: UInt64 = 40

    /// The daemon counts the calls of at most 1024 names for each vendor.
    package static let topEntries = 1...1024

    package static let topEntriesDefault = 10
    package static let resolvedNames = 1...1024

    /// Names in a `Resolve` call without `more`; the reply takes up to 5 s.
    package static let resolvedAtOnce = 1...resolvedTogether

    /// Names that the daemon resolves concurrently for one call.
    package static let resolvedTogether = 16
}
