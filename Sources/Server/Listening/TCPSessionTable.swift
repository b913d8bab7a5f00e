// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Owner of all TCP sessions of the daemon, on any listener: bounds their number and their octets.
///
/// When the sessions are too many, the client with the most loses the session that has been inactive
/// longest, whether it waits for answers or not.  When they hold too many octets, the client with the
/// most loses its largest session.  So a new client always gets in, and no client pays for another.
@ServiceLoop
final class TCPSessionTable {
    private var sessions: [ObjectIdentifier: TCPSession] = [:]

    /// Sessions and octets of each client that has a session.
    private var shares: [ClientNetwork: Share] = [:]

    /// Octets that all sessions hold.
    private(set) var octets = 0

    /// Sessions closed to make room for other sessions.
    private(set) var evicted: UInt64 = 0

    /// Sessions closed because they, their client or all sessions held too many octets.
    private(set) var overfull: UInt64 = 0

    /// Sessions closed because they sent no valid queries.
    private(set) var malformed: UInt64 = 0

    private struct Share {
        var sessions = 0
        var octets = 0
    }

    /// Sessions that are open now.
    var count: Int { sessions.count }

    // MARK: - Number

    /// Adds a session, after another one was closed if there is no room.
    func add(_ session: TCPSession) {
        if shares[session.network]?.sessions ?? 0 >= TCPLimits.connectionsPerClient {
            evict { $0.network == session.network }
        } else if sessions.count >= TCPLimits.connections {
            let most = shares.values.reduce(0) { max($0, $1.sessions) }
            evict { shares[$0.network]?.sessions == most }
        }
        sessions[ObjectIdentifier(session)] = session
        shares[session.network, default: Share()].sessions += 1
    }

    /// Removes a session that was closed or has ended; is idempotent.
    func remove(_ session: TCPSession) {
        guard sessions.removeValue(forKey: ObjectIdentifier(session)) != nil else { return }
        charge(session, -session.held)
        shares[session.network]?.sessions -= 1
        if shares[session.network]?.sessions == 0 { shares[session.network] = nil }
    }

    /// Closes the session that has been inactive longest, of those that `isCandidate` accepts.
    private func evict(_ isCandidate: (TCPSession) -> Bool) {
        let oldest = sessions.values.lazy.filter(isCandidate)
            .min { $0.lastActive < $1.lastActive }
        guard let oldest else { return }
        evicted += 1
        oldest.close()
    }

    /// Counts a session that is closed because it sent no valid queries.
    func noteMalformed() { malformed += 1 }

    // MARK: - Octets

    /// Notes that `session` holds `change` octets more, and closes sessions until the bounds hold.
    ///
    /// `session` itself may be among those that are closed.
    func update(_ session: TCPSession, by change: Int) {
        guard sessions[ObjectIdentifier(session)] != nil else { return }
        charge(session, change)
        guard change > 0 else { return }
        if session.held > TCPLimits.heldPerSession {
            overfull += 1
            session.close()
        }
        while let share = shares[session.network], share.octets > TCPLimits.heldPerClient {
            guard closeLargest(of: session.network) else { break }
        }
        while octets > TCPLimits.held,
            let most = shares.max(by: { $0.value.octets < $1.value.octets })
        {
            guard closeLargest(of: most.key) else { break }
        }
    }

    private func charge(_ session: TCPSession, _ change: Int) {
        octets += change
        shares[session.network]?.octets += change
    }

    /// Closes the session of `network` that holds the most octets; returns whether there was one.
    private func closeLargest(of network: ClientNetwork) -> Bool {
        let largest = sessions.values.lazy.filter { $0.network == network }
            .max { $0.held < $1.held }
        guard let largest else { return false }
        overfull += 1
        largest.close()
        return true
    }
}
