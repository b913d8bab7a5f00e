// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Counters and answer sources, which the resolver passes to its successor at a reload.
@ServiceLoop
package final class ResolverStatistics {
    package nonisolated let origins = AnswerSourceRegistry()

    package nonisolated let vendorLatency = LatencyHistogram()

    /// Times until an upstream answered, including the time of earlier failed attempts.
    package nonisolated let upstreamLatency = LatencyHistogram()

    package internal(set) var vendors = VendorStageNumbers()

    package internal(set) var refreshes = RefreshNumbers()

    /// Queries that got SERVFAIL because of a limit.
    package internal(set) var evicted: UInt64 = 0

    /// Queries that an upstream answered before the vendors (`fallback-after`).
    package internal(set) var earlyFallbacks: UInt64 = 0

    /// Client queries that another machine of the fleet answered.
    package internal(set) var shared: UInt64 = 0

    package internal(set) var merged: UInt64 = 0

    package internal(set) var mergedByOrigin: [UInt16: UInt64] = [:]

    package nonisolated init() {}
}
