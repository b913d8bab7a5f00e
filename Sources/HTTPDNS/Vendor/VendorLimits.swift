// SPDX-License-Identifier: Apache-2.0

/// Limits of input from vendors, and defaults for missing values.
package enum VendorLimits {
    /// Maximum octets of a body other than JSON (Tencent Cloud document 379/95497).
    package static let maximumBody = 8 * 1024

    /// Maximum octets of a JSON body; ten names with 200 addresses each need 60 KiB.
    package static let maximumJSON = 64 * 1024

    /// Levels of nested objects and arrays; known replies have at most 6.
    package static let maximumJSONDepth = 16

    /// Members of one object; Baidu sends an object with one member for each of up to ten names.
    package static let maximumJSONMembers = 256

    /// JSON values and keys; ten names with 200 addresses each need 2,100.
    package static let maximumJSONNodes = 8_192

    package static let maximumAliases = 16

    /// Octets of the names in a call, with commas; the names are part of the URL (RFC 9110 §4.1).
    package static let maximumNameOctets = 1024

    package static let maximumServers = 32

    package static let maximumCode = 64

    package static let maximumURL = 2048

    /// Octets of Alibaba's custom parameters, as in Alibaba's SDKs.
    package static let maximumParameters = 1000

    package static let maximumAccount = 128

    /// Per name and family.
    package static let maximumAddresses = 256

    /// In seconds, as in the SDKs.
    package static let defaultTTL: UInt32 = 60

    /// In seconds (RFC 2181 §8).
    package static let maximumTTL: UInt32 = .max >> 1

    /// In seconds (one week), for an encrypted, but unauthenticated reply (RFC 8767 §4).
    static let maximumSealedTTL: UInt32 = 604_800

    /// In seconds; a longer back-off is a mistake or an attack.
    package static let maximumRetryAfter: Int64 = 3600

    /// Short, because an attacker can forge the reply.
    static let maximumUnauthenticatedRetryAfter: Duration = .seconds(60)

    /// Seconds until a signature expires, as in the SDKs.
    package static let requestLifetime: Int64 = 600

    package static let scheduleLifetime: Int64 = 60

    /// Minimum time for a reply; a timeout after a shorter time does not count as a failure.
    ///
    /// Tencent Cloud document 379/95500 recommends 500 ms for a first request.
    package static let fairWait = Duration.milliseconds(500)

    package static let maximumToken = 128
}
