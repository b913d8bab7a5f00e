// SPDX-License-Identifier: Apache-2.0

/// Bounds on the resources of TCP clients (RFC 7766 §6.2, RFC 9210 §4.4).
///
/// "Client" is a `ClientNetwork`: an IPv4 address or an IPv6 /56.  Counts and octets are those of
/// all listeners together.
enum TCPLimits {
    // MARK: - Number

    /// Sessions at the same time; above it, the client with the most sessions loses one.
    static let connections = 256

    /// Sessions of one client; above it, the client loses the session that was inactive longest.
    static let connectionsPerClient = 128

    /// Queries of one session that wait for answers; more queries are not read meanwhile.
    static let pending = 100

    /// Consecutive invalid messages after which a session is closed.
    static let malformed = 8

    // MARK: - Octets

    /// Octets of unsent replies in one session above which reading is suspended.
    static let unwritten = 256 << 10

    /// Octets held by one session (unread queries, unsent replies); above it, the session is
    /// closed.
    static let heldPerSession = 512 << 10

    /// Octets held by the sessions of one client; above it, its largest session is closed.
    static let heldPerClient = 4 << 20

    /// Octets held by all sessions; above it, the largest session of the largest client is closed.
    static let held = 12 << 20

    /// Octets of replies rendered at a time; one reply of up to 64 KiB may exceed it.
    static let batchOctets = 16 << 10

    /// Octets counted for a waiting reply in addition to its records.
    static let replyOverhead = 512

    static let readOctets = 16 << 10

    /// Consecutive reads of one session before other sessions are served.
    static let reads = 4

    // MARK: - Time

    /// Suspension of reading after a query was refused because its client exceeded its share of
    /// queries in flight.
    static let pause: Duration = .milliseconds(100)

    /// Idle timeout of a session (RFC 7766 §6.2.3: of the order of seconds; RFC 9210 §4.4: more
    /// than a few).
    static let idleTime: Duration = .seconds(20)

    /// Idle timeout as sent to clients that request it, in units of 100 ms (RFC 7828 §3.1).
    static let keepalive = UInt16(clamping: idleTime.components.seconds * 10)

    /// Time for a message that has begun to arrive completely.
    static let messageTime: Duration = .seconds(4)

    /// Time for the client to accept replies.
    static let writeTime: Duration = .seconds(5)
}
