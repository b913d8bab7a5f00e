// SPDX-License-Identifier: Apache-2.0

extension Budget {
    package enum Excess: String, Sendable, Hashable, CaseIterable {
        /// Requests are not sent; the fallback of the route answers.
        case fallback

        case warn
    }

    /// Configured budget per UTC day and month; limits are at least 1, or nil for no limit.
    package struct Rule: Sendable, Hashable {
        package var callsPerDay: UInt64?

        package var unitsPerDay: UInt64?

        package var unitsPerMonth: UInt64?

        package var onExceeded: Excess

        package init(
            callsPerDay: UInt64? = nil,
            unitsPerDay: UInt64? = nil,
            unitsPerMonth: UInt64? = nil,
            onExceeded: Excess = .fallback
        ) {
            self.callsPerDay = callsPerDay
            self.unitsPerDay = unitsPerDay
            self.unitsPerMonth = unitsPerMonth
            self.onExceeded = onExceeded
        }
    }
}

extension Budget.Rule: CustomStringConvertible {
    package var description: String {
        var limits: [String] = []
        if let callsPerDay { limits.append("daily budget of \(callsPerDay) calls") }
        if let unitsPerDay { limits.append("daily budget of \(unitsPerDay) units") }
        if let unitsPerMonth { limits.append("monthly budget of \(unitsPerMonth) units") }
        return limits.joined(separator: ", ")
    }
}
