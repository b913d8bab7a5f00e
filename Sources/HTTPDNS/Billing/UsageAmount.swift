// SPDX-License-Identifier: Apache-2.0

package struct UsageAmount: Sendable, Hashable {
    package var calls: UInt64
    package var units: UInt64

    package static let none = UsageAmount(calls: 0, units: 0)

    package init(calls: UInt64, units: UInt64) {
        self.calls = calls
        self.units = units
    }
}

// MARK: - Arithmetic

extension UsageAmount {
    /// A sum that overflows is `UInt64.max`.
    static func + (left: Self, right: Self) -> Self {
        func sum(_ left: UInt64, _ right: UInt64) -> UInt64 {
            let (sum, isOver) = left.addingReportingOverflow(right)
            return isOver ? .max : sum
        }
        return Self(calls: sum(left.calls, right.calls), units: sum(left.units, right.units))
    }

    /// Returns this amount minus `other`, at least 0.
    func less(_ other: Self) -> Self {
        Self(calls: calls - min(calls, other.calls), units: units - min(units, other.units))
    }

    func covers(_ other: Self) -> Bool {
        calls >= other.calls && units >= other.units
    }

    func limiting(_ other: Self) -> Self {
        Self(calls: min(calls, other.calls), units: min(units, other.units))
    }
}
