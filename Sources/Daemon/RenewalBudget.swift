// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Budget of the times that a network change marks the whole cache stale.
///
/// Each time, the next query for each cached name of a vendor is a billed call. A link that flaps, or
/// router advertisements that replace addresses, must not repeat this without limit: after
/// ``burst`` times, one more is allowed every ``interval``.
struct RenewalBudget: Sendable, Hashable {
    static let burst = 6
    static let interval: Duration = .seconds(60)

    /// Time until which the spent part of the budget is restored.
    private var restored: Instant?

    /// Spends one time; if none is left, returns the instant of the next one.
    mutating func spend(_ now: Instant) -> Instant? {
        let after = max(restored ?? now, now) + Self.interval
        let admitted = after - Self.interval * Self.burst
        guard admitted <= now else { return admitted }
        restored = after
        return nil
    }
}
