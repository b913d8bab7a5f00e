// SPDX-License-Identifier: Apache-2.0

/// What outsiders can make this room spend, and what is assumed when they are silent.
package enum VendorLimits {
    /// Octets of a reply's body.
    ///
    /// Tencent promises 8 × 1024 at most, for eight names (page 379/95497).
    package static let maximumBody = 8 * 1024

    /// Octets of a reply's body that is JSON.
    ///
    /// Ten names with 100 addresses of both families each take some 60 KiB.
    package static let maximumJSON = 64 * 1024

    /// How deep arrays and objects of JSON may be nested; no vendor's reply needs more than 6.
    package static let maximumJSONDepth = 16

    /// Members of an object of JSON; Baidu's largest has one for each of ten names.
    package static let maximumJSONMembers = 256

    /// Aliases followed from the name that was asked to its addresses.
    package static let maximumAliases = 16

    /// Octets of the names in one call, with the commas between them.
    ///
    /// Sealed and in hexadecimal they make a URL of at most 2.5 KiB, which every server on the
    /// way accepts (RFC 9110 §4.1 asks for 8000 octets).  A name alone always fits.
    package static let maximumNameOctets = 1024

    /// Servers of one vendor that are accepted from its scheduling service.
    package static let maximumServers = 32

    /// Octets of a vendor's word for an error that are kept.
    package static let maximumCode = 64

    /// Octets of a URL in the settings.
    package static let maximumURL = 2048

    /// Octets of Alibaba's parameters of custom resolution, as its kits count them.
    package static let maximumParameters = 1000

    /// Octets of an account's name, a key, or the like in a request.
    package static let maximumAccount = 128

    /// Addresses kept of one family of one name; the rest is dropped and counted.
    ///
    /// 256 AAAA records fill 7 KiB, more than any client tries one after the other.
    package static let maximumAddresses = 256

    /// Seconds an answer without TTL is kept; the vendors' own kits say 60.
    package static let defaultTTL: UInt32 = 60

    /// The largest TTL, in seconds (RFC 2181 §8).
    package static let maximumTTL: UInt32 = .max >> 1

    /// The largest TTL of a reply that is not authenticated, in seconds: a week (RFC 8767 §4).
    static let maximumSealedTTL: UInt32 = 604_800

    /// Seconds a `Retry-After` is obeyed at most; beyond an hour it is a mistake or an attack.
    package static let maximumRetryAfter: Int64 = 3600

    /// Seconds a signed request stays valid, as in Tencent's and Alibaba's kits.
    package static let requestLifetime: Int64 = 600

    /// Seconds ahead that Alibaba's scheduling requests are dated.
    package static let scheduleLifetime: Int64 = 60

    /// The shortest wait that tells something about a server that did not answer.
    ///
    /// Tencent's best practice (page 379/95500) gives a first try 500 ms.  A server that was asked
    /// when the call was nearly over is not to blame.
    package static let fairWait = Duration.milliseconds(500)

    /// Octets of a token; Tencent's are decimal numbers of some ten digits.
    package static let maximumToken = 128
}
