// SPDX-License-Identifier: Apache-2.0

/// Whether a server is asked, and if not, until when and why.
package enum ServerCondition: Sendable, Hashable {
    case up

    /// It failed; when the time is over, a copy of some query is its trial.
    case rests(until: ContinuousClock.Instant, because: UpstreamError)

    /// What it is asked comes back; when the time is over, that is looked at again.
    case loops(until: ContinuousClock.Instant)
}

/// What is known of one server: how fast it is, and whether it rests.
///
/// Failures in a row make it rest, for a second that doubles with each trial that fails.  When a rest
/// is over the server stays out of the order until a trial, a copy of some client's query that
/// nobody waits for, has been answered.
struct ServerHealth: Sendable, Hashable {
    /// A rest, and the trial after it.
    private struct Rest: Sendable, Hashable {
        /// When it began: what was asked before tells nothing new.
        var since: ContinuousClock.Instant
        var length: Duration

        /// What the latest failure was.
        var reason: UpstreamError
        var isOnTrial = false

        var end: ContinuousClock.Instant { since + length }
    }

    /// The smoothed time that answers take, and how far they are from it (RFC 6298 §2).
    private(set) var latency: Duration?
    private var deviation: Duration = .zero

    /// When the latency was last measured, and whether a copy is under way to do so.
    private var measuredAt: ContinuousClock.Instant?
    private var isMeasured = false

    /// Failures since the last answer.
    private(set) var failuresInRow = 0

    private var rest: Rest?

    /// Until when it is left alone as it leads back to us; nil if it does not.
    private(set) var loopsUntil: ContinuousClock.Instant?

    /// When it was last seen whether it does.
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

    /// Whether its rest is over and nobody is trying it.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard let rest, !loops else { return false }
        return !rest.isOnTrial && now >= rest.end
    }

    /// Whether its latency is not known any more, and nobody is measuring it.
    func isUnmeasured(at now: ContinuousClock.Instant) -> Bool {
        guard isFit, !isMeasured else { return false }
        return measuredAt.map { now - $0 >= UpstreamLimits.measurementAge } ?? true
    }

    /// Whether it is clearly slower than `other`.
    func isSlower(than other: ServerHealth) -> Bool {
        guard let latency, let fast = other.latency else { return false }
        return latency > fast * 2 + UpstreamLimits.slack
    }
}

// MARK: - Events

extension ServerHealth {
    /// A copy of a query is sent to it, as its trial or to measure it.
    mutating func beganCopy() {
        rest?.isOnTrial = true
        isMeasured = true
    }

    /// A copy has ended; ``answered(in:now:)`` or ``failed(began:now:)`` comes besides.
    mutating func endedCopy() {
        rest?.isOnTrial = false
        isMeasured = false
    }

    /// It gave an answer after `time`.
    ///
    /// - Returns: whether that ends a rest.
    @discardableResult
    mutating func answered(in time: Duration, now: ContinuousClock.Instant) -> Bool {
        if let smoothed = latency {
            let distance = smoothed > time ? smoothed - time : time - smoothed
            deviation += (distance - deviation).doubled(-2)
            latency = smoothed + (time - smoothed).doubled(-3)
        } else {
            latency = time
            deviation = time.doubled(-1)
        }
        measuredAt = now
        failuresInRow = 0
        let wasResting = rest != nil
        rest = nil
        return wasResting
    }

    /// It gave no answer to what was asked at `began`, for this reason.
    ///
    /// - Returns: whether it begins to rest.
    @discardableResult
    mutating func failed(
        _ reason: UpstreamError,
        began: ContinuousClock.Instant,
        now: ContinuousClock.Instant
    ) -> Bool {
        failuresInRow += 1
        if let rest {
            // One of those that failed together.
            guard began >= rest.since else { return false }
            self.rest?.since = now
            self.rest?.length = min(rest.length * 2, UpstreamLimits.longestRest)
            self.rest?.reason = reason
            return false
        }
        guard failuresInRow >= UpstreamLimits.failuresBeforeRest else { return false }
        rest = Rest(since: now, length: UpstreamLimits.firstRest, reason: reason)
        return true
    }

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
