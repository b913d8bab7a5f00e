// SPDX-License-Identifier: Apache-2.0
internal import Net

extension Budget {
    package enum Excess: String, Sendable, Hashable, CaseIterable {
        case fallback

        case warn
    }

    /// Returns this machine's part of a budget; nil if the whole budget is available.
    package typealias Share = @ServiceLoop (UsageRecord) -> Part?

    /// Part of one machine in a shared budget.
    package struct Part: Sendable, Hashable {
        /// Limits of this machine, which grow when the machine needs a larger part.
        package var limits: Limits

        /// Amounts that this machine can still use, including those that it can still claim.
        package var left: Limits

        package init(limits: Limits, left: Limits) {
            self.limits = limits
            self.left = left
        }
    }

    package struct Limits: Sendable, Hashable {
        package var callsPerDay: UInt64?
        package var unitsPerDay: UInt64?
        package var unitsPerMonth: UInt64?

        package init(callsPerDay: UInt64?, unitsPerDay: UInt64?, unitsPerMonth: UInt64?) {
            self.callsPerDay = callsPerDay
            self.unitsPerDay = unitsPerDay
            self.unitsPerMonth = unitsPerMonth
        }

        /// - Parameter amounts: calls per day, units per day and units per month.
        package init(_ amounts: [UInt64?]) {
            self.init(
                callsPerDay: amounts[0],
                unitsPerDay: amounts[1],
                unitsPerMonth: amounts[2]
            )
        }
    }

    /// Configured budget per UTC day and month; limits are at least 1, or nil for no limit.
    package struct Rule: Sendable, Hashable {
        package var callsPerDay: UInt64?

        package var unitsPerDay: UInt64?

        package var unitsPerMonth: UInt64?

        package var onExceeded: Excess

        /// True if all machines of a fleet share the limits.
        package var isShared: Bool

        package init(
            callsPerDay: UInt64? = nil,
            unitsPerDay: UInt64? = nil,
            unitsPerMonth: UInt64? = nil,
            onExceeded: Excess = .fallback,
            isShared: Bool = false
        ) {
            self.isShared = isShared
            self.callsPerDay = callsPerDay
            self.unitsPerDay = unitsPerDay
            self.unitsPerMonth = unitsPerMonth
            self.onExceeded = onExceeded
        }
    }
}

extension Budget.Limits {
    func isBelow(_ cost: UsageAmount) -> Bool {
        func isBelow(_ limit: UInt64?, _ cost: UInt64) -> Bool { limit.map { $0 < cost } ?? false }
        return isBelow(callsPerDay, cost.calls) || isBelow(unitsPerDay, cost.units)
            || isBelow(unitsPerMonth, cost.units)
    }
}

extension Budget.Rule {
    func limited(by part: Budget.Limits) -> Self {
        var rule = self
        rule.callsPerDay = callsPerDay.map { min($0, part.callsPerDay ?? $0) }
        rule.unitsPerDay = unitsPerDay.map { min($0, part.unitsPerDay ?? $0) }
        rule.unitsPerMonth = unitsPerMonth.map { min($0, part.unitsPerMonth ?? $0) }
        return rule
    }

    static func left(of rule: Self?, _ record: UsageRecord) -> UsageAmount {
        func left(_ limit: UInt64?, _ used: UInt64) -> UInt64 {
            limit.map { $0 - min($0, used) } ?? .max
        }
        return UsageAmount(
            calls: left(rule?.callsPerDay, record.callsToday),
            units: min(
                left(rule?.unitsPerDay, record.unitsToday),
                left(rule?.unitsPerMonth, record.unitsThisMonth)
            )
        )
    }
}

// MARK: - Time

extension Budget {
    package nonisolated static func secondsLeft(wallSeconds: Int64) -> Int64 {
        (UsageRecord.day(wallSeconds) + 1) * UsageRecord.secondsADay - wallSeconds
    }
}

extension Budget.Rule {
    static func secondsSpent(
        _ rule: Self?,
        _ record: UsageRecord?,
        _ cheapest: UsageAmount,
        wallSeconds: Int64
    ) -> Int64 {
        let today = Budget.secondsLeft(wallSeconds: wallSeconds)
        guard let record, let limit = rule?.unitsPerMonth,
            limit - min(limit, record.unitsThisMonth) < cheapest.units
        else { return today }
        let days = UsageRecord.daysLeftInMonth(UsageRecord.day(wallSeconds)) - 1
        return today + days * UsageRecord.secondsADay
    }
}

extension Budget.Rule: CustomStringConvertible {
    package var description: String {
        var limits: [String] = []
        if let callsPerDay { limits.append("daily budget of \(callsPerDay) calls") }
        if let unitsPerDay { limits.append("daily budget of \(unitsPerDay) units") }
        if let unitsPerMonth { limits.append("monthly budget of \(unitsPerMonth) units") }
        return (isShared ? "shared " : "") + limits.joined(separator: " or ")
    }
}
