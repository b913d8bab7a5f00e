// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limit of a costly reaction to network changes.
///
/// A link that flaps, or router advertisements that replace addresses, must not repeat the reaction
/// without limit: after `burst` times, one more is allowed every `interval`.
struct ChangeBudget: Sendable, Hashable {
    let burst: Int
    let interval: Duration

    /// Time at which the whole burst is available again.
    private var restored: Instant?

    init(burst: Int, interval: Duration) {
        self.burst = burst
        self.interval = interval
    }

    /// Takes one time and returns nil; if none is left, returns the instant of the next one.
    mutating func spend(_ now: Instant) -> Instant? {
        let after = max(restored ?? now, now) + interval
        let admitted = after - interval * burst
        guard admitted <= now else { return admitted }
        restored = after
        return nil
    }
}
