// SPDX-License-Identifier: Apache-2.0

/// State machine for the part of a shared budget that this host can use.
///
/// The rules are in `Fleet.md`, section "Shared budgets".
package struct BudgetClaim: Sendable, Hashable {
    static let monthly = 2

    package struct Limit: Sendable, Hashable {
        package let most: UInt64

        package var claimed: UInt64 = 0

        /// Sum of the claims of all hosts in the latest reply of Redis.
        package var total: UInt64 = 0

        /// Amount that this host can use beyond its claim.
        ///
        /// Zero after Redis has replied in the current day or month.
        fileprivate(set) var share: UInt64 = 0

        package init(most: UInt64) { self.most = most }

        /// Returns the advance: the amount to claim beyond the amount that this host has used.
        ///
        /// - Parameters:
        ///   - members: 1 to ``FleetLimits/mostMembers``.
        ///   - cost: maximum amount for one call, at least 1. The advance covers at least one call.
        func block(_ members: Int, cost: UInt64) -> UInt64 {
            let rest = (most - min(most, total)) / UInt64(4 * members)
            let burst = min(FleetLimits.callsOfBlock * cost, most)
            return max(cost, min(max(burst, most / 100), rest))
        }

        fileprivate mutating func beginShare(_ members: Int) {
            let least = most / UInt64(members)
            let unclaimed = (most - min(most, total)) / UInt64(members)
            share = max(unclaimed, least - min(least, claimed))
        }

        /// Starts a day or, for the monthly limit, a month.
        ///
        /// Until Redis replies, this host can use a quarter of `most / members` without a claim.
        fileprivate mutating func beginDay(_ members: Int) {
            share = most / UInt64(4 * members)
        }
    }

    package private(set) var day: Int64
    package private(set) var month: Int64

    /// Calls per day, units per day, units per month; nil if the budget has no such limit.
    package private(set) var limits: [Limit?]

    package private(set) var members: Int

    /// True while Redis is unreachable.
    private(set) var isAlone = true

    /// Creates a claim of zero.
    ///
    /// - Parameter members: last known number of hosts; 1 if this host has never reached Redis.
    package init(_ most: [UInt64?], day: Int64, month: Int64, members: Int) {
        limits = most.map { most in most.map { Limit(most: $0) } }
        self.day = day
        self.month = month
        self.members = Self.plausible(members)
        beginShares()
    }

    /// Restores the claim of an earlier run of the daemon.
    package mutating func restore(_ amounts: [(claimed: UInt64, total: UInt64)?]) {
        for (index, amounts) in zip(limits.indices, amounts) {
            guard let amounts else { continue }
            limits[index]?.claimed = amounts.claimed
            limits[index]?.total = amounts.total
        }
        if isAlone { beginShares() }
    }

    private mutating func beginShares() {
        for index in limits.indices { limits[index]?.beginShare(members) }
    }

    private static func plausible(_ members: Int) -> Int {
        min(max(1, members), FleetLimits.mostMembers)
    }

    /// Total amount that this host can use, for each limit; nil for an absent limit.
    package var allowed: [UInt64?] {
        limits.map { $0.map { $0.claimed + min($0.share, .max - $0.claimed) } }
    }

    // MARK: - Events

    /// Begins a new day: resets the daily claims; if the month is new, also the monthly claim.
    package mutating func begin(day: Int64, month: Int64) {
        guard day != self.day else { return }
        let isSameMonth = month == self.month
        (self.day, self.month) = (day, month)
        for index in limits.indices where index != Self.monthly || !isSameMonth {
            limits[index] = limits[index].map { Limit(most: $0.most) }
            if isAlone {
                limits[index]?.beginShare(members)
            } else {
                limits[index]?.beginDay(members)
            }
        }
    }

    /// Returns, for each limit, the amount that this host can still use; nil for an absent limit.
    ///
    /// With Redis, the result includes the whole unclaimed amount; without Redis, only the share of
    /// this host.
    package func left(_ use: [UInt64]) -> [UInt64?] {
        zip(limits, use).map { limit, used in
            limit.map { limit in
                let unclaimed = isAlone ? 0 : limit.most - min(limit.most, limit.total)
                // The maximum, not the sum: the share is a part of the unclaimed amount.
                let share = max(limit.share, unclaimed)
                let allowed = limit.claimed + min(share, .max - limit.claimed)
                return allowed - min(allowed, used)
            }
        }
    }

    /// Returns true if half of the advance is used, or if the claim does not cover another call.
    ///
    /// While the hosts have claimed the whole limit, returns true only if this host has used more
    /// than its claim.
    func isShort(_ use: [UInt64], _ costs: [UInt64]) -> Bool {
        zip(zip(limits, costs), use).contains { entry, used in
            let (limit, cost) = entry
            guard let limit, limit.total < limit.most || limit.claimed < used else { return false }
            return limit.claimed < used + max(cost, (limit.block(members, cost: cost) + 1) / 2)
        }
    }

    /// Returns the claims to request: the used amounts, plus an advance (``block``).
    func wanted(_ use: [UInt64], _ costs: [UInt64]) -> [UInt64?] {
        zip(zip(limits, costs), use).map { entry, used in
            entry.0.map { used + $0.block(members, cost: entry.1) }
        }
    }

    /// Stores the reply of Redis.
    ///
    /// - Parameters:
    ///   - members: number of hosts; 0 if not known.
    ///   - isSettled: false in the first minute of a connection, when Redis possibly does not know
    ///     all hosts and claims. Then the number of hosts and the sums cannot decrease.
    mutating func take(
        _ reply: [(claimed: UInt64, total: UInt64)?],
        members: Int,
        isSettled: Bool
    ) {
        isAlone = false
        let mayDecrease = isSettled && members > 0
        self.members = Self.plausible(mayDecrease ? members : max(members, self.members))
        for (index, amounts) in zip(limits.indices, reply) {
            guard let amounts else { continue }
            let least = isSettled ? 0 : limits[index]?.total ?? 0
            limits[index]?.claimed = amounts.claimed
            limits[index]?.total = max(least, amounts.total)
            limits[index]?.share = 0
        }
    }

    /// Starts to use shares, because Redis is unreachable.
    ///
    /// - Parameter members: number of hosts; 0 if not known. A number lower than in the latest
    ///   reply is ignored.
    mutating func lose(members: Int) {
        guard !isAlone else { return }
        isAlone = true
        self.members = Self.plausible(max(members, self.members))
        beginShares()
    }
}
