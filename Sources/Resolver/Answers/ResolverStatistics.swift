// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Counters and answer sources, which a reload passes to the new resolver.
///
/// A reload therefore resets no counter, and source numbers in cache entries stay valid.
@ServiceLoop
package final class ResolverStatistics {
    package nonisolated let origins = AnswerSourceRegistry()

    package nonisolated let vendorLatency = LatencyHistogram()

    /// Time until an upstream answered, including the time of failed attempts before the answer.
    package nonisolated let upstreamLatency = LatencyHistogram()

    package internal(set) var vendors = VendorStageNumbers()

    package internal(set) var refreshes = RefreshNumbers()

    /// Queries answered with SERVFAIL because of a limit: evicted from a full table, or refused.
    package internal(set) var evicted: UInt64 = 0

    /// Queries that an upstream answered before the vendors (`fallback-after`).
    package internal(set) var earlyFallbacks: UInt64 = 0

    /// Client queries answered with an answer that another machine has shared.
    package internal(set) var shared: UInt64 = 0

    /// Queries answered with the result of an equal query in flight.
    package internal(set) var merged: UInt64 = 0

    /// Values of `merged` for each source number (`AnswerSourceRegistry`).
    package internal(set) var mergedByOrigin: [UInt16: UInt64] = [:]

    package nonisolated init() {}
}
