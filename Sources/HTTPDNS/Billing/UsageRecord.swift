// SPDX-License-Identifier: Apache-2.0

package import Net

/// Calls and units of one vendor in the current UTC day and month.
///
/// If the clock is set back to a day in ``former``, this day keeps its counts, and the counts of
/// all later days are added. Without this rule, a clock error would make the budget available
/// twice.
package struct UsageRecord: Sendable, Hashable {
    /// Counts of an earlier day.
    package struct Former: Sendable, Hashable {
        package let day: Int64

        /// Later day to which the clock moved from ``day``.
        package let until: Int64

        package let use: UsageAmount
        package let unitsOfMonth: UInt64

        package init(day: Int64, until: Int64, use: UsageAmount, unitsOfMonth: UInt64) {
            self.day = day
            self.until = until
            self.use = use
            self.unitsOfMonth = unitsOfMonth
        }
    }

    package static let mostFormer = 3

    /// Days since 1970-01-01 (UTC).
    package private(set) var day: Int64

    /// Latest day that has counts; equal to ``day`` unless the clock was set back.
    package private(set) var latestDay: Int64

    package var callsToday: UInt64 = 0
    package var unitsToday: UInt64 = 0
    package var unitsThisMonth: UInt64 = 0

    /// Earlier days in chronological order.
    package var former: [Former] = []

    /// If ``day`` is before ``latestDay``: calls and units of ``latestDay``.
    ///
    /// If ``day`` is ``latestDay``: calls and units that are in the counts of both today and an
    /// earlier day.
    package var ahead = UsageAmount.none
    package var aheadOfMonth: UInt64 = 0

    /// Day to which the clock was set back, if ``former`` has no counts of that day.
    package var behind: Int64?

    package var clients = StoredClients()

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
        if today > day { moveForward(to: today) }
        if today < day { moveBack(to: today) }
    }

    private var useToday: UsageAmount {
        get { UsageAmount(calls: callsToday, units: unitsToday) }
        set { (callsToday, unitsToday) = (newValue.calls, newValue.units) }
    }

    private mutating func moveForward(to today: Int64) {
        if behind != nil {
            guard !isFormer(today) else {
                // `today` already has counts, so the clock was wrong when it showed `latestDay`.
                catchUp(to: latestDay)
                return moveBack(to: today)
            }
            catchUp(to: min(today, latestDay))
            guard today > latestDay else { return }
        }
        former.append(
            Former(day: day, until: today, use: useToday, unitsOfMonth: unitsThisMonth)
        )
        former = former.suffix(Self.mostFormer)
        let month = Self.month(of: today)
        let isKnown = month == Self.month(of: latestDay)
        if today > latestDay {
            ahead = .none
            if !isKnown { aheadOfMonth = 0 }
        }
        useToday = today < latestDay ? .none : ahead
        if month > Self.month(of: day) { unitsThisMonth = isKnown ? aheadOfMonth : 0 }
        (day, latestDay) = (today, max(latestDay, today))
    }

    /// Moves ``day`` forward to `today`, which must not be after ``latestDay``.
    ///
    /// Has no effect if ``behind`` is nil.
    private mutating func catchUp(to today: Int64) {
        guard let behind else { return }
        ahead = ahead + (day == behind ? useToday.less(ahead) : useToday)
        useToday = .none
        let isOtherMonth = Self.month(of: day) != Self.month(of: behind)
        let counted = isOtherMonth ? 0 : aheadOfMonth
        let isLatest = today == latestDay
        if isLatest || Self.month(of: today) != Self.month(of: day) {
            aheadOfMonth += unitsThisMonth - min(unitsThisMonth, counted)
            unitsThisMonth = 0
        }
        day = today
        guard isLatest else { return }
        (useToday, unitsThisMonth) = (ahead, aheadOfMonth)
        (ahead, aheadOfMonth, self.behind) = (.none, 0, nil)
    }

    private mutating func moveBack(to today: Int64) {
        var isLatest = day == latestDay
        let use = useToday
        defer {
            if isLatest { ahead = use }
            day = today
        }
        // A machine without a clock battery starts with a date in the distant past. All counts are
        // of later days, and their sum would be too high. Therefore, the counts in `former` are
        // added only if `former` contains `today`.
        guard isFormer(today) else {
            if behind == nil {
                // If `latestDay` is after `day`, only a wrong clock has reached `latestDay`.
                (latestDay, ahead, aheadOfMonth) = (day, use, unitsThisMonth)
                behind = today
            } else if day == behind {
                behind = today
            } else if use != .none {
                former.append(Former(day: day, until: latestDay, use: .none, unitsOfMonth: 0))
                former.sort { $0.day < $1.day }
                former = former.suffix(Self.mostFormer)
            }
            return
        }
        if !isLatest, behind == nil {
            (latestDay, ahead, isLatest) = (day, .none, true)
        }
        behind = nil
        var sum = isLatest ? use.less(ahead) : use
        var month = unitsThisMonth
        while let last = former.last, last.day >= today {
            former.removeLast()
            sum = sum + last.use
            guard Self.month(of: last.day) < Self.month(of: last.until) else { continue }
            if Self.month(of: last.until) == Self.month(of: latestDay) {
                (month, aheadOfMonth) = (month - min(month, aheadOfMonth), month)
            }
            month += last.unitsOfMonth
        }
        useToday = sum
        unitsThisMonth = month
    }

    private func isFormer(_ day: Int64) -> Bool { former.contains { $0.day == day } }

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

    /// Returns the index of the month that contains `day`: 12 × year + month (0...11).
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

/// Storage of a ``UsageRecord`` for each vendor, shared by all processes that use the account.
package protocol UsageStore: AnyObject, Sendable {
    /// Changes the record of `vendor` under an exclusive lock; returns nil for an unknown record.
    ///
    /// - Parameters:
    ///   - durably: true if the caller needs a stored record. If the storage cannot be opened or
    ///     written, the result is then nil; otherwise, it is a record in memory.
    ///   - change: returns true if it changed the record. The closure can run on any thread. After
    ///     this function has returned nil, the closure can still run.
    @ServiceLoop
    func update(
        _ vendor: String,
        today: Int64,
        durably: Bool,
        _ change: @escaping @Sendable (inout UsageRecord) -> Bool
    ) -> UsageRecord?

    /// Reason why counts are unknown or not stored, and the remedy; nil if all is well.
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
