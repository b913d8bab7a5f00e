// SPDX-License-Identifier: Apache-2.0

/// Limits on what remote input can use, and defaults for missing values.
package enum VendorLimits {
    /// Octets of a reply body.
    ///
    /// Tencent documents at most 8 × 1024, for eight names (page 379/95497).
    package static let maximumBody = 8 * 1024

    /// Octets of a JSON reply body.
    ///
    /// Ten names with 100 addresses of both families each take about 60 KiB.
    package static let maximumJSON = 64 * 1024

    /// Nesting depth of JSON arrays and objects; known replies need at most 6.
    package static let maximumJSONDepth = 16

    /// Members of a JSON object; the largest known (Baidu) has one for each of ten names.
    package static let maximumJSONMembers = 256

    /// Values and keys of a JSON text.
    ///
    /// Ten names with 100 addresses of both families each take about 2,100.
    package static let maximumJSONNodes = 8_192

    /// Aliases followed from the requested name to its addresses.
    package static let maximumAliases = 16

    /// Octets of the names in one call, with the commas between them.
    ///
    /// Encrypted and in hexadecimal they make a URL of at most 2.5 KiB, which every server on the
    /// path accepts (RFC 9110 §4.1 recommends 8000 octets). A single name always fits.
    package static let maximumNameOctets = 1024

    /// Servers of one vendor accepted from its scheduling service.
    package static let maximumServers = 32

    /// Octets of a vendor's error code.
    package static let maximumCode = 64

    /// Octets of a URL in the settings.
    package static let maximumURL = 2048

    /// Octets of Alibaba's custom resolution parameters, counted as in its SDKs.
    package static let maximumParameters = 1000

    /// Octets of an account name, a key, and similar request parts.
    package static let maximumAccount = 128

    /// Addresses of one family of one name; further addresses are dropped and counted.
    ///
    /// 256 AAAA records take 7 KiB, more than any client tries in sequence.
    package static let maximumAddresses = 256

    /// TTL in seconds of an answer without TTL; the vendors' SDKs use 60.
    package static let defaultTTL: UInt32 = 60

    /// Largest TTL in seconds (RFC 2181 §8).
    package static let maximumTTL: UInt32 = .max >> 1

    /// Largest TTL in seconds of an unauthenticated reply: a week (RFC 8767 §4).
    static let maximumSealedTTL: UInt32 = 604_800

    /// Largest accepted `Retry-After` in seconds; a longer one is a mistake or an attack.
    package static let maximumRetryAfter: Int64 = 3600

    /// Validity of a signed request in seconds, as in the SDKs of Tencent and Alibaba.
    package static let requestLifetime: Int64 = 600

    /// Validity of a signed Alibaba scheduling request in seconds.
    package static let scheduleLifetime: Int64 = 60

    /// Minimum wait after which a timeout counts against a server.
    ///
    /// Tencent recommends 500 ms for a first try (page 379/95500). A server that got a request
    /// shortly before the call's deadline is not to blame.
    package static let fairWait = Duration.milliseconds(500)

    /// Octets of a token; Tencent's tokens are decimal numbers of about ten digits.
    package static let maximumToken = 128
}
