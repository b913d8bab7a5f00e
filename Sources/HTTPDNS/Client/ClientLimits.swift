// SPDX-License-Identifier: Apache-2.0
// Files of this module that do not import Net use instants, too.
@_exported public import Monotonic

/// Constants of the vendor client that no setting changes.
package enum ClientLimits {
    /// First back-off after a 429 without `Retry-After`; doubles with each further 429.
    static let firstPause = Duration.seconds(1)

    /// Longest such back-off; a `Retry-After` may be longer.
    static let longestPause = Duration.seconds(60)

    /// Time without calls after the vendor refused the account.
    static let refusalPause = Duration.seconds(300)

    /// Minimum time between the starts of two health probes, if the first was answered or after a
    /// burst of failed ones.
    static let trialPause = Duration.seconds(1)

    /// Clock difference in seconds that does not justify a retry: `Date` has no fractions.
    static let tolerableSkew: Int64 = 2

    /// Largest clock difference in seconds that is corrected over TLS: a wrong time zone.
    static let longestSkew: Int64 = 86_400

    /// Largest clock difference in seconds that is corrected without TLS, where `Date` can be
    /// forged.
    static let longestUnprotectedSkew: Int64 = 600

    /// Time after which one request is signed without the clock correction.
    static let skewRetest = Duration.seconds(600)

    /// Maximum number of names that wait for a call; further look-ups fail immediately.
    static let queuedNames = 4_096

    /// Maximum number of entries in the queues of all clients.
    ///
    /// A name that several clients wait for has one entry for each of them.
    static let queuedEntries = 4 * queuedNames

    /// Minimum time between two searches of the queue for look-ups whose deadline has passed.
    static let queueGrain = Duration.milliseconds(10)

    /// Maximum number of clients of a vendor whose requests of the day are counted.
    static let countedClients = 1_024

    /// Time after its latest look-up for which a client counts as a client of the vendor.
    ///
    /// If a vendor has several clients, budget and rate have a limit per client.
    static let clientMemory = Duration.seconds(86_400)

    /// Maximum number of requests in flight whose call has ended; further ones are cancelled.
    static let lingeringTries = 64

    /// Maximum number of names with their own cost counter.
    static let countedNames = 1_024

    /// Minimum time between two requests to the scheduling service.
    static let refreshPause = Duration.seconds(60)

    /// Maximum time between two such requests after failures.
    static let longestRefreshPause = Duration.seconds(3_600)

    /// Validity of scheduled addresses without a validity period of their own.
    package static let addressLifetime = Duration.seconds(12 * 3_600)
}
