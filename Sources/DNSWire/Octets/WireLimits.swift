// SPDX-License-Identifier: Apache-2.0

/// The sizes and counts the protocol, or this room on its own account, puts a bound to.
package enum WireLimits {
    /// Octets of a message header (RFC 1035 §4.1.1).
    package static let headerOctets = 12

    /// Most octets of a label (RFC 1035 §2.3.4).
    package static let labelOctets = 63

    /// Most octets of a name in wire form, the root's included (RFC 1035 §2.3.4).
    package static let nameOctets = 255

    /// Most octets of a message: what the length before it on TCP can say (RFC 1035 §4.2.2).
    package static let messageOctets = 65_535

    /// Most octets of a `<character-string>` (RFC 1035 §3.3).
    package static let characterStringOctets = 255

    /// Most compression pointers followed in one name.
    ///
    /// No honest name needs more, as each one needs a label before it and 255 octets hold 127.
    package static let pointersPerName = 127

    /// First offset a compression pointer's 14 bits cannot name (RFC 1035 §4.1.4).
    package static let pointerTargets = 0x4000

    /// Most names a builder remembers as targets of compression.
    ///
    /// A bound on the work per name, not on correctness: a name that is not remembered is written
    /// out.  Answers that need more than this many different names are rare.
    package static let compressionTargets = 64

    /// Highest TTL in seconds; values with the top bit set are read as 0 (RFC 2181 §8).
    package static let maximumTTL: UInt32 = 0x7FFF_FFFF
}
