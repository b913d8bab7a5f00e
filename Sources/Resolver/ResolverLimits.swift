// SPDX-License-Identifier: Apache-2.0

package enum ResolverLimits {
    /// Maximum time that a client waits; stub resolvers give up after 5 s (resolv.conf(5)).
    package static let total: Duration = .milliseconds(4_900)

    /// Time limit of a resolution.
    ///
    /// Less than `total`, so that clients get SERVFAIL with the reason of the failure before their
    /// deadline.
    package static let work: Duration = .milliseconds(4_800)

    /// Time limit for the calls of a query to all its vendors.
    static let vendors: Duration = .seconds(3)

    static let grain: Duration = .milliseconds(5)

    /// Seconds for which a failure is cached.
    ///
    /// RFC 9520 §3.2 allows 1 s to 300 s.
    static let failureLifetime: UInt32 = 1

    /// Shortest TTL, in seconds, of an answer that is prefetched.
    ///
    /// Also the minimum interval between two refreshes of a name in `prefetch.names`.
    static let shortestRefresh: UInt32 = 10

    /// Maximum age of a router advertisement that the daemon keeps when the network changes.
    static let announcement: Duration = .seconds(3)

    /// After a change of the advertised NAT64 prefix, another prefix is ignored for this time.
    static let announcementPause: Duration = .seconds(10)

    static let refreshAfterStart: Duration = .seconds(60)

    /// Longest interval between repetitions of a failed refresh.
    static let longestRetry: Duration = .seconds(300)

    /// Maximum TTL, in seconds, of an upstream's answer if a vendor may still answer, or if a limit
    /// prevented a vendor call.
    static let earlyLifetime: UInt32 = 30

    /// Maximum TTL, in seconds, of an upstream's answer that replaces an answer of a better source.
    ///
    /// An attacker who can interrupt the better source must not be able to store addresses in the
    /// cache for a day.
    static let substituteLifetime: UInt32 = 60

    /// Maximum TTL, in seconds, of addresses that DNS64 synthesizes (RFC 6147 §5.1.7).
    static let synthesizedLifetime: UInt32 = 600

    /// Maximum TTL in seconds of answers in the captive portal mode.
    static let portalLifetime: UInt32 = 10

    /// Minimum time between two series of test connections while IPv4 or IPv6 does not work.
    static let stackTest: Duration = .seconds(60)

    static let prefixQuery: Duration = .seconds(2)

    /// Bounds, in seconds, of the interval between queries for the NAT64 prefix.
    static let prefixLifetime: ClosedRange<UInt32> = 60...600

    /// After a link goes down, its routing domains are held for this time.
    package static let domainHold: Duration = .seconds(5)

    /// Maximum number of held domains; domains of VPNs do not count.
    package static let heldDomains = 1_024

    /// Maximum octets of a stored CNAME chain; all chains in flight together need at most 8 MiB.
    static let chainOctets = 2_048

    /// TTL in seconds of locally synthesized answers.
    static let localLifetime: UInt32 = 10_800

    /// TTL in seconds of answers from static hosts; short, because hosts can change.
    static let hostsLifetime: UInt32 = 10

    /// Limits of the queries in flight; equal queries count once.
    package static let inFlight = FairLimits(
        all: 4_096,
        perClient: 3_072,
        share: 64,
        grace: .seconds(1)
    )

    /// Limits of the client queries that wait.
    ///
    /// The limits are higher than 10,000, because the socket buffers (4 MiB) can contain 10,000
    /// queries after a restart.
    package static let waiting = FairLimits(
        all: 16_384,
        perClient: 12_288,
        share: 256,
        grace: .seconds(1)
    )
}
