// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Rate limit for network changes that mark the whole cache stale.
///
/// After such a change, the next query for each cached name of a vendor is a billed call. A link
/// that flaps, or router advertisements that replace addresses, must not repeat this without limit.
/// After ``burst`` changes, one is allowed every ``interval``.
struct RenewalBudget: Sendable, Hashable {
    static let burst = 6
    static let interval: Duration = .seconds(60)

    /// Time at which the budget is full again.
    private var restored: Instant?

    /// Spends one change; if none is left, returns the instant at which the next is allowed.
    mutating func spend(_ now: Instant) -> Instant? {
        let after = max(restored ?? now, now) + Self.interval
        let admitted = after - Self.interval * Self.burst
        guard admitted <= now else { return admitted }
        restored = after
        return nil
    }
}
