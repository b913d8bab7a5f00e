// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Table of all TCP sessions, with limits on their number and memory (`Frontend.md`).
///
/// Sessions of clients outside `allow` are closed first.
@ServiceLoop
package final class TCPSessionTable {
    private var sessions: [ObjectIdentifier: TCPSession] = [:]

    private var shares: [ClientNetwork: Share] = [:]

    private(set) var octets = 0

    private var waiting = ClientQueue<TCPSession>()

    private var isServingLater = false

    package private(set) var evicted: UInt64 = 0

    package private(set) var overfull: UInt64 = 0

    package private(set) var malformed: UInt64 = 0

    private struct Share {
        var sessions = 0
        var octets = 0
    }

    var count: Int { sessions.count }

    // MARK: - Number

    func add(_ session: TCPSession) {
        let excluded = sessions.values.lazy.filter { !$0.isAllowed }.count
        let isFull = sessions.count >= TCPLimits.connections
        if shares[session.network]?.sessions ?? 0 >= TCPLimits.connectionsPerClient {
            evict { $0.network == session.network }
        } else if isFull && excluded > 0
            || !session.isAllowed && excluded >= TCPLimits.excludedConnections
        {
            evict { !$0.isAllowed }
        } else if isFull, !session.isAllowed {
            evicted += 1
            return session.close()
        } else if isFull {
            let most = shares.values.reduce(0) { max($0, $1.sessions) }
            let isRanked = most > TCPLimits.connectionsWithoutRank
            evict { !isRanked || shares[$0.network]?.sessions == most }
        }
        sessions[ObjectIdentifier(session)] = session
        shares[session.network, default: Share()].sessions += 1
    }

    func remove(_ session: TCPSession) {
        guard sessions.removeValue(forKey: ObjectIdentifier(session)) != nil else { return }
        charge(session, -session.held)
        shares[session.network]?.sessions -= 1
        if shares[session.network]?.sessions == 0 { shares[session.network] = nil }
    }

    private func evict(_ isCandidate: (TCPSession) -> Bool) {
        // The client of an idle session loses no query (RFC 7766 §6.2.3). The client with the
        // oldest unanswered query gives up first.
        let oldest = sessions.values.lazy.filter(isCandidate)
            .map { (order: ($0.isExpendable ? 0 : 1, $0.waitsSince), session: $0) }
            .min { $0.order < $1.order }?.session
        guard let oldest else { return }
        evicted += 1
        oldest.close()
    }

    func noteMalformed() { malformed += 1 }

    // MARK: - Waiting sessions

    var isBusy: Bool { waiting.count > 0 }

    /// Serves `session` in a later loop iteration, after the waiting sessions.
    func serveLater(_ session: TCPSession) {
        waiting.append(session, of: session.network)
        guard !isServingLater else { return }
        isServingLater = true
        ServiceLoop.task { [self] in serveWaiting() }
    }

    private func serveWaiting() {
        var answers = 0
        while answers < TCPLimits.answersPerTurn, let session = waiting.pop() {
            answers += 1 + session.catchUp()
        }
        isServingLater = isBusy
        if isServingLater { ServiceLoop.task { [self] in serveWaiting() } }
    }

    // MARK: - Octets

    /// Adds `change` to the octets of `session`, then closes sessions above the limits.
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

    private func closeLargest(of network: ClientNetwork) -> Bool {
        let largest = sessions.values.lazy.filter { $0.network == network }
            .max { $0.held < $1.held }
        guard let largest else { return false }
        overfull += 1
        largest.close()
        return true
    }
}
