// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// What the settings say of answers whose time is over, or nearly.
package struct Freshness: Sendable, Equatable {
    /// Whether, when and how stale answers are given; nil for never.
    package var stale: Stale? = Stale()

    /// Which answers are asked for anew before their time is over; nil for none.
    package var prefetch: Prefetch? = Prefetch()

    package init() {}

    /// Answers whose time is over, given when no better one is to be had (RFC 8767).
    package struct Stale: Sendable, Equatable {
        /// Seconds after its lifetime in which an answer may be given.
        package var window: UInt32 = 86_400

        /// How long a client is made to wait for a better one; 0 gives the stale one at once.
        package var after: Duration = .milliseconds(300)

        /// The TTL of all records of a stale answer, in seconds (RFC 8767 §4 says 30).
        package var ttl: UInt32 = 30

        package init() {}
    }

    /// Answers asked for anew before their time is over.
    package struct Prefetch: Sendable, Equatable {
        /// The part of its lifetime after which an answer in demand is asked for anew, in per cent.
        package var at: UInt32 = 75

        /// Look-ups by vendors that may be begun for this in any minute; upstreams cost nothing.
        package var budgetPerMinute = 60

        /// Names whose addresses are always kept.
        package var names: [Name] = []

        package init() {}

        /// The age in seconds at which an answer of this lifetime is due; 0 is never.
        func due(_ lifetime: UInt32) -> UInt32 {
            guard lifetime >= ResolverLimits.shortestRefresh else { return 0 }
            return UInt32(UInt64(lifetime) * UInt64(at) / 100)
        }
    }
}
