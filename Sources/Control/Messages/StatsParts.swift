// SPDX-License-Identifier: Apache-2.0

package struct CacheStats: Codable, Sendable, Equatable {
    package var entries: UInt64 = 0
    package var octets: UInt64 = 0
    package var limitOctets: UInt64 = 0

    /// Octets of the index; `octets` does not include them.
    package var indexOctets: UInt64 = 0

    package var hits: UInt64 = 0
    package var misses: UInt64 = 0
    package var insertions: UInt64 = 0
    package var evictions: UInt64 = 0
    package var expired: UInt64 = 0
    package var negativeEntries: UInt64 = 0
    package var snapshot: SnapshotStatus?
    package init() {}
}

package struct UpstreamStats: Codable, Sendable, Equatable {
    package var name: String
    package var protected: Bool
    package var queries: UInt64 = 0
    package var successes: UInt64 = 0

    /// Deprecated; use `failuresByKind`.
    package var failures: Counts = [:] {
        didSet { (failed, failuresByKind) = (failures.values.reduce(0, +), failures) }
    }

    package private(set) var failed: UInt64? = 0
    package private(set) var failuresByKind: Counts? = [:]
    package var tcpRetries: UInt64 = 0
    package var foreignReplies: UInt64 = 0

    /// Number of established connections; over HTTPS, only connections that delivered a reply.
    package var connectionsOpened: UInt64 = 0

    package var connectionsReused: UInt64 = 0

    package init(name: String, protected: Bool) {
        self.name = name
        self.protected = protected
    }
}

package struct MissStats: Codable, Sendable, Equatable {
    package var inFlight: UInt64 = 0

    /// Number of queries that waited for the resolution of an earlier query with the same question.
    package var merged: UInt64 = 0

    /// Queries that the daemon dropped, because the maximum number of misses was in flight.
    package var dropped: UInt64 = 0

    package init() {}
}

package struct RefreshStats: Codable, Sendable, Equatable {
    package var started: UInt64 = 0
    package var done: UInt64 = 0
    package var failed: UInt64 = 0

    /// Number of refreshes that were not started, because the vendors had too many lookups in the
    /// last minute.
    package var overBudget: UInt64 = 0

    /// Number of refreshes that were not started, because all vendors of the route were suspended.
    package var held: UInt64 = 0

    package init() {}
}

package struct NetworkStats: Codable, Sendable, Equatable {
    package var changes: UInt64 = 0
    package var resumes: UInt64 = 0
    package var lastAgeSeconds: Int?

    /// DNS servers of the network, without the servers of routing domains.
    ///
    /// This field and the following fields are nil in a reply to `Stats`.
    package var servers: [String]?

    /// Routing domains of network interfaces, for example of a VPN interface.
    package var domains: [NetworkDomain]?

    /// True if the network has a captive portal, or the captive portal mode is on.
    package var portal: Bool?

    /// Time until the captive portal mode ends; nil while the mode is off.
    package var portalSeconds: Int?

    /// Address families that reach the Internet: `v4`, `v6`, `dual` or `none`.
    package var stack: String?

    package var nat64: String?

    /// Upstream or interface that gave the NAT64 prefix, or `settings`.
    package var nat64From: String?

    package var nat64AgeSeconds: Int?
    package init() {}
}

/// Routing domain of a network interface.
package struct NetworkDomain: Codable, Sendable, Equatable {
    package var domain: String

    /// Name of the interface.
    package var link: String

    /// Servers that get the queries for names in the domain; empty while the interface is down.
    package var servers: [String]

    package init(domain: String, link: String, servers: [String]) {
        self.domain = domain
        self.link = link
        self.servers = servers
    }
}

package struct LogStats: Codable, Sendable, Equatable {
    package var dropped: UInt64
    package init(dropped: UInt64 = 0) { self.dropped = dropped }
}

package struct ProcessStats: Codable, Sendable, Equatable {
    package var rssOctets: UInt64 = 0
    package var descriptors: UInt64 = 0
    package var threads: UInt64 = 0
    package var cpuSeconds: Double = 0
    package init() {}
}
