// SPDX-License-Identifier: Apache-2.0
internal import Net

extension PipelinedConnection {
    private var silentTime: Duration { max((shortest ?? .zero) * 4, UpstreamLimits.silentWait) }

    /// True if no data has arrived since the daemon's own query of the latest silence check.
    var isProbedInVain: Bool {
        guard let silenceProbe, !silenceProbe.isAnswered, let lastReceived else { return false }
        return lastReceived <= silenceProbe.since
    }

    /// Sends `query` if client queries wait and nothing arrives.
    ///
    /// A server that answers in any order answers this query, but perhaps not the name of a client.
    /// Each client query causes at most one such query; otherwise, names that the server does not
    /// answer would cause many.
    ///
    /// - Returns: true if the connection is silent; the time of the next check, or nil for none.
    func checkSilence(
        _ query: UpstreamExchange,
        at now: Instant
    ) -> (isSilent: Bool, next: Instant?) {
        let waiting = self.waiting
        guard hasReplied, isUsable, let oldest = waiting.first, let newest = waiting.last,
            let lastReceived
        else { return (false, nil) }
        if isProbedInVain, let silenceProbe {
            let end = silenceProbe.since + silentTime / 2
            return now < end ? (false, end) : (true, now + silentTime / 2)
        }
        if let silenceProbe, newest.since <= silenceProbe.since { return (false, nil) }
        let due = max(oldest.since, lastReceived) + silentTime
        guard now >= due else { return (false, due) }
        silenceProbe = sendOwn(query)
        return (false, now + silentTime / 2)
    }

    /// The query that possibly made the server stop sending replies.
    ///
    /// It was sent shortly before the last reply, or later. Older unanswered queries are for slow
    /// names.
    var suspect: Pending? {
        let start = (lastReceived ?? begun) - silentTime
        return waiting.first { $0.since >= start } ?? waiting.first
    }
}
