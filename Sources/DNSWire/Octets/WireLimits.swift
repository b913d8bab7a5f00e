// SPDX-License-Identifier: Apache-2.0

/// Limits on sizes and counts, set by the protocol or by this module.
package enum WireLimits {
    /// Size of a message header in octets (RFC 1035 §4.1.1).
    package static let headerOctets = 12

    /// Maximum size of a label in octets (RFC 1035 §2.3.4).
    package static let labelOctets = 63

    /// Maximum size of a name in wire form in octets, including the root label (RFC 1035 §2.3.4).
    package static let nameOctets = 255

    /// Maximum size of a message in octets: the maximum of the TCP length field (RFC 1035 §4.2.2).
    package static let messageOctets = 65_535

    /// Maximum size of a `<character-string>` in octets (RFC 1035 §3.3).
    package static let characterStringOctets = 255

    /// Maximum number of compression pointers followed in one name.
    ///
    /// Each useful pointer follows a label, and 255 octets hold at most 127 labels.
    package static let pointersPerName = 127

    /// First offset that the 14 bits of a compression pointer cannot express (RFC 1035 §4.1.4).
    package static let pointerTargets = 0x4000

    /// Maximum number of names that a builder remembers as compression targets.
    ///
    /// The limit bounds the work per name. A name that is not a target is written uncompressed
    /// later.
    package static let compressionTargets = 64

    /// Highest TTL in seconds; a value with the top bit set is read as 0 (RFC 2181 §8).
    package static let maximumTTL: UInt32 = 0x7FFF_FFFF
}
