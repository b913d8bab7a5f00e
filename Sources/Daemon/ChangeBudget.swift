// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limit on reactions to network changes.
///
/// The first `burst` reactions are immediate; further reactions are allowed once per `interval`.
struct ChangeBudget: Sendable, Hashable {
    let burst: Int
    let interval: Duration

    private var restored: Instant?

    init(burst: Int, interval: Duration) {
        self.burst = burst
        self.interval = interval
    }

    /// Returns nil and counts a reaction, or returns the next allowed time.
    mutating func spend(_ now: Instant) -> Instant? {
        let after = max(restored ?? now, now) + interval
        let admitted = after - interval * burst
        guard admitted <= now else { return admitted }
        restored = after
        return nil
    }
}
