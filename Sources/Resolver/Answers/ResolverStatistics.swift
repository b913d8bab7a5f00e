// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Counters and answer sources, which are kept when a reload replaces the resolver.
///
/// A reload passes this object to the new resolver. Counters therefore never decrease, and the
/// source numbers in cache entries stay valid.
@ServiceLoop
package final class ResolverStatistics {
    /// Registry of the source numbers in cache entries.
    package nonisolated let origins = AnswerSourceRegistry()

    nonisolated let vendorLatency = LatencyHistogram()

    /// Latency of upstreams' answers, including the attempts that failed before.
    nonisolated let upstreamLatency = LatencyHistogram()

    var vendors = VendorStageNumbers()

    var refreshes = RefreshNumbers()

    /// Queries answered with SERVFAIL because they were evicted or refused.
    var evicted: UInt64 = 0

    /// Queries answered by an upstream because no vendor had answered yet.
    var earlyFallbacks: UInt64 = 0

    /// Client queries answered with an answer that another machine has shared.
    var shared: UInt64 = 0

    /// Queries answered with the result of an equal query in flight.
    var merged: UInt64 = 0

    /// `merged` by the number of the answer's source in `AnswerSourceRegistry`.
    var mergedByOrigin: [UInt16: UInt64] = [:]

    package nonisolated init() {}
}
