// SPDX-License-Identifier: Apache-2.0

/// How many requests a vendor may be sent a day: the day of UTC, by the wall clock it is told.
///
/// Each request is paid for before it is sent and refunded if it was not sent after all, so that
/// the limit is never exceeded by what is under way.  The count begins anew when the day is another
/// one, also when the clock was set back, and with each start of the program.
package struct Budget: Sendable, Hashable {
    /// What happens to requests beyond the budget.
    package enum Excess: String, Sendable, Hashable, CaseIterable {
        /// They are not sent; the route's fallback answers.
        case fallback

        /// They are sent and counted.
        case warn
    }

    /// What the operator allows.
    package struct Rule: Sendable, Hashable {
        /// Requests a day, at least 1.
        package var callsPerDay: UInt64

        package var onExceeded: Excess

        package init(callsPerDay: UInt64, onExceeded: Excess = .fallback) {
            self.callsPerDay = callsPerDay
            self.onExceeded = onExceeded
        }
    }

    /// The limit; nil for none.
    package let rule: Rule?

    /// Days since 1970 of the count.
    private var day: Int64 = .min

    /// Requests of that day.
    private var spent: UInt64 = 0

    /// Requests that the limit forbade, or that were sent in spite of it.
    package private(set) var exceeded: UInt64 = 0

    /// The day of which it was told that its calls are spent.
    private var toldOf: Int64?

    package init(_ rule: Rule?) {
        self.rule = rule
    }

    /// The same account with another limit: what was spent today stays spent.
    mutating func takeOver(from old: Budget) {
        day = old.day
        spent = old.spent
        exceeded = old.exceeded
        // A limit that was raised is told of again.
        toldOf = rule == old.rule ? old.toldOf : nil
    }

    /// Requests of the present day.
    package func spent(wallSeconds: Int64) -> UInt64 {
        Self.day(wallSeconds) == day ? spent : 0
    }

    /// Whether the next request would be one too many.
    package func isExhausted(wallSeconds: Int64) -> Bool {
        guard let rule else { return false }
        return spent(wallSeconds: wallSeconds) >= rule.callsPerDay
    }

    /// Whether no request may be sent.
    package func forbids(wallSeconds: Int64) -> Bool {
        isExhausted(wallSeconds: wallSeconds) && rule?.onExceeded == .fallback
    }

    /// Seconds until the count begins anew.
    package static func secondsLeft(wallSeconds: Int64) -> Int64 {
        (day(wallSeconds) + 1) * secondsADay - wallSeconds
    }

    /// UTC has no other days (leap seconds repeat one).
    private static let secondsADay: Int64 = 86_400

    /// The day of an instant.
    private static func day(_ wallSeconds: Int64) -> Int64 {
        Int64((Double(wallSeconds) / Double(secondsADay)).rounded(.down))
    }
}

// MARK: - Events

extension Budget {
    /// Pays for one request.
    ///
    /// - Returns: false if it must not be sent.
    package mutating func spend(wallSeconds: Int64) -> Bool {
        let isTooMany = isExhausted(wallSeconds: wallSeconds)
        if isTooMany { exceeded += 1 }
        guard !isTooMany || rule?.onExceeded == .warn else { return false }
        let today = Self.day(wallSeconds)
        if today != day {
            day = today
            spent = 0
        }
        spent += 1
        return true
    }

    /// Whether to tell now that the calls of this day are spent: true once a day.
    package mutating func tells(wallSeconds: Int64) -> Bool {
        let today = Self.day(wallSeconds)
        guard isExhausted(wallSeconds: wallSeconds), toldOf != today else { return false }
        toldOf = today
        return true
    }

    /// Refunds a request of that day that was not sent, or that the vendor refused.
    package mutating func refund() {
        spent -= min(spent, 1)
    }

    /// A call was not begun, as the day's requests are spent.
    package mutating func refused() {
        exceeded += 1
    }
}
