// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// Queries of the daemon on a connection. The queries of clients cannot show that a connection is
// faulty: a client can query names that get no answer, or an error.
extension PipelinedConnection {
    /// Fault that the other connections to the server may not have, because another host answers.
    enum Fault {
        /// Only a part of the queries of a check got replies.
        case losses

        /// Queries of a check got error replies.
        case errors
    }

    /// Sends queries of the daemon, to find out whether the connection is faulty.
    ///
    /// If no query gets a reply, the connection is slow or silent, but not faulty. The next check
    /// begins at the earliest after ``UpstreamLimits/lossCheckSpacing``, or at the time that `ended` returned.
    ///
    /// - Parameter ended: closure that is called with false if all queries were answered (the result
    ///   is ignored), and with true after an error reply. The closure then returns nil if the
    ///   connection may be replaced, otherwise the earliest time of the next check and replacement.
    func check(
        _ queries: @autoclosure () -> [UpstreamExchange],
        ended: @escaping @ServiceLoop (_ hasErrors: Bool) -> Instant?
    ) {
        let now = clocks.now()
        guard wasServed, isUsable, fault == nil, samples.isEmpty,
            nextCheck.map({ now >= $0 }) ?? true
        else { return }
        let next = now + UpstreamLimits.lossCheckSpacing
        (nextCheck, checkEnded) = (next, ended)
        samples = queries().map { sendOwn($0) }
        let wait = max(UpstreamLimits.fairWait, (shortest ?? .zero) * 2)
        ServiceLoop.task { [self] in
            try? await clocks.sleep(now + wait)
            if nextCheck == next { endCheck() }
        }
    }

    private func endCheck() {
        let (replies, answers) = (samples.count { $0.isAnswered }, samples.count { $0.isGood })
        let isPassed = !samples.isEmpty && answers == samples.count
        samples = []
        guard replies > 0, end == nil else { return }
        if isPassed {
            _ = checkEnded?(false)
        } else if replies == answers {
            fault = .losses
        } else if let earliest = checkEnded?(true) {
            nextCheck = min(earliest, nextCheck ?? earliest)
        } else {
            fault = .errors
        }
        checkEnded = nil
    }

    /// Clears the fault ``Fault/errors``, after no other connection has replied.
    ///
    /// If the fault stayed, each query would open a connection while the server refuses further
    /// connections.
    func forgiveErrors() { if fault == .errors { fault = nil } }

    @discardableResult
    func sendOwn(_ query: UpstreamExchange) -> Pending {
        let (id, entry) = (freeID(), Pending(nil, own: query, since: clocks.now()))
        givenUp[id] = entry
        append(entry)
        send(query.message, id: id)
        return entry
    }

    func noteOwn(_ reply: [UInt8], to entry: Pending) {
        guard let own = entry.own else { return }
        entry.isGood = own.isAnswered(by: reply)
        if !samples.isEmpty, samples.allSatisfy(\.isAnswered) { endCheck() }
    }
}

extension UpstreamExchange {
    /// True if a message from a stream answers the query with NOERROR or NXDOMAIN, for any ID.
    fileprivate func isAnswered(by reply: [UInt8]) -> Bool {
        var reply = reply
        (reply[0], reply[1]) = (UInt8(id >> 8), UInt8(id & 0xFF))
        let rcode = judgeStream(reply)?.rcode
        return rcode == .noError || rcode == .nxDomain
    }
}
