// SPDX-License-Identifier: Apache-2.0

/// Limits of the protocol and of this module.
package enum WireLimits {
    /// RFC 1035 §4.1.1.
    package static let headerOctets = 12

    /// RFC 1035 §2.3.4.
    package static let labelOctets = 63

    /// Maximum octets of a name with its root label (RFC 1035 §2.3.4).
    package static let nameOctets = 255

    /// Maximum octets of a message: the TCP length field has 16 bits (RFC 1035 §4.2.2).
    package static let messageOctets = 65_535

    /// RFC 1035 §3.3.
    package static let characterStringOctets = 255

    /// Maximum compression pointers in one name, which has at most 127 labels.
    package static let pointersPerName = 127

    /// First offset that does not fit into a compression pointer (RFC 1035 §4.1.4).
    package static let pointerTargets = 0x4000

    package static let compressionTargets = 64

    /// Maximum TTL in seconds; a value with the top bit is read as 0 (RFC 2181 §8).
    package static let maximumTTL: UInt32 = 0x7FFF_FFFF
}
