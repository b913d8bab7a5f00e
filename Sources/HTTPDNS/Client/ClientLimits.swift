// SPDX-License-Identifier: Apache-2.0
// Re-exported for files that do not import Net, which also re-exports Monotonic.
@_exported public import Monotonic

package enum ClientLimits {
    /// First back-off after a 429 without `Retry-After`.
    static let firstPause = Duration.seconds(1)

    static let longestPause = Duration.seconds(60)

    /// Maximum number of servers that get a call, not counting failures to connect.
    static let serversPerCall = 3

    static let refusalPause = Duration.seconds(300)

    /// Minimum time between the starts of two health probes.
    static let trialPause = Duration.seconds(1)

    /// Maximum time that a queued name waits for the answer to a health probe.
    ///
    /// Does not apply to a name that the fallback would send in plain text. If the latest reply of
    /// the vendor is older than this time, the vendor possibly no longer replies.
    static let trialPatience = Duration.milliseconds(250)

    /// Time after a server's answer in which a failure can be due to a limit of concurrent calls.
    static let saturationEvidence = Duration.seconds(3)

    /// Maximum number of retries of a name that the vendor refused; the retries may be billed.
    static let saturationRetries = 2

    /// Maximum number of retries of a name after failures to connect, which are not billed.
    static let connectionRetries = 8

    /// Maximum number of refused names that wait for the end of another call.
    static let heldNames = 256

    /// Initial minimum time between two increases of a reduced limit of concurrent calls.
    static let growthPause = Duration.milliseconds(500)

    static let longestGrowthPause = Duration.seconds(8)

    /// Maximum time, in addition to `fallback-after`, that a queued name waits for a call.
    static let queuePatience = Duration.milliseconds(400)

    /// Time without a reply to a call, while names are queued, after which a health probe begins.
    static let queueSuspicion = Duration.milliseconds(150)

    /// Interval between checks that decide if an upstream can answer a queued name.
    static let queueCheck = Duration.milliseconds(100)

    /// Clock difference in seconds to ignore, because the header `Date` has no fractions.
    static let tolerableSkew: Int64 = 2

    /// Largest clock correction in seconds over TLS, enough for a wrong time zone.
    static let longestSkew: Int64 = 86_400

    /// Largest clock correction in seconds without TLS, where `Date` can be forged.
    static let longestUnprotectedSkew: Int64 = 600

    /// Interval between test requests that are signed with the local time without correction.
    static let skewRetest = Duration.seconds(600)

    static let queuedNames = 4_096

    /// Maximum number of times that a call is sent again, and billed again, after network changes.
    static let restarts = 2

    /// Maximum number of entries in all queues; a name has one entry per client.
    static let queuedEntries = 4 * queuedNames

    /// Maximum number of queued calls that one iteration of the service loop starts or refuses.
    ///
    /// To refuse 64 calls takes about 3 ms.
    static let batchesPerIteration = 64

    /// Minimum interval between searches of the queue for expired lookups.
    static let queueGrain = Duration.milliseconds(10)

    /// Value of `minimum-ttl` that the daemon recommends in order to save calls.
    package static let advisedTTL = Duration.seconds(300)

    static let countTimeout = Duration.seconds(3)

    /// Minimum calls and units to reserve in advance if the budget has no limit.
    static let usageBlock: UInt64 = 10

    static let countedClients = 1_024

    /// Time after the latest lookup for which a DNS client has a share of budget and calls.
    static let clientMemory = Duration.seconds(86_400)

    /// Maximum number of requests that continue after the end of their call.
    ///
    /// Requests of calls that ended because their names expired are not included. These calls count
    /// against `concurrent-calls`.
    static let lingeringTries = 64

    /// Waiting time of a queued name after which newer names of the same client are sent first.
    static let newestFirst = Duration.milliseconds(500)

    /// Assumed latency of a server before its first reply.
    static let assumedLatency = Duration.milliseconds(50)

    static let countedNames = 1_024

    /// Time for which a client's query for an address family counts as demand.
    static let demandMemory = Duration.seconds(3_600)

    static let refreshPause = Duration.seconds(60)

    static let longestRefreshPause = Duration.seconds(3_600)

    package static let addressLifetime = Duration.seconds(12 * 3_600)
}
