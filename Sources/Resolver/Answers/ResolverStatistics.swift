// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Counters and answer sources, which a reload passes to the new resolver.
///
/// A reload therefore resets no counter, and source numbers in cache entries stay valid.
@ServiceLoop
package final class ResolverStatistics {
    package nonisolated let origins = AnswerSourceRegistry()

    nonisolated let vendorLatency = LatencyHistogram()

    /// Time until an upstream answered, including the time of failed attempts before the answer.
    nonisolated let upstreamLatency = LatencyHistogram()

    var vendors = VendorStageNumbers()

    var refreshes = RefreshNumbers()

    /// Queries answered with SERVFAIL because of a limit: evicted from a full table, or refused.
    var evicted: UInt64 = 0

    /// Queries that an upstream answered before the vendors (`fallback-after`).
    var earlyFallbacks: UInt64 = 0

    /// Client queries answered with an answer that another machine has shared.
    var shared: UInt64 = 0

    /// Queries answered with the result of an equal query in flight.
    var merged: UInt64 = 0

    /// Values of `merged` for each source number (`AnswerSourceRegistry`).
    var mergedByOrigin: [UInt16: UInt64] = [:]

    package nonisolated init() {}
}
