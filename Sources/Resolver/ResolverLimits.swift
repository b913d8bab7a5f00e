// SPDX-License-Identifier: Apache-2.0

package enum ResolverLimits {
    /// Maximum time until a client gets an answer or SERVFAIL.
    ///
    /// Stub resolvers give up after 5 s (resolv.conf(5)).
    package static let total: Duration = .milliseconds(4_900)

    /// Time limit of a resolution, which all clients of a query share.
    ///
    /// Less than `total`, so that the resolution ends before the first client's deadline, and this
    /// client gets SERVFAIL with the reason.
    package static let work: Duration = .milliseconds(4_800)

    /// Time limit for all vendors of a query; upstreams get the rest of `work`.
    static let vendors: Duration = .seconds(3)

    /// Minimum interval between checks of client deadlines, so that deadlines share a timer.
    static let grain: Duration = .milliseconds(5)

    /// Seconds for which a failure is cached, to limit vendor calls for broken names.
    ///
    /// RFC 9520 §3.2 allows 1 s to 300 s.
    static let failureLifetime: UInt32 = 1

    /// Shortest TTL, in seconds, of an answer that is prefetched.
    ///
    /// Also the minimum interval between two refreshes of a name in `prefetch.names`.
    static let shortestRefresh: UInt32 = 10

    /// Maximum age, at a network change, of a router advertisement that belongs to the new network.
    static let announcement: Duration = .seconds(3)

    /// Minimum time between two changes of the announced NAT64 prefix.
    static let announcementPause: Duration = .seconds(10)

    /// Time from the load of a snapshot to the refresh of its stale entries.
    static let refreshAfterStart: Duration = .seconds(60)

    /// Longest interval between retries for a name in `prefetch.names`.
    ///
    /// The interval doubles with each failure.
    static let longestRetry: Duration = .seconds(300)

    /// Maximum TTL, in seconds, of an upstream's answer if a vendor may soon give a better answer.
    static let earlyLifetime: UInt32 = 30

    /// Maximum TTL, in seconds, of an upstream's answer that replaces an answer of a better source.
    ///
    /// The better source is a vendor that failed, or an encrypted upstream that failed. An attacker
    /// who can interrupt this source for seconds must not be able to store addresses in the cache
    /// for a day.
    static let substituteLifetime: UInt32 = 60

    /// Maximum TTL of synthesized addresses without SOA, in seconds (RFC 6147 §5.1.7).
    static let synthesizedLifetime: UInt32 = 600

    /// Maximum TTL in seconds of answers in the captive portal mode.
    static let portalLifetime: UInt32 = 10

    /// Minimum time between two tests of an address family that does not work.
    static let stackTest: Duration = .seconds(60)

    /// Time limit of the query for the NAT64 prefix to one server.
    static let prefixQuery: Duration = .seconds(2)

    /// Bounds, in seconds, of the interval between queries for the NAT64 prefix.
    static let prefixLifetime: ClosedRange<UInt32> = 60...86_400

    /// Time after a link's removal during which names in its routing domains are not queried.
    package static let domainHold: Duration = .seconds(5)

    /// Maximum number of held domains of links that are not VPNs.
    package static let heldDomains = 1_024

    /// Maximum octets, in wire form, of a CNAME chain that is stored while its target is queried.
    ///
    /// Enough for five aliases with RSA-2048 signatures.  All chains together have at most 8 MiB,
    /// because ``inFlight`` limits the queries.
    static let chainOctets = 2_048

    /// TTL in seconds of locally synthesized answers.
    static let localLifetime: UInt32 = 10_800

    /// TTL in seconds of answers from static hosts; short, because hosts can change.
    static let hostsLifetime: UInt32 = 10

    /// Limits of the distinct queries in flight, and thus of the requests to servers.
    package static let inFlight = FairLimits(
        all: 4_096,
        perClient: 3_072,
        share: 64,
        grace: .seconds(1)
    )

    /// Limits of the client queries that wait for an answer.
    ///
    /// More than 10,000, because the socket buffers (4 MiB) can contain 10,000 queries after a
    /// restart.
    package static let waiting = FairLimits(
        all: 16_384,
        perClient: 12_288,
        share: 256,
        grace: .seconds(1)
    )
}
