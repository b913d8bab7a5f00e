// SPDX-License-Identifier: Apache-2.0

/// Bounds and times of this room.
package enum UpstreamLimits {
    // MARK: - One query

    /// Tries of one query, all servers together.
    static let tries = 8

    /// How often one server is asked at most for one query, and a lone one whose datagrams or
    /// connection may get lost (RFC 9520 §3.1: three).
    static let rounds = 2
    static let roundsAlone = 3

    /// Tries of one query that run at the same time.
    static let triesAtOnce = 3

    /// Of the time that is left, the part that protected servers have while unprotected ones come
    /// after them: two thirds.
    static let protectedShare = (2, 3)

    // MARK: - Hedging

    /// How long one server is waited for alone: its smoothed latency and four deviations, as for
    /// retransmission (RFC 6298 §2), within these; and before anything is known of it.
    static let patience: ClosedRange<Duration> = .milliseconds(100)...(.seconds(1))
    static let firstPatience: Duration = .milliseconds(400)

    // MARK: - Health

    /// A silence that was shorter than this, and than the timeout, says nothing about a server; and
    /// the least time that a probe has.
    static let fairWait: Duration = .milliseconds(500)

    /// The least time from one probe of a server to the next.
    static let probeSpacing: Duration = .milliseconds(500)

    /// Datagrams of one probe at most, as datagrams get lost.
    static let probeDatagrams = 3

    /// Probes that a server declines in a row before it rests.
    static let declinesBeforeRest = 3

    /// How long it rests at first and, doubled each time, at most (RFC 9520 §3.2: 1 s to 300 s).
    static let firstRest: Duration = .seconds(1)
    static let longestRest: Duration = .seconds(60)

    /// Latency that is never too slow, and how much slower than a sibling is: twice, and so much.
    static let slack: Duration = .milliseconds(50)

    /// How long a measured round trip holds.
    static let measurementAge: Duration = .seconds(60)

    // MARK: - EDNS

    /// How long a server that does not know EDNS is asked without it before it is tested again.
    static let noEDNS: Duration = .seconds(900)

    /// The least time from one test for EDNS of a server to the next.
    static let ednsTestSpacing: Duration = .seconds(10)

    // MARK: - Loops

    /// What a query takes at least that waits for itself: quicker failures have other reasons.
    static let loopTime: Duration = .milliseconds(500)

    /// How long the question that looks for a loop may take to come back.
    static let loopWait: Duration = .seconds(3)

    /// How long after one such question the next one may be sent through the same server.
    static let loopRest: Duration = .seconds(30)

    // MARK: - Datagrams

    /// Greatest delay in noticing that a probe timed out.
    ///
    /// Beyond it the daemon was too busy to read a reply, and the probe is discarded.
    static let lateness: Duration = .milliseconds(50)

    /// Sockets of one server that take queries at the same time.
    static let lanes = 8

    /// Queries that one socket sends, and for how long: then another port takes its place.
    static let queriesPerLane = 64
    static let laneLife: Duration = .milliseconds(100)

    /// Messages that answer no query, after which a socket is closed and its queries go over TCP.
    static let foreignReplies = 8

    /// How late a query may be given up, so that not each of many needs a timer.
    static let grain: Duration = .milliseconds(5)

    // MARK: - Streams

    /// Queries in flight on one connection (RFC 7766 §6.2.1 sets no number); the next one goes over
    /// another connection.
    static let inFlight = 4_096

    /// Queries of clients in flight to one server over HTTPS: a share of what libcurl carries for all.
    static let requestsInFlight = 1_024

    /// Queries given up on one connection whose replies may still come; more end the connection.
    static let givenUp = 4_096

    /// How long a connection without work is kept if the server does not say (RFC 7766 §6.2.3), and
    /// at most whatever it says (RFC 7828 §3.4).
    static let idle: Duration = .seconds(10)
    static let longestIdle: Duration = .seconds(120)

    /// How long a connection may take to be made, and a write to be taken.
    static let connect: Duration = .seconds(4)
    static let write: Duration = .seconds(4)

    /// What encrypted queries are padded to a multiple of, in octets (RFC 8467 §4.1).
    static let padding = 128

    /// The longest an answer may have been in an HTTP cache (RFC 8484 §5.1), in seconds: a year.
    static let age: UInt32 = 31_536_000
}
