// SPDX-License-Identifier: Apache-2.0
internal import Net

package enum UpstreamLimits {
    // MARK: - One query

    /// Maximum attempts for one query on all servers.
    static let tries = 8

    /// Maximum attempts on each server of a group.
    static let rounds = 2

    /// Maximum attempts if the group has one server; RFC 9520 §3.1 permits three.
    static let roundsAlone = 3

    /// Maximum attempts on a server that returned SERVFAIL or REFUSED.
    static let roundsWithErrors = 3

    /// Minimum time after SERVFAIL or REFUSED before the server gets the query again.
    static let declinePause: Duration = .milliseconds(100)

    /// Maximum simultaneous repetitions after error responses, for each busy client.
    ///
    /// With ``declinePause``, this allows 160 repetitions a second at each server.
    static let repeatedOfBusyClient = 16

    /// Maximum attempts on a server that loses datagrams; the last attempt uses TCP.
    ///
    /// RFC 9520 §3.1 permits three attempts for each transport.
    static let roundsWithLosses = 4

    /// Minimum time before the third and the fourth attempt at a server that loses datagrams.
    static let lossPause: Duration = .milliseconds(300)

    /// Time for which a server counts as lossy after a lost datagram.
    static let lossLifetime: Duration = .seconds(60)

    /// Maximum parallel attempts for one query, except at servers that lose datagrams.
    static let triesAtOnce = 3

    /// Part of the remaining time that a protected server gets; the rest is for an unprotected
    /// server.
    static let protectedShare = (2, 3)

    // MARK: - Hedging

    /// Usual time in which an upstream resolves a name that is not in the upstream's cache.
    static let resolvingTime: Duration = .milliseconds(100)

    static let firstRoundTrip: Duration = .milliseconds(150)

    /// Maximum time before a hedged query is sent.
    static let longestPatience: Duration = .seconds(1)

    // MARK: - Health

    /// Minimum timeout of a probe.
    ///
    /// A connection that gets no data for this time is possibly broken.
    static let fairWait: Duration = .milliseconds(500)

    /// Minimum time without data after which the daemon checks with a query of its own whether a
    /// connection is silent; half of this time later, the daemon opens another connection.
    static let silentWait: Duration = .milliseconds(200)

    /// Timeout of a probe of an encrypted server that has not answered yet.
    static let firstProbeTime: Duration = .milliseconds(2_500)

    static let probeSpacing: Duration = .milliseconds(500)

    static let probeDatagrams = 3

    /// If a server has answered within this time, its first `failuresOfHosts - 1` consecutive probes
    /// with a closed connection or an invalid certificate do not count.
    static let trustTime: Duration = .seconds(60)
    static let failuresOfHosts = 2

    /// Number of consecutive probes with an error response after which a server is backed off.
    static let declinesBeforeRest = 3

    /// A server that returns errors to probes counts as down if it gave no answer for this time.
    static let declineTolerance: Duration = .seconds(600)

    /// For this time after a query of a busy client, a failed probe does not count as an outage.
    static let overloadTime: Duration = .seconds(10)

    /// Initial back-off, which doubles with each failed probe, up to `longestRest`.
    ///
    /// RFC 9520 §3.2 allows 1 s to 300 s.
    static let firstRest: Duration = .seconds(1)
    static let longestRest: Duration = .seconds(60)

    /// Maximum back-off of an encrypted server.
    static let longestProtectedRest: Duration = .seconds(5)

    /// A server is slow if its round trip is longer than twice the round trip of another server
    /// plus this time.
    static let slack: Duration = .milliseconds(50)

    static let measurementAge: Duration = .seconds(60)

    static let longestChain = 16

    // MARK: - Samples of lost queries

    static let sampleSpacing: Duration = .milliseconds(50)

    /// Minimum interval between samples of a server that rejects samples or closes connections.
    static let refusedSampleSpacing: Duration = .milliseconds(250)

    static let sampleWait: Duration = .seconds(1)

    /// Time without samples after which earlier samples no longer count.
    static let sampleGap: Duration = .seconds(10)

    /// For this time after a reply to a sample, the daemon assumes that the server answers samples.
    static let sampleLifetime: Duration = .seconds(60)

    // MARK: - EDNS

    static let noEDNS: Duration = .seconds(900)

    static let ednsTestSpacing: Duration = .seconds(10)

    // MARK: - Letter case

    /// Time for which replies with changed letter case are accepted after a mixed-case check.
    static let anyCase: Duration = .seconds(3_600)

    static let caseTestSpacing: Duration = .seconds(10)

    // MARK: - Loops

    /// Minimum duration of a failed attempt that causes a probe for a forwarding loop.
    static let loopTime: Duration = .milliseconds(500)

    static let loopWait: Duration = .seconds(3)

    static let loopRest: Duration = .seconds(30)

    // MARK: - Datagrams

    /// Maximum delay in detecting that a probe timed out.
    ///
    /// A longer delay shows that the daemon was too busy. Then the probe does not count.
    static let lateness: Duration = .milliseconds(50)

    static let socketLifetime: Duration = .milliseconds(100)

    /// A server that has answered a query of this age counts as answering.
    static let answering: Duration = .seconds(2)

    /// A socket that has sent this number of queries stays open even if no query is outstanding.
    static let queriesOfBusySlot = 4

    /// Time for which queries share a connection after the server accepted no further connection.
    ///
    /// A client with an overdue query is treated as a busy client for the same time.
    static let sharingTime: Duration = .seconds(10)

    static let recentKeys = 256

    /// Number of queries of a batch that are sent over one socket.
    static let queriesTogether = 8

    /// Number of unmatched messages after which a socket is closed, and its queries move to TCP.
    static let foreignReplies = 8

    /// Maximum delay of a timeout, so that several queries can share a timer.
    static let grain: Duration = .milliseconds(5)

    // MARK: - Streams

    static let inFlight = 4_096

    /// Maximum client queries in flight to all HTTPS servers.
    ///
    /// The header lines of one reply can take 250 KiB of memory (HPACK, RFC 7541 §7.3).
    package static let transfers = 256

    /// Maximum running transfers at an upstream over HTTP/1.1; each needs a connection.
    static let connections = HTTPClient.Limits().connectionsPerServer

    /// Unproven clients have precedence while they run fewer transfers over HTTP/1.1 than this.
    static let unprovenConnections = connections / 4

    /// Time over which the number of connections of a client is averaged.
    static let transferMemory: Duration = .seconds(4)

    /// Age at which a waiting transfer no longer has precedence over newer ones of its client.
    static let newestFirst: Duration = .milliseconds(500)

    /// Minimum age of a transfer that a new transfer of the same client can replace.
    static let transferGrace: Duration = .milliseconds(400)

    /// Maximum time without a reply over HTTPS after which a new connection is opened.
    static let silence: Duration = .seconds(1)

    /// Maximum requests to a server over HTTPS that each have a connection of their own.
    static let separateRequests = 8

    /// Maximum queries that get connections of their own each time a connection becomes silent.
    static let suspectsOfSilence = separateRequests / 2

    /// Number of cancelled or expired queries after which new queries use another connection.
    static let givenUp = 4_096

    /// Maximum connections per server that get no new queries and only wait for replies.
    static let retiredConnections = 4

    /// Age of an incomplete message at which further octets of it end the connection.
    static let message: Duration = .seconds(4)

    /// Number of octets of an incomplete message that count as received data.
    static let countedOctets = 512

    /// Interval between two checks of a connection, if no replacement was refused; number of queries
    /// in a check.
    static let lossCheckSpacing: Duration = .seconds(1)
    static let lossCheckQueries = 4

    /// Idle timeout (RFC 7766 §6.2.3); a server can set at most `longestIdle` (RFC 7828 §3.4).
    static let idle: Duration = .seconds(10)
    static let longestIdle: Duration = .seconds(120)

    /// Maximum connections on which one query is sent while none of them is established.
    static let openings = 4

    /// Minimum time after which a further connection is opened while a new one stays silent.
    ///
    /// Doubles with each silent connection, up to `fairWait`.
    static let openingWait: Duration = .milliseconds(100)

    /// Maximum repetitions of a query after the ends of its connections.
    ///
    /// Over TLS and TCP, a busy client, or a connection that ends without a reply, allows one.
    static let repetitions = 3

    /// Timeout for opening a connection; `write` is the timeout for one write.
    static let connect: Duration = .seconds(4)
    static let write: Duration = .seconds(4)

    /// The length of an encrypted query is padded to a multiple of this number (RFC 8467 §4.1).
    static let padding = 128

    /// Maximum accepted HTTP `Age` (RFC 8484 §5.1) in seconds: one year.
    static let age: UInt32 = 31_536_000
}
