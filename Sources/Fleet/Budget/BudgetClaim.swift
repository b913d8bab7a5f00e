// SPDX-License-Identifier: Apache-2.0

/// Part of a shared budget that this machine may use: a state machine without clock or network.
///
/// The machines claim parts of each limit from the engine, before they use them. A machine without
/// the engine keeps its claim, and gets an equal share of what no machine had claimed.
package struct BudgetClaim: Sendable, Hashable {
    /// Number of limits: calls per day, units per day, units per month.
    package static let limits = 3

    /// Index of the monthly limit.
    static let monthly = 2

    /// One limit of the budget.
    package struct Limit: Sendable, Hashable {
        package let most: UInt64

        /// Claim of this machine, which the engine has confirmed.
        package var claimed: UInt64 = 0

        /// Claims of all machines at the latest reply of the engine.
        package var total: UInt64 = 0

        /// Addition to the claim without the engine.
        fileprivate(set) var share: UInt64 = 0

        package init(most: UInt64) { self.most = most }

        /// Part to claim in advance.
        ///
        /// The parts get smaller towards the end of the budget, so that little of it stays unused
        /// on idle machines.
        ///
        /// - Parameter members: 1 to ``FleetLimits/mostMembers``.
        func block(_ members: Int) -> UInt64 {
            let rest = (most - min(most, total)) / UInt64(4 * members)
            return max(1, min(max(4, most / 100), rest))
        }

        fileprivate mutating func beginShare(_ members: Int) {
            share = (most - min(most, total)) / UInt64(members)
        }
    }

    package private(set) var day: Int64
    package private(set) var month: Int64

    /// Limits calls per day, units per day, units per month; nil if the budget has no such limit.
    package private(set) var limits: [Limit?]

    /// Number of machines when the engine last answered.
    package private(set) var members: Int

    /// True without the engine.
    private(set) var isAlone = true

    /// Creates a claim of nothing.
    ///
    /// - Parameter members: number of machines, as this machine knew it when it last ran; 1 if it
    ///   has never reached the engine, which allows the whole budget.
    package init(_ most: [UInt64?], day: Int64, month: Int64, members: Int) {
        limits = most.map { most in most.map { Limit(most: $0) } }
        self.day = day
        self.month = month
        self.members = Self.plausible(members)
        beginShares()
    }

    /// Takes over the claim of an earlier run.
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

    /// Amount that this machine may use of each limit; nil without a limit.
    package var allowed: [UInt64?] {
        limits.map { $0.map { $0.claimed + min($0.share, .max - $0.claimed) } }
    }

    // MARK: - Events

    /// Begins a day, and possibly a month, without claims.
    package mutating func begin(day: Int64, month: Int64) {
        guard day != self.day else { return }
        let isSameMonth = month == self.month
        (self.day, self.month) = (day, month)
        for index in limits.indices where index != Self.monthly || !isSameMonth {
            limits[index] = limits[index].map { Limit(most: $0.most) }
        }
        if isAlone { beginShares() }
    }

    /// True if this machine needs more before long.
    func isShort(_ use: [UInt64]) -> Bool {
        zip(limits, use).contains { limit, used in
            guard let limit, limit.total < limit.most || limit.claimed < used else { return false }
            return limit.claimed < used + (limit.block(members) + 1) / 2
        }
    }

    /// Returns the claims to ask for.
    func wanted(_ use: [UInt64]) -> [UInt64?] {
        zip(limits, use).map { limit, used in limit.map { used + $0.block(members) } }
    }

    /// Takes the reply of the engine.
    mutating func take(_ reply: [(claimed: UInt64, total: UInt64)?], members: Int) {
        isAlone = false
        self.members = Self.plausible(members)
        for (index, amounts) in zip(limits.indices, reply) {
            guard let amounts else { continue }
            limits[index]?.claimed = amounts.claimed
            limits[index]?.total = amounts.total
            limits[index]?.share = 0
        }
    }

    /// Begins a time without the engine.
    mutating func lose() {
        guard !isAlone else { return }
        isAlone = true
        beginShares()
    }
}
