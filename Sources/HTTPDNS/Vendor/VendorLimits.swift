// SPDX-License-Identifier: Apache-2.0

/// Limits of remote input, and defaults for missing values.
package enum VendorLimits {
    /// Octets of a reply body; Tencent documents at most 8 × 1024 (page 379/95497).
    package static let maximumBody = 8 * 1024

    /// Octets of a JSON body; ten names with 200 addresses take 60 KiB.
    package static let maximumJSON = 64 * 1024

    /// Nesting depth of JSON; known replies need at most 6.
    package static let maximumJSONDepth = 16

    /// Members of a JSON object; Baidu sends ten.
    package static let maximumJSONMembers = 256

    /// JSON values and keys; ten names with 200 addresses take 2,100.
    package static let maximumJSONNodes = 8_192

    package static let maximumAliases = 16

    /// Octets of the names in one call, with commas: at most 2.5 KiB of encrypted URL (RFC 9110
    /// §4.1 recommends support for 8000).
    package static let maximumNameOctets = 1024

    package static let maximumServers = 32

    package static let maximumCode = 64

    package static let maximumURL = 2048

    /// Octets of Alibaba's custom parameters, as in its SDKs.
    package static let maximumParameters = 1000

    /// Octets of an account name or a key.
    package static let maximumAccount = 128

    /// Addresses of one family of a name.
    package static let maximumAddresses = 256

    /// TTL in seconds if the reply has none, as in the vendors' SDKs.
    package static let defaultTTL: UInt32 = 60

    /// Largest TTL in seconds (RFC 2181 §8).
    package static let maximumTTL: UInt32 = .max >> 1

    /// Largest TTL in seconds of an unauthenticated reply: a week (RFC 8767 §4).
    static let maximumSealedTTL: UInt32 = 604_800

    /// Seconds of `Retry-After`; a longer back-off is a mistake or an attack.
    package static let maximumRetryAfter: Int64 = 3600

    /// Limit of `Retry-After` without TLS, where an attacker on the path can forge replies.
    static let maximumUnauthenticatedRetryAfter: Duration = .seconds(60)

    /// Seconds until a signature expires, as in the SDKs of Tencent and Alibaba.
    package static let requestLifetime: Int64 = 600

    package static let scheduleLifetime: Int64 = 60

    /// Minimum wait until a timeout counts; Tencent recommends 500 ms for a first try (page
    /// 379/95500).
    package static let fairWait = Duration.milliseconds(500)

    /// Octets of a token; Tencent's tokens have about ten digits.
    package static let maximumToken = 128
}
