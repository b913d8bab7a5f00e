// SPDX-License-Identifier: Apache-2.0

/// Whether a server is asked, and if not, until when and why.
package enum ServerCondition: Sendable, Hashable {
    case up

    /// A probe failed; a probe after this time ends or prolongs the rest.
    case rests(until: ContinuousClock.Instant, because: UpstreamError)

    /// Queries to it come back to this server; after this time a probe looks for the loop again.
    case loops(until: ContinuousClock.Instant)

    /// An operator has paused the upstream; it is not asked until it is resumed.
    case paused
}

/// Health of one server: its latency, and whether it is in service.
///
/// Only probes decide: questions of the daemon's own, which no client can choose.  A failed probe
/// makes the server rest, for a second that doubles with each further one, until a probe is answered.
/// Clients' queries only give reasons for a probe, and measure how long to wait before hedging.
struct ServerHealth: Sendable, Hashable {
    /// A rest, and the probe after it.
    private struct Rest: Sendable, Hashable {
        var since: ContinuousClock.Instant
        var length: Duration

        /// The latest failure.
        var reason: UpstreamError

        var end: ContinuousClock.Instant { since + length }
    }

    /// The smoothed latency of answers and its deviation (RFC 6298 §2).
    private(set) var latency: Duration?
    private var deviation: Duration = .zero

    /// The latency of an own question over an open connection, and when it was last measured.
    private(set) var roundTrip: Duration?
    private var measuredAt: ContinuousClock.Instant?

    /// When the server last sent a reply to a query of ours, whatever its RCODE.
    private var heardAt: ContinuousClock.Instant?

    /// Whether a probe is under way, and when the latest one began.
    private(set) var isProbed = false
    private var probedAt: ContinuousClock.Instant?

    /// Probes that were declined since the last answer.
    private var declines = 0

    private var rest: Rest?

    /// Until when it is not asked because it leads back to us; nil if it does not.
    private(set) var loopsUntil: ContinuousClock.Instant?

    /// When a loop was last looked for.
    private var soughtLoopAt: ContinuousClock.Instant?
}

// MARK: - Reading

extension ServerHealth {
    /// Whether it belongs into the order of those that are asked first.
    var isFit: Bool { rest == nil && loopsUntil == nil }

    /// Whether it may not be asked at all.
    var loops: Bool { loopsUntil != nil }

    /// What it is like for people.
    var condition: ServerCondition {
        if let loopsUntil { return .loops(until: loopsUntil) }
        return rest.map { .rests(until: $0.end, because: $0.reason) } ?? .up
    }

    /// How long it is waited for alone.
    var patience: Duration {
        guard let latency else { return UpstreamLimits.firstPatience }
        let range = UpstreamLimits.patience
        return min(max(latency + deviation.doubled(2), range.lowerBound), range.upperBound)
    }

    /// Whether it rests, and does not lead back to us.
    var rests: Bool { rest != nil && !loops }

    /// Whether its rest is over and no probe has tried it since.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard let rest, !loops else { return false }
        return !isProbed && now >= rest.end
    }

    /// Whether the server has sent no reply after `began`.
    func isSilent(since began: ContinuousClock.Instant) -> Bool {
        heardAt.map { $0 <= began } ?? true
    }

    /// Whether its round trip was not measured lately.
    func isUnmeasured(at now: ContinuousClock.Instant) -> Bool {
        guard isFit else { return false }
        return measuredAt.map { now - $0 >= UpstreamLimits.measurementAge } ?? true
    }

    /// Whether it is clearly slower than `other`.
    func isSlower(than other: ServerHealth) -> Bool {
        guard let roundTrip, let fast = other.roundTrip else { return false }
        return roundTrip > fast * 2 + UpstreamLimits.slack
    }
}

// MARK: - Replies to clients' queries

extension ServerHealth {
    /// Notes an answer that took `time`.
    mutating func answered(in time: Duration, now: ContinuousClock.Instant) {
        if let smoothed = latency {
            let distance = smoothed > time ? smoothed - time : time - smoothed
            deviation += (distance - deviation).doubled(-2)
            latency = smoothed + (time - smoothed).doubled(-3)
        } else {
            latency = time
            deviation = time.doubled(-1)
        }
        heardAt = now
        declines = 0
    }

    /// Notes a reply that is no answer.
    mutating func declined(now: ContinuousClock.Instant) { heardAt = now }
}

// MARK: - Probes

extension ServerHealth {
    /// Begins a probe.
    ///
    /// - Returns: when to send it, ``UpstreamLimits/probeSpacing`` after the one before; nil while
    ///   another one is under way.
    mutating func beginProbe(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard !isProbed else { return nil }
        isProbed = true
        let start = probedAt.map { max(now, $0 + UpstreamLimits.probeSpacing) } ?? now
        probedAt = start
        return start
    }

    /// Ends a probe that was answered.
    ///
    /// - Returns: whether that ends a rest.
    mutating func passedProbe(now: ContinuousClock.Instant) -> Bool {
        isProbed = false
        heardAt = now
        declines = 0
        defer { rest = nil }
        return rest != nil
    }

    /// Ends a probe, sent at `began`, that was not answered for this reason.
    ///
    /// - Returns: whether the server begins to rest.
    mutating func failedProbe(
        _ reason: UpstreamError,
        began: ContinuousClock.Instant,
        now: ContinuousClock.Instant
    ) -> Bool {
        isProbed = false
        // A limit of this daemon or machine says nothing about the server.
        guard !reason.isOurs else { return false }
        if reason.isDecline {
            heardAt = now
            declines += 1
            guard rest != nil || declines >= UpstreamLimits.declinesBeforeRest else { return false }
        } else if rest == nil, !isSilent(since: began) {
            // Only the probe was lost.
            return false
        }
        declines = 0
        let before = rest
        let next = before.map { min($0.length * 2, UpstreamLimits.longestRest) }
        rest = Rest(since: now, length: next ?? UpstreamLimits.firstRest, reason: reason)
        return before == nil
    }

    /// Begins to measure the round trip.
    mutating func beganMeasuring(now: ContinuousClock.Instant) { measuredAt = now }

    /// Notes the round trip of an own question.
    mutating func measured(_ time: Duration) { roundTrip = time }
}

// MARK: - Loops

extension ServerHealth {
    /// It is to be seen whether it leads back to us.
    ///
    /// - Returns: whether that was not done lately.
    mutating func seekLoop(now: ContinuousClock.Instant) -> Bool {
        if let soughtLoopAt, now - soughtLoopAt < UpstreamLimits.loopRest { return false }
        soughtLoopAt = now
        return true
    }

    /// A question that only it was asked came back to us.
    ///
    /// - Returns: whether that is news.
    mutating func looped(now: ContinuousClock.Instant) -> Bool {
        defer { loopsUntil = now + UpstreamLimits.loopRest }
        return loopsUntil == nil
    }

    /// Such a question did not come back.
    ///
    /// - Returns: whether that is news.
    mutating func didNotLoop() -> Bool {
        defer { loopsUntil = nil }
        return loopsUntil != nil
    }
}

extension Duration {
    /// Doubled so many times, or halved and rounded down: every answer is reckoned with, and `/` takes
    /// 600 instructions.
    fileprivate func doubled(_ times: Int) -> Duration {
        Duration(attoseconds: attoseconds << times)
    }
}
