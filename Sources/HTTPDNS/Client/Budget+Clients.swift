// SPDX-License-Identifier: Apache-2.0
package import DNSWire

// MARK: - Shares of clients

extension Budget {
    /// Returns true if `client` has used up its share of the budget.
    ///
    /// If `yields`, a part of the budget is for the other kind of clients (proven, or not proven).
    /// This part is a quarter of each limit at first, and decreases linearly until the day or month
    /// ends.
    package mutating func forbids(
        _ client: ClientNetwork,
        yields: Bool,
        wallSeconds: Int64
    ) -> Bool {
        guard isStrict else { return false }
        begin(wallSeconds)
        let today = UsageRecord.day(wallSeconds)
        guard let record = ownRecord else { return false }
        let left = part?.left
        func admits(
            _ usage: ClientUsage,
            _ amount: KeyPath<UsageAmount, UInt64>,
            _ limit: UInt64?,
            _ used: UInt64,
            _ left: UInt64?,
            timeLeft: Double
        ) -> Bool {
            guard let limit else { return true }
            let free = left ?? limit - min(limit, used)
            let rest = yields ? UInt64((Double(limit) / 4 * timeLeft).rounded(.down)) : 0
            return FairShare.threeQuarters.admits(
                client,
                used: Int(clamping: usage[client][keyPath: amount]),
                free: Int(clamping: free),
                reserve: Int(clamping: rest),
                unproven: Int(clamping: usage.unproven[keyPath: amount])
            )
        }
        let timeLeft =
            Double(Self.secondsLeft(wallSeconds: wallSeconds)) / Double(UsageRecord.secondsADay)
        return !admits(
            spentByClient,
            \.calls,
            rule?.callsPerDay,
            record.callsToday,
            left?.callsPerDay,
            timeLeft: timeLeft
        )
            || !admits(
                spentByClient,
                \.units,
                rule?.unitsPerDay,
                record.unitsToday,
                left?.unitsPerDay,
                timeLeft: timeLeft
            )
            || !admits(
                spentThisMonth,
                \.units,
                rule?.unitsPerMonth,
                record.unitsThisMonth,
                left?.unitsPerMonth,
                timeLeft: Double(UsageRecord.daysLeftInMonth(today)) / 31
            )
    }
}
