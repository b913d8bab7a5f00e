// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Limit of calls per second, learned from a vendor that returns 429 without `Retry-After`.
///
/// The limit begins below the number of calls that the vendor answered in a second. It increases
/// each second, and ends ``ClientLimits/rateMemory`` after the latest refused probe.
struct LearnedRate: Sendable {
    private(set) var limiter = RateLimiter(perSecond: nil)

    private var refusedAt: Instant?

    /// Start of the second that `answers` covers.
    private var second: Instant?
    private var answers = 0

    /// Number of answers in the second before.
    private var formerAnswers = 0

    var isKnown: Bool { limiter.perSecond != nil }
}

// MARK: - Events

extension LearnedRate {
    mutating func answered(now: Instant) {
        advance(now)
        answers += 1
    }

    /// Sets or decreases the limit after a refused probe.
    ///
    /// Returns false if the vendor answers so few calls that only a pause helps.
    mutating func refused(now: Instant) -> Bool {
        advance(now)
        let rate = min(max(answers, formerAnswers), limiter.perSecond ?? .max)
        guard rate >= ClientLimits.leastRate else {
            limiter.perSecond = nil
            return false
        }
        limiter.perSecond = rate - max(1, rate / 8)
        refusedAt = now
        return true
    }

    mutating func reset() { self = LearnedRate() }

    mutating func spend(by client: ClientNetwork?, now: Instant) {
        limiter.spend(by: client, now: now)
    }

    private mutating func advance(_ now: Instant) {
        let age = second.map { now - $0 } ?? .seconds(2)
        guard age >= .seconds(1) else { return }
        formerAnswers = age < .seconds(2) ? answers : 0
        (second, answers) = (now, 0)
        guard let rate = limiter.perSecond, let refusedAt else { return }
        let isOld = now - refusedAt >= ClientLimits.rateMemory
        limiter.perSecond = isOld ? nil : rate + max(1, rate / 32)
    }
}
