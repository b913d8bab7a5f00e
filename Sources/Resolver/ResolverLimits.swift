// SPDX-License-Identifier: Apache-2.0

/// Bounds and times of the resolver.
package enum ResolverLimits {
    /// What a client waits for an answer or SERVFAIL; stub resolvers give up at 5 s (resolv.conf(5)).
    package static let total: Duration = .milliseconds(4_900)

    /// What finding an answer out takes at most, for all who wait for it: less than `total`, so that
    /// the first one who waits hears why there is none.
    package static let work: Duration = .milliseconds(4_800)

    /// What all vendors together may take of it; the rest is the fallback's.
    static let vendors: Duration = .seconds(3)

    /// How late a client may hear that there is no answer, so that not each of many needs a timer.
    static let grain: Duration = .milliseconds(5)

    /// How long a failure is remembered, so that a broken name does not cost a call a query
    /// (RFC 9520 §3.2: 1 s to 300 s).
    static let failureLifetime: UInt32 = 1

    /// The shortest lifetime, in seconds, of answers that are asked for anew before it is over, and
    /// the least time between two refreshes of a name that is kept.
    static let shortestRefresh: UInt32 = 10

    /// The longest time between two tries to refresh a name that is kept; it doubles from
    /// `shortestRefresh` on.
    static let longestRetry: Duration = .seconds(300)

    /// CNAME records followed in one answer.
    static let longestChain = 16

    /// Seconds that answers made by this daemon itself may be kept.
    static let localLifetime: UInt32 = 10_800

    /// Seconds that answers from hosts may be kept: soon after a file has changed everybody knows.
    static let hostsLifetime: UInt32 = 10

    /// Different queries that may be found out at once; more get SERVFAIL at once.
    package static let inFlight = 4_096

    /// Queries that may wait for an answer at once; more get SERVFAIL at once.
    ///
    /// After a restart with an empty cache all wait that have gathered in the sockets, some 10 000 in
    /// 4 MiB.
    package static let waiting = 16_384
}
