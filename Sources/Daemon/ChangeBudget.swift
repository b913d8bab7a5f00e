// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limit of a costly reaction to network changes.
///
/// If changes are frequent, the first `burst` reactions follow immediately, and later reactions
/// once per `interval`. Changes are frequent if, for example, a link flaps.
struct ChangeBudget: Sendable, Hashable {
    let burst: Int
    let interval: Duration

    /// Time from which `burst` reactions are allowed again.
    private var restored: Instant?

    init(burst: Int, interval: Duration) {
        self.burst = burst
        self.interval = interval
    }

    /// Counts one reaction; returns nil, or the next allowed time if none is allowed now.
    mutating func spend(_ now: Instant) -> Instant? {
        let after = max(restored ?? now, now) + interval
        let admitted = after - interval * burst
        guard admitted <= now else { return admitted }
        restored = after
        return nil
    }
}
