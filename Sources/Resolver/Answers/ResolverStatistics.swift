// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Counters and answer sources, which outlive a resolver.
///
/// A reload passes this object to the new resolver.  Counters therefore never decrease, and the
/// source numbers in cache entries stay valid.
@ServiceLoop
package final class ResolverStatistics {
    /// Registry of the source numbers in cache entries.
    package nonisolated let origins = AnswerSourceRegistry()

    nonisolated let vendorLatency = LatencyHistogram()

    /// Latency of upstreams' answers, including failed attempts.
    nonisolated let upstreamLatency = LatencyHistogram()

    var vendors = VendorStageNumbers()

    var refreshes = RefreshNumbers()

    /// Queries answered with SERVFAIL because they were evicted or refused.
    var evicted: UInt64 = 0

    /// Queries answered by an upstream because no vendor had answered yet.
    var earlyFallbacks: UInt64 = 0

    /// Queries answered by a resolution of another query.
    var merged: UInt64 = 0

    /// `merged` by number in `AnswerSourceRegistry`.
    var mergedByOrigin: [UInt16: UInt64] = [:]

    package nonisolated init() {}
}
