// SPDX-License-Identifier: Apache-2.0

/// Limits of TCP clients on all listeners (RFC 7766 §6.2, RFC 9210 §4.4).
///
/// A client is a `ClientNetwork`: an IPv4 address or an IPv6 /56.
enum TCPLimits {
    // MARK: - Number

    /// Maximum sessions; for a further session, the client with the most sessions loses a session.
    static let connections = 256

    /// Maximum sessions of one client; for a further session, the client loses an older session.
    static let connectionsPerClient = 128

    /// Number of sessions above which the client with the most sessions loses a session.
    ///
    /// If no client has more sessions than this, any client can lose a session. This protects a
    /// client with two sessions (for A and AAAA) while all other clients have one session.
    static let connectionsWithoutRank = 4

    /// Maximum sessions of all clients that `allow` excludes; each of their queries gets REFUSED.
    static let excludedConnections = 16

    /// Number of unanswered queries at which the daemon stops reading from a session.
    static let pending = 100

    static let malformed = 8

    // MARK: - Octets

    /// Octets of unsent replies above which the daemon stops reading from a session.
    static let unwritten = 256 << 10

    /// Octets of unread queries and unsent replies above which the daemon closes a session.
    static let heldPerSession = 512 << 10

    /// Octets held for one client above which the daemon closes the client's largest session.
    static let heldPerClient = 4 << 20

    /// Octets held for all clients above which the daemon closes a session.
    ///
    /// The daemon closes the largest session of the client with the most octets.
    static let held = 12 << 20

    /// Octets of encoded replies at which the daemon stops encoding and writes these replies.
    ///
    /// The last of these replies can exceed the limit by up to 64 KiB.
    static let batchOctets = 16 << 10

    static let replyOverhead = 512

    static let readOctets = 16 << 10

    /// Maximum consecutive reads from one session before other sessions are served.
    static let reads = 4

    /// Maximum sum of answered misses and encoded replies in one iteration of the service loop.
    static let answersPerTurn = 32

    /// Number of cache hits that cost as much as one answered miss.
    static let hitsPerAnswer = 64

    // MARK: - Time

    /// Time for which reading is suspended after a client exceeded its limit of queries in flight.
    static let pause: Duration = .milliseconds(100)

    /// Idle timeout; RFC 7766 §6.2.3 proposes a few seconds, RFC 9210 §4.4 a longer time.
    static let idleTime: Duration = .seconds(20)

    /// Idle timeout for clients that request it, in units of 100 ms (RFC 7828 §3.1).
    static let keepalive = UInt16(clamping: idleTime.components.seconds * 10)

    /// Time in which the first message of a new session should arrive.
    ///
    /// Until then, the session does not count as idle. So if a limit of sessions is reached, the
    /// daemon closes idle sessions before this session.
    static let firstMessageTime: Duration = .seconds(1)

    static let messageTime: Duration = .seconds(4)

    static let writeTime: Duration = .seconds(5)
}
