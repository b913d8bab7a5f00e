// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// MARK: - Vendors with a limit of concurrent calls

/// Names that wait for the end of another call after the vendor refused their call.
struct HeldNames: Sendable {
    fileprivate var names: [(name: PendingName, client: ClientNetwork?)] = []
    fileprivate var shares = CallShares(of: ClientLimits.heldNames)

    var isEmpty: Bool {
        @inline(__always) get { names.isEmpty }
    }

    func client(of name: PendingName) -> Set<ClientNetwork?>? {
        names.first { $0.name === name }.map { [$0.client] }
    }

    @ServiceLoop var firstDeadline: Instant? {
        names.compactMap { $0.name.firstDeadline }.min()
    }
}

extension VendorClient {
    /// Returns true if a limit of concurrent calls is the likely cause of a failure.
    ///
    /// Two conditions must be true:
    ///
    /// - Other calls have earlier requests to the server in flight. If the server were broken,
    ///   these requests would have failed first.
    /// - The failure is a failure to connect, or the latest answer of the server is not older than
    ///   ``ClientLimits/saturationEvidence``. Otherwise, the queried name can be the cause.
    func isSaturation(
        _ error: VendorError,
        of server: SocketAddress,
        _ call: VendorCall,
        since start: Instant,
        _ now: Instant
    ) -> Bool {
        guard error.mayBeSaturation else { return false }
        let answeredAt = records[server]?.answeredAt
        guard
            error.isOfConnection
                || answeredAt.map({ now - $0 < ClientLimits.saturationEvidence }) ?? false
        else { return false }
        let others = counted.count { other in
            other !== call
                && other.running.contains {
                    $0.attempt.server == server
                        && ($0.start, other.number) < (start, call.number)
                }
        }
        return others >= error.callsOfSaturation
    }

    /// Returns the names to retry when another call ends, and removes them from the failed `call`.
    ///
    /// If another request of the call failed for a different reason, no name is retried, because
    /// the vendor might bill each retry. Otherwise, the function reduces `shares.limit`, with two
    /// exceptions:
    ///
    /// - The vendor refused a call: the queried name can be the cause.
    /// - A probe could not connect: idle connections of the daemon can be the cause.
    func takeRetriable(from call: VendorCall) -> [PendingName] {
        guard let error = call.saturation, !call.hasOtherFailure else { return [] }
        let now = clocks.now()
        if call.isTrial != error.isOfConnection {
            shares.reduce(to: shares.count - (call.isTrial ? 0 : 1), now: now)
        }
        let most =
            error.isOfConnection
            ? ClientLimits.connectionRetries : ClientLimits.saturationRetries
        let names = call.names.filter { $0.retries < most && !$0.hasNext }
        for name in names { name.call = nil }
        call.names.removeAll { $0.call == nil }
        return names
    }

    /// Holds names until another call ends; fails the names that exceed the share of `client`.
    func hold(_ names: [PendingName], of client: ClientNetwork?, _ failure: VendorFailure) {
        held.shares.isReserved = shares.isReserved
        for name in names where pending[name.question] === name {
            guard held.shares.admits(client) else {
                answer(name, failure)
                continue
            }
            held.shares.begin(client)
            held.names.append((name, client))
            name.retries += 1
            name.queuedAt = name.queuedAt ?? clocks.now()
            name.trace?.note("\(self.name): too many concurrent calls, waiting until one ends")
            if let end = name.firstDeadline { queueAlarm.bring(forward: end) }
        }
        guard shares.count == 0 else { return }
        release()
        sendQueued()
    }

    func release(after call: VendorCall) {
        if call.saturation == nil || shares.count == 0 { release() }
    }

    private func release() {
        guard !held.isEmpty else { return }
        let names = held.names
        held = HeldNames()
        for (name, client) in names where pending[name.question] === name && name.call == nil {
            queue.add(name.question, of: client, since: name.queuedAt)
        }
    }
}

extension VendorError {
    /// The error shows a limit of concurrent calls only if at least this number of other calls is
    /// in flight; a 429 with fewer calls shows a rate limit.
    fileprivate var callsOfSaturation: Int { if case .limited = self { 4 } else { 1 } }

    /// A 429 with `Retry-After` shows a rate limit.
    var mayBeSaturation: Bool {
        switch self {
        case .limited(retryAfter: nil), .serverStatus(503, _): true
        case .transport(.connect), .transport(.cutOff(reused: false)): true
        default: false
        }
    }
}
