// SPDX-License-Identifier: Apache-2.0

package struct CacheStats: Codable, Sendable, Equatable {
    package var entries: UInt64 = 0
    package var octets: UInt64 = 0
    package var limitOctets: UInt64 = 0

    /// Not included in `octets`.
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

    /// Established connections; over HTTPS, only connections that delivered a reply.
    package var connectionsOpened: UInt64 = 0

    package var connectionsReused: UInt64 = 0

    package init(name: String, protected: Bool) {
        self.name = name
        self.protected = protected
    }
}

package struct MissStats: Codable, Sendable, Equatable {
    package var inFlight: UInt64 = 0

    /// Queries that waited for the resolution of an earlier equal question.
    package var merged: UInt64 = 0

    /// Queries that the daemon dropped, because the maximum number of misses was in flight.
    package var dropped: UInt64 = 0

    package init() {}
}

package struct RefreshStats: Codable, Sendable, Equatable {
    package var started: UInt64 = 0
    package var done: UInt64 = 0
    package var failed: UInt64 = 0

    package var overBudget: UInt64 = 0

    package var held: UInt64 = 0

    package init() {}
}

package struct NetworkStats: Codable, Sendable, Equatable {
    package var changes: UInt64 = 0
    package var resumes: UInt64 = 0
    package var lastAgeSeconds: Int?

    /// This field and the following fields are nil in a reply to `Stats`.
    package var servers: [String]?

    package var domains: [NetworkDomain]?

    package var portal: Bool?

    package var portalSeconds: Int?

    package var stack: String?

    package var nat64: String?

    package var nat64From: String?

    package var nat64AgeSeconds: Int?
    package init() {}
}

/// Routing domain of a network interface.
package struct NetworkDomain: Codable, Sendable, Equatable {
    package var domain: String

    package var link: String

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
