// SPDX-License-Identifier: Apache-2.0

/// Rate limit of vendor requests per second, which protects the daily budget.
///
/// A burst of one second's worth is allowed. Further requests are refused, because clients would
/// not wait for their turn.
struct RateLimiter: Sendable, Hashable {
    /// Requests per second, at least 1; nil for no limit.
    let perSecond: Int?

    /// Time at which the sent requests are within the rate; nil before the first request.
    private var busyUntil: Instant?

    init(perSecond: Int?) { self.perSecond = perSecond }

    func forbids(now: Instant) -> Bool {
        guard let perSecond, let busyUntil else { return false }
        return now + .seconds(1) < busyUntil + .seconds(1) / perSecond
    }
}

// MARK: - Events

extension RateLimiter {
    mutating func spend(now: Instant) {
        guard let perSecond else { return }
        busyUntil = max(busyUntil ?? now, now) + .seconds(1) / perSecond
    }

    /// Takes over the requests sent by the same account's client under earlier settings.
    mutating func takeOver(from old: RateLimiter) {
        busyUntil = old.busyUntil
    }
}
