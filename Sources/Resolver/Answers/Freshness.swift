// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Settings for serve-stale and prefetch.
package struct Freshness: Sendable, Equatable {
    package var stale: Stale? = Stale()

    package var prefetch: Prefetch? = Prefetch()

    package init() {}

    /// Serve-stale settings (RFC 8767).
    package struct Stale: Sendable, Equatable {
        /// Seconds after its expiry during which an answer can be used as a stale answer.
        package var window: UInt32 = 86_400

        /// Time that the client waits for a fresh answer before it gets the stale answer.
        package var after: Duration = .milliseconds(300)

        /// TTL of stale records in seconds; RFC 8767 §4 recommends 30.
        package var ttl: UInt32 = 30

        package init() {}
    }

    package struct Prefetch: Sendable, Equatable {
        /// Minimum age, in percent of an answer's lifetime, at which a cache hit causes a refresh.
        package var at: UInt32 = 75

        /// Maximum vendor calls per minute for refreshes.
        package var budgetPerMinute = 60

        /// Names with cached addresses that are refreshed without client queries.
        package var names: [Name] = []

        package init() {}

        /// Returns the minimum age, in seconds, at which a cache hit causes a refresh; 0 for no
        /// refresh.
        func due(_ lifetime: UInt32) -> UInt32 {
            guard lifetime >= ResolverLimits.shortestRefresh else { return 0 }
            return UInt32(UInt64(lifetime) * UInt64(at) / 100)
        }
    }
}
