// SPDX-License-Identifier: Apache-2.0

/// Minimum and maximum of the units that a vendor bills for requests.
package struct UnitRange: Sendable, Hashable {
    package var atLeast: UInt64
    package var atMost: UInt64

    package static let zero = UnitRange(atLeast: 0, atMost: 0)

    package init(atLeast: UInt64, atMost: UInt64) {
        self.atLeast = atLeast
        self.atMost = atMost
    }

    package init(_ units: UInt64) { self.init(atLeast: units, atMost: units) }

    package static func + (left: UnitRange, right: UnitRange) -> UnitRange {
        UnitRange(atLeast: left.atLeast + right.atLeast, atMost: left.atMost + right.atMost)
    }

    package static func += (left: inout UnitRange, right: UnitRange) { left = left + right }
}
