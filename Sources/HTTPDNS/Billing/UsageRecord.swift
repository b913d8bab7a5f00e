// SPDX-License-Identifier: Apache-2.0

package import Net

/// Calls and units of one vendor in the current UTC day and month.
///
/// The counts restart when the day or month moves forward, but not after the clock was set back: a
/// machine that starts with a wrong clock must not get a second budget.
package struct UsageRecord: Sendable, Hashable {
    /// Days since 1970-01-01 (UTC).
    package private(set) var day: Int64

    /// Day of the latest restart of the counts; later than ``day`` after the clock was set back.
    package private(set) var latestDay: Int64

    package var callsToday: UInt64 = 0
    package var unitsToday: UInt64 = 0
    package var unitsThisMonth: UInt64 = 0

    package init(day: Int64) {
        self.day = day
        latestDay = day
    }

    package init(
        day: Int64,
        latestDay: Int64,
        calls: UInt64,
        units: UInt64,
        unitsThisMonth: UInt64
    ) {
        self.day = day
        self.latestDay = latestDay
        callsToday = calls
        unitsToday = units
        self.unitsThisMonth = unitsThisMonth
    }

    package mutating func move(to today: Int64) {
        if today > day, today != latestDay {
            (callsToday, unitsToday) = (0, 0)
            let month = Self.month(of: today)
            if month > Self.month(of: day), month != Self.month(of: latestDay) {
                unitsThisMonth = 0
            }
            latestDay = today
        }
        day = today
    }

    package mutating func add(_ amount: UsageAmount) {
        callsToday += amount.calls
        unitsToday += amount.units
        unitsThisMonth += amount.units
    }

    package mutating func remove(_ amount: UsageAmount) {
        callsToday -= min(callsToday, amount.calls)
        unitsToday -= min(unitsToday, amount.units)
        unitsThisMonth -= min(unitsThisMonth, amount.units)
    }

    package static let secondsADay: Int64 = 86_400

    package static func day(_ wallSeconds: Int64) -> Int64 {
        (wallSeconds - (wallSeconds % secondsADay + secondsADay) % secondsADay) / secondsADay
    }

    /// Returns the number of days to the next month, 1 to 31.
    package static func daysLeftInMonth(_ day: Int64) -> Int64 {
        (1...31).first { month(of: day + $0) != month(of: day) } ?? 31
    }

    /// Returns the number of a day's month: twelve times the year, plus 0 to 11.
    ///
    /// The calculation uses years that begin in March.
    package static func month(of day: Int64) -> Int64 {
        let sinceMarch0000 = day + 719_468
        let era = (sinceMarch0000 >= 0 ? sinceMarch0000 : sinceMarch0000 - 146_096) / 146_097
        let dayOfEra = sinceMarch0000 - era * 146_097
        let leaps = dayOfEra / 1_460 - dayOfEra / 36_524 + dayOfEra / 146_096
        let yearOfEra = (dayOfEra - leaps) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        return (yearOfEra + era * 400) * 12 + monthFromMarch + 2
    }
}

/// Storage of a ``UsageRecord`` for each vendor, shared by all processes with the account.
package protocol UsageStore: AnyObject, Sendable {
    /// Changes the record of `vendor` under an exclusive lock.
    ///
    /// - Parameters:
    ///   - today: the current day.
    ///   - durably: true to treat a record that is only in memory as unknown.
    ///   - change: returns true if it changed the record; runs on any thread, and after a return
    ///     of nil possibly later.
    /// - Returns: the record after the change; nil if the stored record is unknown.
    @ServiceLoop
    func update(
        _ vendor: String,
        today: Int64,
        durably: Bool,
        _ change: @escaping @Sendable (inout UsageRecord) -> Bool
    ) -> UsageRecord?

    /// Reason why the latest record is unknown or not shared, and the remedy; otherwise nil.
    @ServiceLoop
    var problem: String? { get }

    /// Replaces the record of `vendor` by an empty record, even if the record is damaged.
    ///
    /// - Throws: `UsageStoreError` if the storage cannot be written.
    @ServiceLoop
    func reset(_ vendor: String, today: Int64) throws(UsageStoreError)
}

package struct UsageStoreError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

@ServiceLoop
package final class UsageMemory: UsageStore {
    private var records: [String: UsageRecord] = [:]

    package let problem: String? = nil

    package nonisolated init() {}

    package func update(
        _ vendor: String,
        today: Int64,
        durably: Bool,
        _ change: @escaping @Sendable (inout UsageRecord) -> Bool
    ) -> UsageRecord? {
        var record = records[vendor] ?? UsageRecord(day: today)
        record.move(to: today)
        _ = change(&record)
        records[vendor] = record
        return record
    }

    package func reset(_ vendor: String, today: Int64) {
        records[vendor] = UsageRecord(day: today)
    }
}
