// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// What outlives a resolver: what was counted, and the numbers of those who answered.
///
/// A resolver is made of settings and replaced when these change.  The next one goes on with its
/// books, so counters never go back, and entries of the cache keep saying where they came from.
@ServiceLoop
package final class Bookkeeping {
    /// The names behind the numbers in cache entries.
    package nonisolated let origins = Origins()

    /// How long vendors' answers took.
    nonisolated let vendorLatency = LatencyHistogram()

    /// How long upstreams' answers took, tries that failed included.
    nonisolated let upstreamLatency = LatencyHistogram()

    /// What the vendor stages did besides answering.
    var vendors = VendorStageNumbers()

    /// What was asked for anew.
    var refreshes = RefreshNumbers()

    /// Queries answered with SERVFAIL because they were evicted to make room for others.
    var evicted: UInt64 = 0

    /// Queries answered by what another one's wait brought.
    var merged: UInt64 = 0

    /// The same by the origin of the answer.
    var mergedByOrigin: [UInt16: UInt64] = [:]

    /// Empty books.
    package nonisolated init() {}
}
