// SPDX-License-Identifier: Apache-2.0

/// Limits of TCP clients on all listeners (RFC 7766 §6.2, RFC 9210 §4.4).
///
/// A client is a `ClientNetwork`: an IPv4 address or an IPv6 /56.
enum TCPLimits {
    // MARK: - Number

    static let connections = 256

    static let connectionsPerClient = 128

    /// Sessions of one client, up to which a full table can close a session of any client.
    ///
    /// If a client has more sessions, the client with the most sessions loses a session. The limit
    /// protects a client with two sessions (for A and AAAA) while all other clients have one.
    static let connectionsWithoutRank = 4

    /// Maximum sessions of all clients that `allow` excludes.
    static let excludedConnections = 16

    /// Unanswered queries at which the daemon stops reading from a session.
    static let pending = 100

    static let malformed = 8

    // MARK: - Octets

    /// Octets of unsent replies above which the daemon stops reading.
    static let unwritten = 256 << 10

    /// Octets of unread queries and unsent replies.
    static let heldPerSession = 512 << 10

    static let heldPerClient = 4 << 20

    static let held = 12 << 20

    /// Octets of encoded replies at which the daemon writes them.
    static let batchOctets = 16 << 10

    static let replyOverhead = 512

    static let readOctets = 16 << 10

    static let reads = 4

    static let answersPerTurn = 32

    static let hitsPerAnswer = 64

    // MARK: - Time

    /// Time without reading after a client exceeded its limit of queries in flight.
    static let pause: Duration = .milliseconds(100)

    /// RFC 7766 §6.2.3 proposes a few seconds, RFC 9210 §4.4 a longer time.
    static let idleTime: Duration = .seconds(20)

    /// ``idleTime`` in units of 100 ms (RFC 7828 §3.1).
    static let keepalive = UInt16(clamping: idleTime.components.seconds * 10)

    /// Time for the first message, during which a new session does not count as idle.
    static let firstMessageTime: Duration = .seconds(1)

    static let messageTime: Duration = .seconds(4)

    static let writeTime: Duration = .seconds(5)
}
