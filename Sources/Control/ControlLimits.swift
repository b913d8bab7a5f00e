// SPDX-License-Identifier: Apache-2.0

/// The sizes an outsider can influence on the control socket.
package enum ControlLimits {
    /// The longest call the daemon reads, in octets without the final NUL: 64 KiB.
    ///
    /// The longest honest call is a flush of one name, less than 2 KiB.
    package static let callOctets = 64 * 1024

    /// The longest reply a client reads, in octets without the final NUL: 16 MiB.
    ///
    /// The same as systemd's own Varlink clients accept.
    package static let replyOctets = 16 * 1024 * 1024

    /// How many entries a list of `Top` may have: as many names as are counted apart for a vendor.
    package static let topEntries = 1...1024

    /// How many it has if nobody says.
    package static let topEntriesDefault = 10

    /// How many names a call of `Resolve` may have that takes several replies.
    package static let resolvedNames = 1...1024

    /// How many it may have if all are to come with one reply: they are asked together, in 5 s.
    package static let resolvedAtOnce = 1...resolvedTogether

    /// How many names of a call are asked at the same time.
    package static let resolvedTogether = 16
}
