// SPDX-License-Identifier: Apache-2.0

/// How many requests a vendor may be sent a second.
///
/// A day's budget that somebody spends in minutes, by asking for names that nobody has asked for,
/// is gone for all others until midnight.  A second's worth may be sent at once; then each request
/// has to wait for its share of a second, or rather is not sent, as its client would not wait.
struct Pace: Sendable, Hashable {
    /// The limit, at least 1; nil for none.
    let perSecond: Int?

    /// When what was sent will have been allowed for; nil before the first.
    private var busyUntil: ContinuousClock.Instant?

    init(perSecond: Int?) { self.perSecond = perSecond }

    /// Whether a request at `now` would be one too many.
    func forbids(now: ContinuousClock.Instant) -> Bool {
        guard let perSecond, let busyUntil else { return false }
        return now + .seconds(1) < busyUntil + .seconds(1) / perSecond
    }
}

// MARK: - Events

extension Pace {
    /// A request that is not forbidden is sent.
    mutating func spend(now: ContinuousClock.Instant) {
        guard let perSecond else { return }
        busyUntil = max(busyUntil ?? now, now) + .seconds(1) / perSecond
    }

    /// The same account with another limit: what was sent in this second stays sent.
    mutating func takeOver(from old: Pace) {
        busyUntil = old.busyUntil
    }
}
