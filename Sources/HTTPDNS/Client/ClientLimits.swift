// SPDX-License-Identifier: Apache-2.0
// Re-exported for files of this module without Net.
@_exported public import Monotonic

/// Limits of the vendor client that no setting changes.
package enum ClientLimits {
    /// First back-off after a 429 without `Retry-After`; doubled after each further 429.
    static let firstPause = Duration.seconds(1)

    /// Longest back-off without `Retry-After`.
    static let longestPause = Duration.seconds(60)

    /// Back-off after the vendor refused the account.
    static let refusalPause = Duration.seconds(300)

    /// Minimum time between two health probes, unless the first of few consecutive ones failed.
    static let trialPause = Duration.seconds(1)

    /// Clock difference in seconds without a retry: `Date` has no fractions.
    static let tolerableSkew: Int64 = 2

    /// Largest clock correction in seconds over TLS: a wrong time zone.
    static let longestSkew: Int64 = 86_400

    /// Largest clock correction in seconds without TLS, where `Date` can be forged.
    static let longestUnprotectedSkew: Int64 = 600

    /// Time after which one request is signed without the correction.
    static let skewRetest = Duration.seconds(600)

    /// Maximum number of queued names; further look-ups fail immediately.
    static let queuedNames = 4_096

    /// Maximum number of entries in all queues: one entry for each name and client.
    static let queuedEntries = 4 * queuedNames

    /// Minimum time between two searches for queued look-ups past their deadline.
    static let queueGrain = Duration.milliseconds(10)

    /// Maximum number of clients with a count of requests.
    static let countedClients = 1_024

    /// Time after its latest look-up for which a client counts for the limits per client.
    static let clientMemory = Duration.seconds(86_400)

    /// Maximum number of requests in flight of ended calls; further ones are cancelled.
    static let lingeringTries = 64

    /// Maximum number of names with a cost counter.
    static let countedNames = 1_024

    /// Minimum time between two requests to the scheduling service.
    static let refreshPause = Duration.seconds(60)

    static let longestRefreshPause = Duration.seconds(3_600)

    /// Validity of scheduled addresses, unless the vendor gives another.
    package static let addressLifetime = Duration.seconds(12 * 3_600)
}
