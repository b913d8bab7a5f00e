// SPDX-License-Identifier: Apache-2.0
// Re-exported for files of this module without Net.
@_exported public import Monotonic

package enum ClientLimits {
    /// First back-off after a 429 without `Retry-After`.
    static let firstPause = Duration.seconds(1)

    /// Longest back-off after a 429 without `Retry-After`.
    static let longestPause = Duration.seconds(60)

    static let refusalPause = Duration.seconds(300)

    /// Minimum time between health probes, except after few consecutive failures.
    static let trialPause = Duration.seconds(1)

    /// Clock difference in seconds that is ignored: `Date` has no fractions.
    static let tolerableSkew: Int64 = 2

    /// Largest clock correction over TLS in seconds, enough for a wrong time zone.
    static let longestSkew: Int64 = 86_400

    /// Largest clock correction without TLS in seconds: `Date` can be forged.
    static let longestUnprotectedSkew: Int64 = 600

    /// Interval of requests that are signed without the correction.
    static let skewRetest = Duration.seconds(600)

    static let queuedNames = 4_096

    /// Maximum number of entries in all queues; a name has one entry for each client.
    static let queuedEntries = 4 * queuedNames

    /// Minimum time between two searches for expired look-ups in the queue.
    static let queueGrain = Duration.milliseconds(10)

    /// Minimum TTL that the advice about costs proposes.
    package static let advisedTTL = Duration.seconds(300)

    static let countTimeout = Duration.seconds(3)

    /// Calls and units to reserve in advance if the budget has no limit.
    static let usageBlock: UInt64 = 10

    /// Clients per vendor with a count of daily use.
    static let countedClients = 1_024

    /// Time after its latest look-up for which a client counts for the limits per client.
    static let clientMemory = Duration.seconds(86_400)

    /// Requests of ended calls in flight; further ones are cancelled.
    static let lingeringTries = 64

    static let countedNames = 1_024

    /// Time for which a client's query for a family of a name counts as demand.
    static let demandMemory = Duration.seconds(3_600)

    static let refreshPause = Duration.seconds(60)

    static let longestRefreshPause = Duration.seconds(3_600)

    package static let addressLifetime = Duration.seconds(12 * 3_600)
}
