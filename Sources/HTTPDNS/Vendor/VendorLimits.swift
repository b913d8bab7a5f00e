// SPDX-License-Identifier: Apache-2.0

/// What outsiders can make this room spend, and what is assumed when they are silent.
package enum VendorLimits {
    /// Octets of a reply's body.
    ///
    /// Tencent promises 8 × 1024 at most, for eight names (page 379/95497).
    package static let maximumBody = 8 * 1024

    /// Addresses kept of one family of one name; the rest is dropped and counted.
    ///
    /// 256 AAAA records fill 7 KiB, more than any client tries one after the other.
    package static let maximumAddresses = 256

    /// Seconds an answer without TTL is kept; the vendors' own kits say 60.
    package static let defaultTTL: UInt32 = 60

    /// The largest TTL, in seconds (RFC 2181 §8).
    package static let maximumTTL: UInt32 = .max >> 1

    /// Seconds a `Retry-After` is obeyed at most; beyond an hour it is a mistake or an attack.
    package static let maximumRetryAfter: Int64 = 3600

    /// Seconds a signed request stays valid, as in Tencent's and Alibaba's kits.
    package static let requestLifetime: Int64 = 600

    /// The shortest wait that tells something about a server that did not answer.
    ///
    /// Tencent's best practice (page 379/95500) gives a first try 500 ms.  A server that was asked
    /// when the call was nearly over is not to blame.
    package static let fairWait = Duration.milliseconds(500)

    /// Octets of a token; Tencent's are decimal numbers of some ten digits.
    package static let maximumToken = 128
}
