// SPDX-License-Identifier: Apache-2.0

/// Counters of a ``VendorStage``.
package struct VendorStageNumbers: Sendable, Equatable {
    /// For each vendor, the queries that needed no call, because a recent call returned no address.
    package var pairedByVendor: [String: UInt64] = [:]

    package var paired: UInt64 { pairedByVendor.values.reduce(0, +) }

    /// For each vendor, the queries that needed no call, because another machine shared an answer.
    package var sharedByVendor: [String: UInt64] = [:]

    /// For each vendor, the private addresses that the daemon removed from the vendor's answers.
    package var droppedByVendor: [String: UInt64] = [:]

    package var droppedAddresses: UInt64 { droppedByVendor.values.reduce(0, +) }
}
