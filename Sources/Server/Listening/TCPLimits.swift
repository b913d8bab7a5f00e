// SPDX-License-Identifier: Apache-2.0

/// Bounds on the resources of TCP clients (RFC 7766 §6.2, RFC 9210 §4.4).
///
/// "Client" is a `ClientNetwork`: an IPv4 address or an IPv6 /56.  Counts and octets are those of all
/// listeners together.
enum TCPLimits {
    // MARK: - Number

    /// Sessions at the same time; beyond it the client with the most loses one.
    static let connections = 256

    /// Sessions of one client; beyond it the client loses its own oldest.
    static let connectionsPerClient = 128

    /// Queries of one session that wait for answers; further ones stay unread meanwhile.
    static let pending = 100

    /// Messages in a row without a valid query, after which a session is closed.
    static let malformed = 8

    // MARK: - Octets

    /// Octets of unsent replies in one session, beyond which no more queries are read from it.
    static let unwritten = 256 << 10

    /// Octets that one session may hold (unread queries and unsent replies); beyond it, it is closed.
    static let heldPerSession = 512 << 10

    /// Octets that the sessions of one client may hold; beyond it, its largest session is closed.
    static let heldPerClient = 4 << 20

    /// Octets that all sessions may hold; beyond it, the client with the most loses its largest session.
    static let held = 12 << 20

    /// Octets of replies that are rendered at a time; one reply of up to 64 KiB may exceed it.
    static let batchOctets = 16 << 10

    /// Octets that a waiting reply takes besides its query and its records.
    static let replyOverhead = 512

    /// Octets read at a time.
    static let readOctets = 16 << 10

    /// Reads of one session in a row; then other sessions have their turn.
    static let reads = 4

    // MARK: - Time

    /// Time for which a session is not read after a query was refused, because its client
    /// has more than its share in flight.
    static let pause: Duration = .milliseconds(100)

    /// Time that a session without queries is kept (RFC 7766 §6.2.3: of the order of seconds;
    /// RFC 9210 §4.4 asks for more than a few).
    static let idleTime: Duration = .seconds(20)

    /// The same for clients that ask, in units of 100 ms (RFC 7828 §3.1).
    static let keepalive = UInt16(clamping: idleTime.components.seconds * 10)

    /// Time for a message that has begun to arrive completely.
    static let messageTime: Duration = .seconds(4)

    /// Time for the client to accept replies.
    static let writeTime: Duration = .seconds(5)
}
