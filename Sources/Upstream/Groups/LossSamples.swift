// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Load of a client on the upstreams.
package enum ClientLoad: Sendable {
    case normal

    /// Many queries in flight; the servers that get these queries also get samples.
    case high

    /// Like `high`, with a reduced limit of queries in flight; no server gets a query twice.
    case excessive
}

/// Estimate of the share of queries that a server drops, from the replies to samples.
///
/// A sample is sent only once, unlike a probe. Exception: if a plain server does not answer a
/// sample, the sample is sent once more, because the network can lose one datagram. The samples use
/// the questions of `Query.samples` in turn. If all questions were equal, a server could limit the
/// replies (Response Rate Limiting) without being overloaded.
///
/// Unanswered queries of clients do not prove that a server is overloaded. Clients choose the
/// names, and the authoritative servers of a name can be silent, or answer only some copies of a
/// query. But a query of a client with a high load counts as a lost sample if the server closes the
/// connection of this query without a reply to any query.
struct LossSamples {
    /// Moving average of the share of samples without a reply, in units of 1/1024.
    private var lost = 0

    /// Earliest time of the next sample.
    private var next: Instant?

    private var answeredAt: Instant?

    /// Numbers of queries: since the latest sample, and to skip before the next sample.
    private var (queries, skipped) = (0, 0)

    /// Number of samples that were sent, which determines the question of the next sample.
    private var count = 0

    /// True if the latest sample got an error reply, or the server closed the sample's connection.
    ///
    /// Then the next sample is sent later than usual, because the server may limit the rate of
    /// error replies, and because each new connection costs CPU time.
    private var isRefused = false

    /// Counts a query; returns a sample that must be sent with the query, or nil for no sample.
    ///
    /// Each sample is sent together with a randomly chosen query. If a sample were always sent with
    /// the first query of a burst, the server would not be overloaded yet, and would answer all
    /// samples.
    mutating func begin(now: Instant, _ random: inout some RandomNumberGenerator) -> Query? {
        queries += 1
        if let next {
            guard now >= next else { return nil }
            if now - next > UpstreamLimits.sampleGap { (lost, skipped) = (0, 0) }
        }
        guard skipped == 0 else {
            skipped -= 1
            return nil
        }
        next =
            now + (isRefused ? UpstreamLimits.refusedSampleSpacing : UpstreamLimits.sampleSpacing)
        (queries, skipped) = (0, Int.random(in: 0..<queries, using: &random))
        count += 1
        return Query.samples[count % Query.samples.count]
    }

    /// Counts a sample with a reply.
    mutating func noteReply(_ rcode: RCode, now: Instant) {
        lost -= lost >> 4
        (answeredAt, isRefused) = (now, rcode != .noError)
    }

    /// Counts a lost sample: a sample that got no reply, or a client query on a closed connection.
    ///
    /// A client query counts as a lost sample if the server closed the connection of the query
    /// without a reply. Unbound does so with each query that exceeds `num-queries-per-thread`.
    ///
    /// - Parameter isClosed: true if the server closed the connection of the sample.
    mutating func noteLoss(isClosed: Bool) {
        lost += (1_024 - lost) >> 4
        if isClosed { isRefused = true }
    }

    /// Delays the next sample, because the server could not be reached.
    mutating func pause(now: Instant) { next = now + UpstreamLimits.firstRest }

    /// Returns true if more than 1/8 of the samples are lost; nil if the server answers no samples.
    ///
    /// A server that answers no samples has failed, or does not answer the questions of samples. So
    /// missing replies of such a server do not show an overload.
    func areLost(at now: Instant) -> Bool? {
        guard let answeredAt, now - answeredAt < UpstreamLimits.sampleLifetime else { return nil }
        return lost > 1_024 / 8
    }
}

extension HealthTable {
    /// Sends a sample to a server together with a query, unless the latest sample is too recent.
    func sample(_ server: any Forwarding, _ page: Page, now: Instant) {
        page.health.loaded(now: now)
        guard let query = page.samples.begin(now: now, &random) else { return }
        send(query, to: server, page, isSecond: false, now: now)
    }

    private func send(
        _ query: Query,
        to server: any Forwarding,
        _ page: Page,
        isSecond: Bool,
        now: Instant
    ) {
        let end = now + max(UpstreamLimits.sampleWait, probeTime(of: server, page))
        let completion = Completion<Attempt> { [self] in
            sampled($0, by: server, page, isSecond: isSecond)
        }
        server.ask(Attempt(query, deadline: end, completion))
    }

    /// Counts the result of a sample; repeats the sample once if a plain server does not reply.
    private func sampled(
        _ attempt: Attempt,
        by server: any Forwarding,
        _ page: Page,
        isSecond: Bool
    ) {
        let now = clocks.now()
        switch attempt.outcome {
        case .success(let reply):
            page.samples.noteReply(reply.rcode, now: now)
            page.health.replied(now: now)
        case .failure(let error) where error.isDecline:
            page.samples.noteReply(.refused, now: now)
            page.health.replied(now: now)
        case .failure(.timedOut):
            // If the daemon was too busy to end the attempt in time, the reply may wait unread in
            // the socket. So the sample does not count.
            guard now - attempt.deadline < UpstreamLimits.fairWait else { return }
            guard server.isProtected || isSecond else {
                return send(attempt.query, to: server, page, isSecond: true, now: now)
            }
            page.samples.noteLoss(isClosed: false)
        case .failure(.broken): page.samples.noteLoss(isClosed: true)
        case .failure: page.samples.pause(now: now)
        }
    }
}
