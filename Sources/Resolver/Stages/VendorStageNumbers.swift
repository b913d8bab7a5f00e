// SPDX-License-Identifier: Apache-2.0

/// Counters of a ``VendorStage``.
package struct VendorStageNumbers: Sendable, Equatable {
    /// Queries that needed no call because a recent call found no address, by vendor.
    ///
    /// The recent call was for both address families.
    package var pairedByVendor: [String: UInt64] = [:]

    package var paired: UInt64 { pairedByVendor.values.reduce(0, +) }

    /// Queries that needed no call because another machine shared an answer, by vendor.
    package var sharedByVendor: [String: UInt64] = [:]

    /// Private addresses removed from answers, by vendor.
    package var droppedByVendor: [String: UInt64] = [:]

    package var droppedAddresses: UInt64 { droppedByVendor.values.reduce(0, +) }
}
