// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Counters and answer sources, which outlive a resolver.
///
/// A reload creates a new resolver, which takes over this object from the previous resolver. So
/// counters never decrease, and the source numbers in cache entries stay valid.
@ServiceLoop
package final class ResolverStatistics {
    /// Registry of answer sources; cache entries carry its numbers.
    package nonisolated let origins = AnswerSourceRegistry()

    /// Latency of vendors' answers.
    nonisolated let vendorLatency = LatencyHistogram()

    /// Latency of upstreams' answers, including failed attempts.
    nonisolated let upstreamLatency = LatencyHistogram()

    var vendors = VendorStageNumbers()

    var refreshes = RefreshNumbers()

    /// Queries answered with SERVFAIL because they were evicted or refused.
    var evicted: UInt64 = 0

    /// Queries answered by an upstream because no vendor had answered yet.
    var earlyFallbacks: UInt64 = 0

    /// Queries answered by work that another query had started.
    var merged: UInt64 = 0

    /// Number of these queries by origin, as numbered in `AnswerSourceRegistry`.
    var mergedByOrigin: [UInt16: UInt64] = [:]

    /// Creates zero counters.
    package nonisolated init() {}
}
