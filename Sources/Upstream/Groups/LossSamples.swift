// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Load of a client on the upstreams.
package enum ClientLoad: Sendable {
    case normal

    /// The client has many queries in flight; servers that get them also get samples.
    case high

    /// The limit of queries in flight is reduced, and no server gets a query twice.
    case excessive
}

/// Estimate of the share of queries that a server drops, from the replies to samples.
struct LossSamples {
    /// Moving average of the share of samples without a reply, in units of 1/1024.
    private var lost = 0

    private var next: Instant?

    private var answeredAt: Instant?

    /// Number of queries since the latest sample, and of queries to skip before the next sample.
    private var (queries, skipped) = (0, 0)

    private var count = 0

    /// True if the latest sample got an error reply, or its connection was closed.
    private var isRefused = false

    /// Counts a query; returns a sample that must be sent with the query, or nil for no sample.
    ///
    /// The query is chosen at random: the first query of a burst does not meet an overload.
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

    mutating func noteReply(_ rcode: RCode, now: Instant) {
        lost -= lost >> 4
        (answeredAt, isRefused) = (now, rcode != .noError)
    }

    /// Counts a loss: a sample without a reply, or a client query on a connection that the server
    /// closed without a reply.
    ///
    /// - Parameter isClosed: true for a sample if the server closed the connection; false for a
    ///   client query.
    mutating func noteLoss(isClosed: Bool) {
        lost += (1_024 - lost) >> 4
        if isClosed { isRefused = true }
    }

    /// Delays the next sample, because the server could not be reached.
    mutating func pause(now: Instant) { next = now + UpstreamLimits.firstRest }

    /// Returns true if more than 1/8 of the samples are lost; nil if the server answers no samples.
    func areLost(at now: Instant) -> Bool? {
        guard let answeredAt, now - answeredAt < UpstreamLimits.sampleLifetime else { return nil }
        return lost > 1_024 / 8
    }
}

extension HealthTable {
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
            // The daemon was too busy, so the reply may wait unread in the socket.
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
