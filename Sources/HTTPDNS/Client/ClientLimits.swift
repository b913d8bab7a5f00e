// SPDX-License-Identifier: Apache-2.0
// Re-exported for the files that do not import Net.
@_exported public import Monotonic

package enum ClientLimits {
    /// Back-off after the first 429 without `Retry-After`.
    static let firstPause = Duration.seconds(1)

    static let longestPause = Duration.seconds(60)

    /// Maximum number of servers per call; servers that cannot be reached do not count.
    static let serversPerCall = 3

    static let refusalPause = Duration.seconds(300)

    static let longestTrial = Duration.milliseconds(2_500)

    static let trialPause = Duration.seconds(1)

    /// Maximum time that a queued name waits for the answer to a health probe.
    ///
    /// A reply that is older than this time does not show that the vendor still replies.
    static let trialPatience = Duration.milliseconds(250)

    /// If a server fails within this time after its latest answer, a limit of concurrent calls can
    /// be the cause.
    static let saturationEvidence = Duration.seconds(3)

    /// Retries of a name after the vendor refused its call; each retry may be billed.
    static let saturationRetries = 2

    /// Retries of a name after failures to connect, which are not billed.
    static let connectionRetries = 8

    /// Maximum number of names in ``HeldNames``.
    static let heldNames = 256

    static let growthPause = Duration.milliseconds(500)

    static let longestGrowthPause = Duration.seconds(8)

    /// A reply is large if it has more octets than this value × the number of names in its call.
    static let usualReplyOctets = 16 << 10

    /// Divisor that converts the excess octets of a large reply to a time in seconds.
    ///
    /// For this time, the client can have at most ``callsAfterLargeReplies`` in flight. The excess
    /// octets are the size of the reply minus ``usualReplyOctets`` per name.
    static let largeReplyOctetsPerSecond = 64 << 10

    /// Maximum time for which large replies limit the calls of a client.
    static let longestCallLimit = Duration.seconds(10)

    static let callsAfterLargeReplies = 2

    static let limitedClients = 256

    /// Maximum time, in addition to `fallback-after`, that a queued name waits for a call.
    static let queuePatience = Duration.milliseconds(400)

    /// Maximum time, in addition to `fallback-after`, for which a name waits for a handshake.
    static let handshakePatience = Duration.milliseconds(600)

    /// While names are queued: time from the start of a call to a health probe, if the vendor does
    /// not reply.
    static let queueSuspicion = Duration.milliseconds(150)

    /// Interval at which the resolver checks if a queued name must go to another source.
    static let queueCheck = Duration.milliseconds(100)

    /// Largest clock difference, in seconds, that is ignored; `Date` has only whole seconds.
    static let tolerableSkew: Int64 = 2

    /// Largest clock difference over TLS that is corrected, in seconds; enough for a wrong time
    /// zone.
    static let longestSkew: Int64 = 86_400

    /// Largest clock difference without TLS that is corrected, in seconds; small, because an
    /// attacker can forge `Date`.
    static let longestUnprotectedSkew: Int64 = 600

    /// Interval at which a request is signed with the local time, to check if the local clock is
    /// still wrong.
    static let skewRetest = Duration.seconds(600)

    static let queuedNames = 4_096

    /// Maximum number of times that a call is sent again after network changes; each time, the
    /// vendor may bill the call.
    static let restarts = 2

    /// Entries in all queues; a name has one entry per client.
    static let queuedEntries = 4 * queuedNames

    /// Maximum number of queued calls that one iteration of the service loop starts or refuses.
    static let batchesPerIteration = 64

    static let queueGrain = Duration.milliseconds(10)

    /// Recommended value of `minimum-ttl`.
    package static let advisedTTL = Duration.seconds(300)

    static let countTimeout = Duration.seconds(3)

    /// Minimum number of calls, and of units, that a budget without a limit reserves in advance.
    static let usageBlock: UInt64 = 10

    static let countedClients = 1_024

    /// A client that used a vendor within this time limits the shares of other clients.
    static let clientMemory = Duration.seconds(86_400)

    /// Maximum number of requests that continue although their call already has its result.
    ///
    /// Does not include the requests of calls with ``VendorCall/isExpired``: these calls count
    /// against `concurrent-calls`.
    static let lingeringTries = 64

    /// Waiting time after which newer names of the same client are sent first.
    static let newestFirst = Duration.milliseconds(500)

    static let assumedLatency = Duration.milliseconds(50)

    static let countedNames = 1_024

    /// Time for which a query counts as demand for its name and address family.
    static let demandMemory = Duration.seconds(3_600)

    static let refreshPause = Duration.seconds(60)

    static let longestRefreshPause = Duration.seconds(3_600)

    package static let addressLifetime = Duration.seconds(12 * 3_600)
}
