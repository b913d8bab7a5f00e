// SPDX-License-Identifier: Apache-2.0
// Monotonic is re-exported for files that do not import Net.
@_exported public import Monotonic

/// Condition of a server, for the operator.
package enum ServerCondition: Sendable, Hashable {
    case up

    /// A probe failed; the server is backed off until a probe after `until` succeeds.
    case rests(until: Instant, because: UpstreamError)

    /// Queries to the server return to this daemon; after `until`, a probe checks this again.
    case loops(until: Instant)

    case paused
}

/// Latency and health of one server; only probes decide the health.
struct ServerHealth: Sendable, Hashable {
    /// Back-off interval, after which a probe is sent.
    private struct Rest: Sendable, Hashable {
        var since: Instant
        var length: Duration

        var reason: UpstreamError

        var isOutage: Bool

        var end: Instant { since + length }
    }

    /// Smoothed latency of answers to clients, for display.
    private(set) var latency: Duration?

    /// Last measured round trip, or the latency of a later answer if this latency is shorter.
    ///
    /// An answer can only lower this value: clients may query names that resolve slowly.
    private var shortest = UpstreamLimits.firstRoundTrip

    /// Latency of a probe on an open connection.
    private(set) var roundTrip: Duration?
    private var measuredAt: Instant?

    /// Times of the last reply with any RCODE, and of the last answer.
    private var receivedAt: Instant?
    private var answeredAt: Instant?

    private(set) var isProbed = false
    private var probedAt: Instant?

    private var declines = 0

    /// Number of consecutive failed probes with errors that can be of one host of a pool.
    private var failures = 0

    /// Start of an unanswered attempt that caused a probe.
    ///
    /// If several such attempts began after the server's last reply, this is the first of them.
    private var suspectedSince: Instant?

    /// Time of the last query of a client with a high load; see ``loaded(now:)``.
    private var loadedAt: Instant?

    private var lostAt: Instant?

    private var rest: Rest?

    /// Earliest time of the next probe for a loop; nil if the server is not known to loop.
    private(set) var loopsUntil: Instant?

    private var soughtLoopAt: Instant?
}

// MARK: - Reading

extension ServerHealth {
    var isFit: Bool { rest == nil && loopsUntil == nil }

    /// True if probes show an outage, so that an unprotected server may replace this server.
    ///
    /// A rate-limited or overloaded server is not down: a flood from one client must not send the
    /// names of other clients to an unprotected server.
    var isDown: Bool { rest?.isOutage ?? false }

    var loops: Bool { loopsUntil != nil }

    /// True if the network loses datagrams of a server that answers.
    ///
    /// Mutating to avoid a copy of the struct.
    mutating func isLossy(at now: Instant) -> Bool {
        lostAt.map { now - $0 < UpstreamLimits.lossLifetime } ?? false
    }

    var failure: UpstreamError? { rest?.reason }

    /// True if the last probe could not authenticate the server.
    var isUntrusted: Bool { rest?.reason.isUntrusted ?? false }

    /// True if a probe that checks the certificate is in flight, or may be sent now.
    func isRecheckable(at now: Instant) -> Bool {
        guard let rest, isUntrusted else { return false }
        return isProbed || now - rest.since >= UpstreamLimits.firstRest
    }

    var condition: ServerCondition {
        if let loopsUntil { return .loops(until: loopsUntil) }
        return rest.map { .rests(until: $0.end, because: $0.reason) } ?? .up
    }

    /// Time to wait for a reply before a hedged query is sent to another server.
    var patience: Duration {
        min(shortest.doubled(1) + UpstreamLimits.resolvingTime, UpstreamLimits.longestPatience)
    }

    /// Time for a query over a new connection: four round trips with TLS 1.2.
    var connectionTime: Duration {
        min(shortest.doubled(2) + UpstreamLimits.resolvingTime, UpstreamLimits.connect)
    }

    /// True if the server has answered since the start of the daemon or the last network change.
    var hasAnswered: Bool { answeredAt != nil }

    var backOffEnd: Instant? { rest?.end }

    var rests: Bool { rest != nil && !loops }

    func isDue(at now: Instant) -> Bool {
        guard let rest, !loops else { return false }
        return !isProbed && now >= rest.end
    }

    func isSilent(since began: Instant) -> Bool {
        receivedAt.map { $0 <= began } ?? true
    }

    func isUnmeasured(at now: Instant) -> Bool {
        guard isFit else { return false }
        return measuredAt.map { now - $0 >= UpstreamLimits.measurementAge } ?? true
    }

    func isSlower(than other: ServerHealth) -> Bool {
        guard let roundTrip, let fast = other.roundTrip else { return false }
        return roundTrip > fast * 2 + UpstreamLimits.slack
    }
}

// MARK: - Candidates

extension ServerHealth {
    func candidate(
        _ server: any Forwarding,
        _ index: Int,
        _ role: ServerRole = .ordinary,
        isProtected: Bool,
        upstream: Int = 0,
        isLossy: Bool = false
    ) -> AttemptPlan.Candidate {
        AttemptPlan.Candidate(
            server: index,
            upstream: upstream,
            role: role,
            isProtected: isProtected,
            isDown: isDown,
            isUntrusted: isUntrusted,
            timeout: server.timeout,
            patience: patience,
            repeatsAfter: server.repeatsAfter,
            isLossy: isLossy
        )
    }

    /// ``patience`` of a healthy server; otherwise nil.
    ///
    /// Mutating to avoid a copy of the struct.
    mutating func patienceIfFit() -> Duration? { isFit ? patience : nil }
}

// MARK: - Load

extension ServerHealth {
    /// Records that an unanswered attempt caused a probe.
    mutating func suspected(since began: Instant) {
        guard suspectedSince.map({ !isSilent(since: $0) }) ?? true else { return }
        suspectedSince = began
    }

    /// Records a query of a client with a high load (``ClientLoad``).
    ///
    /// The query does not count while the server is silent, because any client can then accumulate
    /// many queries in flight.
    mutating func loaded(now: Instant) {
        let wait = UpstreamLimits.longestPatience + UpstreamLimits.probeSpacing
        if let suspectedSince, now - suspectedSince >= wait, isSilent(since: suspectedSince) {
            return
        }
        loadedAt = now
    }

    private func mayBeOverloaded(_ reason: UpstreamError, at now: Instant) -> Bool {
        guard hasAnswered, !isDown, let loadedAt else { return false }
        switch reason {
        case .timedOut, .broken: return now - loadedAt < UpstreamLimits.overloadTime
        default: return false
        }
    }
}

// MARK: - Replies to clients' queries

extension ServerHealth {
    /// Records an answer.
    ///
    /// - Returns: `isSlow`: true if the latency exceeds the known round trip. `rests`: the value of
    ///   the property ``rests``, so that the caller need not copy the struct to read it.
    mutating func answered(in time: Duration, now: Instant) -> (isSlow: Bool, rests: Bool) {
        defer { shortest = min(shortest, time) }
        latency = latency.map { $0 + (time - $0).doubled(-3) } ?? time
        receivedAt = now
        answeredAt = now
        (declines, failures) = (0, 0)
        return (time > shortest, rests)
    }

    /// Records an error reply, or a reply to a sample.
    mutating func replied(now: Instant) { receivedAt = now }

    /// Records that the server answered only the repetition of a datagram.
    mutating func lostDatagram(now: Instant) { lostAt = now }
}

// MARK: - Probes

extension ServerHealth {
    /// Starts a probe, at least ``UpstreamLimits/probeSpacing`` after the previous probe.
    ///
    /// - Returns: the time at which to send the probe; nil if a probe is in flight.
    mutating func beginProbe(now: Instant) -> Instant? {
        guard !isProbed else { return nil }
        isProbed = true
        let start = probedAt.map { max(now, $0 + UpstreamLimits.probeSpacing) } ?? now
        probedAt = start
        return start
    }

    /// Records a successful probe; returns true if a back-off ended.
    mutating func passedProbe(now: Instant) -> Bool {
        isProbed = false
        receivedAt = now
        answeredAt = now
        (declines, failures) = (0, 0)
        defer { rest = nil }
        return rest != nil
    }

    /// Records the failure of a probe sent at `began`; returns true if a back-off started.
    mutating func failedProbe(
        _ reason: UpstreamError,
        isProtected: Bool = false,
        began: Instant,
        now: Instant
    ) -> Bool {
        isProbed = false
        guard !reason.isOurs else { return false }
        if reason.isDecline {
            receivedAt = now
            (declines, failures) = (declines + 1, 0)
            guard rest != nil || declines >= UpstreamLimits.declinesBeforeRest else { return false }
        } else if !isDown, !isSilent(since: began) {
            // The server has replied since the start of the probe.
            return false
        } else if reason.isOfOneHost, !isDown, answered(within: UpstreamLimits.trustTime, now) {
            failures += 1
            guard failures >= UpstreamLimits.failuresOfHosts else { return false }
        }
        (declines, lostAt) = (0, nil)
        let before = rest
        let hasAnswered = answered(within: UpstreamLimits.declineTolerance, now)
        let isOverload = isProtected && mayBeOverloaded(reason, at: now)
        let isOutage =
            reason != .rateLimited && !(reason.isDecline && hasAnswered) && !isOverload
        // The first back-off of an outage lasts `firstRest`, even after a rate limit.
        let isLonger = before.map { $0.isOutage || !isOutage } ?? false
        let longest =
            isProtected ? UpstreamLimits.longestProtectedRest : UpstreamLimits.longestRest
        let next = before.map { min($0.length * 2, longest) }
        rest = Rest(
            since: now,
            length: isLonger ? next ?? UpstreamLimits.firstRest : UpstreamLimits.firstRest,
            reason: reason,
            isOutage: isOutage
        )
        return before == nil
    }

    private func answered(within time: Duration, _ now: Instant) -> Bool {
        answeredAt.map { now - $0 < time } ?? false
    }

    mutating func beganMeasuring(now: Instant) { measuredAt = now }

    mutating func measured(_ time: Duration) {
        roundTrip = time
        shortest = time
    }
}

// MARK: - Loops

extension ServerHealth {
    /// Returns true if a probe for a forwarding loop is due, and records the probe.
    mutating func seekLoop(now: Instant) -> Bool {
        if let soughtLoopAt, now - soughtLoopAt < UpstreamLimits.loopRest { return false }
        soughtLoopAt = now
        return true
    }

    /// Records that the probe returned to the daemon; returns true if no loop was known.
    mutating func looped(now: Instant) -> Bool {
        defer { loopsUntil = now + UpstreamLimits.loopRest }
        return loopsUntil == nil
    }

    /// Records that the probe did not return; returns true if a loop was known.
    mutating func didNotLoop() -> Bool {
        defer { loopsUntil = nil }
        return loopsUntil != nil
    }
}

extension Duration {
    /// Multiplies by 2 to the power of `times`, rounded down; a negative `times` divides.
    ///
    /// The operator `/` of `Duration` takes 600 instructions.
    fileprivate func doubled(_ times: Int) -> Duration {
        Duration(attoseconds: attoseconds << times)
    }
}
