// SPDX-License-Identifier: Apache-2.0

/// Counters of a ``VendorStage``.
package struct VendorStageNumbers: Sendable, Equatable {
    /// Queries, by vendor, that needed no call, because a recent call returned no address.
    package var pairedByVendor: [String: UInt64] = [:]

    package var paired: UInt64 { pairedByVendor.values.reduce(0, +) }

    /// Queries, by vendor, that needed no call because another machine shared an answer.
    package var sharedByVendor: [String: UInt64] = [:]

    /// Private addresses, by vendor, that the daemon removed from the vendor's answers.
    package var droppedByVendor: [String: UInt64] = [:]

    package var droppedAddresses: UInt64 { droppedByVendor.values.reduce(0, +) }
}
