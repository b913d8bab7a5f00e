// SPDX-License-Identifier: Apache-2.0

/// Limits on what a peer of the control socket can demand.
package enum ControlLimits {
    /// Longest call that the daemon reads, in octets without the final NUL: 64 KiB.
    ///
    /// A flush of one name takes less than 2 KiB.
    package static let callOctets = 64 * 1024

    /// Longest reply that a client reads, in octets without the final NUL: 16 MiB.
    ///
    /// systemd's Varlink clients have the same limit.
    package static let replyOctets = 16 * 1024 * 1024

    /// Deepest nesting of a reply: 16 levels of objects and lists, the message included.
    ///
    /// A reply to `Explain` has 7.
    package static let nesting = 16

    /// Deepest nesting of a call, the message included.
    ///
    /// A `Resolve` call has 3. The time to decode a value grows with the square of its depth.
    package static let callNesting = 5

    /// Maximum number of values in a call; an empty list or object counts as two.
    ///
    /// A `Resolve` call with 1024 names has about 1030. Decoding takes up to 14 µs per value that is not nested.
    package static let callValues = 1100

    /// Allowed number of entries in a reply to `Top`: the names that are counted separately per
    /// vendor.
    package static let topEntries = 1...1024

    /// Default number of entries in a reply to `Top`.
    package static let topEntriesDefault = 10

    /// Allowed number of names in a `Resolve` call with several replies.
    package static let resolvedNames = 1...1024

    /// Allowed number of names in a `Resolve` call with one reply: all are resolved together within
    /// 5 s.
    package static let resolvedAtOnce = 1...resolvedTogether

    /// Number of names of one call that are resolved concurrently.
    package static let resolvedTogether = 16
}
