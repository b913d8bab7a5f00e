// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// Connections that stay open, but on which the server no longer replies.
extension StreamExchanger {
    func watchSilence() {
        silenceAlarm.bring(forward: clocks.now() + UpstreamLimits.silentWait)
    }

    /// Opens another connection if a connection has become silent; sets the alarm of the next check.
    ///
    /// A server that answers in order is silent during each slow name, so each slow name of a busy
    /// client would open a connection. Therefore, the connection of busy clients is only checked if
    /// the server has already answered queries out of order.
    func checkSilence() {
        let now = clocks.now()
        for purpose in [Purpose.queries, .queriesOfBusyClients]
        where purpose == .queries || answersOutOfOrder {
            guard let connection = current[purpose] else { continue }
            let (isSilent, next) = connection.checkSilence(greeting, at: now)
            if let next { silenceAlarm.bring(forward: next) }
            if isSilent { renew(connection, for: purpose, now) }
        }
    }

    /// True if a new connection for `purpose` is being opened.
    func isOpening(_ purpose: Purpose, at now: Instant) -> Bool {
        guard let new = candidates[purpose], new.end == nil, !new.wasServed else { return false }
        return now - new.begun < UpstreamLimits.fairWait
    }

    private func renew(_ silent: PipelinedConnection, for purpose: Purpose, _ now: Instant) {
        if let known = candidates[purpose] {
            if known.isUsable, known.wasServed { return replace(silent, by: known, for: purpose) }
            if known.isUsable, now - known.begun < opening.time { return }
            retire(known)
            opening.openedAnother()
        }
        let new = connection()
        candidates[purpose] = new
        new.served = { [weak self, weak new] in
            guard let self, let new, candidates[purpose] === new else { return }
            opening.replied(new.openingTime)
            replace(silent, by: new, for: purpose)
        }
    }

    /// Repeats the unanswered queries on an established connection, if `silent` is still silent.
    ///
    /// The query that possibly caused the silence is repeated on the connection of busy clients, or
    /// by the client's next attempt. On `new`, it could cause the silence again.
    private func replace(
        _ silent: PipelinedConnection,
        by new: PipelinedConnection,
        for purpose: Purpose
    ) {
        guard current[purpose] === silent, silent.isProbedInVain else { return }
        var waiting = silent.waiting
        if let suspect = silent.suspect, let question = suspect.query?.attempt.query.question {
            suspects.add(question, at: clocks.now())
            if purpose != .queries { waiting.removeAll { $0 === suspect } }
        }
        adopt(new, for: purpose)
        repeatQueries(waiting, besides: silent)
        watchSilence()
    }
}
