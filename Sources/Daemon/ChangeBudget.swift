// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limit on how often the daemon performs a costly reaction to network changes.
///
/// The first `burst` reactions are immediate; further reactions are allowed once per `interval`.
/// This matters if changes are frequent, for example because an interface flaps.
struct ChangeBudget: Sendable, Hashable {
    let burst: Int
    let interval: Duration

    /// Time from which `burst` reactions are allowed again.
    private var restored: Instant?

    init(burst: Int, interval: Duration) {
        self.burst = burst
        self.interval = interval
    }

    /// Counts a reaction and returns nil; if no reaction is allowed, returns the next allowed time.
    mutating func spend(_ now: Instant) -> Instant? {
        let after = max(restored ?? now, now) + interval
        let admitted = after - interval * burst
        guard admitted <= now else { return admitted }
        restored = after
        return nil
    }
}
