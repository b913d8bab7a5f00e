// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Settings for serve-stale and prefetch.
package struct Freshness: Sendable, Equatable {
    /// Serve-stale settings; nil if serve-stale is disabled.
    package var stale: Stale? = Stale()

    /// Prefetch settings; nil if prefetch is disabled.
    package var prefetch: Prefetch? = Prefetch()

    package init() {}

    /// Serve-stale settings (RFC 8767).
    package struct Stale: Sendable, Equatable {
        /// Seconds after its expiry during which an answer can be served.
        package var window: UInt32 = 86_400

        /// Time that a client waits for a fresh answer before it gets the stale one; 0 for no wait.
        package var after: Duration = .milliseconds(300)

        /// TTL of stale records in seconds; RFC 8767 §4 recommends 30.
        package var ttl: UInt32 = 30

        package init() {}
    }

    /// Prefetch settings.
    package struct Prefetch: Sendable, Equatable {
        /// Percentage of its lifetime after which an answer in demand is refreshed.
        package var at: UInt32 = 75

        /// Maximum vendor calls for refreshes per minute; refreshes by upstreams are not limited.
        package var budgetPerMinute = 60

        /// Names that are refreshed without demand.
        package var names: [Name] = []

        package init() {}

        /// Returns the age in seconds at which an answer is refreshed; 0 for never.
        func due(_ lifetime: UInt32) -> UInt32 {
            guard lifetime >= ResolverLimits.shortestRefresh else { return 0 }
            return UInt32(UInt64(lifetime) * UInt64(at) / 100)
        }
    }
}
