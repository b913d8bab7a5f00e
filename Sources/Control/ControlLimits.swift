// SPDX-License-Identifier: Apache-2.0

package enum ControlLimits {
    /// Maximum octets of a call without NUL; most calls have less than 2 KiB.
    package static let callOctets = 64 * 1024

    /// Maximum octets of a reply without NUL, as in systemd.
    package static let replyOctets = 16 * 1024 * 1024

    /// Maximum octets of the records of one cache entry as text; further records are only counted.
    ///
    /// As text, an answer of 64 KiB can have 4 MiB, because its names are not compressed.
    package static let recordOctets = 64 * 1024

    /// Maximum depth of nested objects and lists in a reply; a reply to `Explain` has 7.
    package static let nesting = 16

    /// Maximum depth of nested objects and lists in a call; a `Resolve` call has 3.
    ///
    /// The time to decode a call grows with the square of the depth.
    package static let callNesting = 5

    /// Maximum number of values in a call; an empty list or object counts as two.
    ///
    /// A `Resolve` call with 1024 names has about 1030 values. A value takes up to 14 µs to decode.
    package static let callValues = 1100

    /// Default for the maximum number of units that one `Prove` call can cost.
    package static let provedUnits: UInt64 = 40

    /// Allowed numbers of entries in a reply to `Top`.
    ///
    /// The daemon counts the calls of at most 1024 names for each vendor, so that a longer list
    /// would show no more names.
    package static let topEntries = 1...1024

    package static let topEntriesDefault = 10
    package static let resolvedNames = 1...1024

    /// Allowed numbers of names in a `Resolve` call without `more`; the reply takes up to 5 s.
    package static let resolvedAtOnce = 1...resolvedTogether

    /// Maximum number of names that the daemon resolves concurrently for one call.
    package static let resolvedTogether = 16
}
