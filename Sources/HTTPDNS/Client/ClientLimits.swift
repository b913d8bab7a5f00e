// SPDX-License-Identifier: Apache-2.0
// Re-exported for files of this module without Net.
@_exported public import Monotonic

/// Limits of the vendor client that no setting changes.
package enum ClientLimits {
    /// First back-off after a 429 without `Retry-After`.
    static let firstPause = Duration.seconds(1)

    /// Longest such back-off.
    static let longestPause = Duration.seconds(60)

    /// Back-off of a refused account.
    static let refusalPause = Duration.seconds(300)

    /// Minimum time between health probes, except after few consecutive failures.
    static let trialPause = Duration.seconds(1)

    /// Clock difference in seconds without a retry: `Date` has no fractions.
    static let tolerableSkew: Int64 = 2

    /// Largest correction over TLS in seconds: a wrong time zone.
    static let longestSkew: Int64 = 86_400

    /// Largest correction in seconds without TLS, where `Date` can be forged.
    static let longestUnprotectedSkew: Int64 = 600

    /// Time after which one request is signed without the correction.
    static let skewRetest = Duration.seconds(600)

    /// Maximum number of queued names; further look-ups fail.
    static let queuedNames = 4_096

    /// Maximum number of entries in all queues: one for each name and client.
    static let queuedEntries = 4 * queuedNames

    /// Minimum time between two searches for expired queued look-ups.
    static let queueGrain = Duration.milliseconds(10)

    /// Minimum TTL that the advice about costs proposes.
    package static let advisedTTL = Duration.seconds(300)

    /// Time limit of a request for the vendor's own count.
    static let countTimeout = Duration.seconds(3)

    /// Calls and units that are reserved in advance without a limit of the budget.
    static let usageBlock: UInt64 = 10

    /// Maximum number of clients of a vendor whose requests of the day are counted.
    static let countedClients = 1_024

    /// Time since its latest look-up for which a client counts for the limits per client.
    static let clientMemory = Duration.seconds(86_400)

    /// Maximum number of requests of ended calls; further ones are cancelled.
    static let lingeringTries = 64

    /// Maximum number of names with a cost counter.
    static let countedNames = 1_024

    /// Time for which a client's query for a family of a name counts as demand.
    static let demandMemory = Duration.seconds(3_600)

    /// Minimum time between two requests to the scheduling service.
    static let refreshPause = Duration.seconds(60)

    static let longestRefreshPause = Duration.seconds(3_600)

    /// Default validity of scheduled addresses.
    package static let addressLifetime = Duration.seconds(12 * 3_600)
}
