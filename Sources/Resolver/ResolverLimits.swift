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

    /// Different queries that are resolved at the same time; the oldest ones make room for new ones.
    ///
    /// One client may take three quarters: what upstreams and vendors are asked at the same time is
    /// bounded by this, too, and there is always a part of it that one client cannot take.
    package static let inFlight = FairLimits(
        all: 4_096,
        perClient: 3_072,
        share: 64,
        grace: .seconds(1)
    )

    /// Queries that wait for an answer at the same time; the oldest ones make room for new ones.
    ///
    /// After a restart with an empty cache all queries wait that have gathered in the sockets, some
    /// 10 000 in 4 MiB.
    package static let waiting = FairLimits(
        all: 16_384,
        perClient: 12_288,
        share: 256,
        grace: .seconds(1)
    )
}
