// SPDX-License-Identifier: Apache-2.0

/// The cache: what it holds now, and what happened to it.
package struct CacheStats: Codable, Sendable, Equatable {
    /// Answers held now.
    package var entries: UInt64 = 0

    /// Memory used for answers now, in octets.
    package var octets: UInt64 = 0

    /// Memory it may use, in octets.
    package var limitOctets: UInt64 = 0

    /// Memory of its index, in octets; counted apart from `octets`.
    package var indexOctets: UInt64 = 0

    /// Questions it answered.
    package var hits: UInt64 = 0

    /// Questions it could not answer.
    package var misses: UInt64 = 0

    /// Answers put in.
    package var insertions: UInt64 = 0

    /// Answers thrown out to make room.
    package var evictions: UInt64 = 0

    /// Answers removed because they were too old even to be served stale.
    package var expired: UInt64 = 0

    /// Answers held now that have no records.
    package var negativeEntries: UInt64 = 0

    /// Where it survives a restart; nil if it does not.
    package var snapshot: SnapshotStatus?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case entries, octets
        case limitOctets = "limit-octets"
        case indexOctets = "index-octets"
        case hits, misses, insertions, evictions, expired
        case negativeEntries = "negative-entries"
        case snapshot
    }

    /// Makes counters that are all zero.
    package init() {}
}

/// What was asked of an upstream resolver.
package struct UpstreamStats: Codable, Sendable, Equatable {
    /// Its name in the settings.
    package var name: String

    /// Whether nobody on the way can read or change its answers.
    package var protected: Bool

    /// Queries sent.
    package var queries: UInt64 = 0

    /// Queries answered.
    package var successes: UInt64 = 0

    /// Queries that failed, by kind.
    ///
    /// The same as `failuresByKind`; `failures` is a number in other messages, and goes.
    package var failures: Counts = [:] {
        didSet { (failed, failuresByKind) = (failures.values.reduce(0, +), failures) }
    }

    /// Queries that failed.
    package private(set) var failed: UInt64? = 0

    /// The same by kind.
    package private(set) var failuresByKind: Counts? = [:]

    /// Queries asked again over TCP because the reply was truncated.
    package var tcpRetries: UInt64 = 0

    /// Messages from the server's address that answered no query: forged, or late.
    package var foreignReplies: UInt64 = 0

    /// Connections begun, also in vain.
    package var connectionsOpened: UInt64 = 0

    /// Queries put on a connection that was there already.
    package var connectionsReused: UInt64 = 0

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case name, protected, queries, successes, failures, failed
        case failuresByKind = "failures-by-kind"
        case tcpRetries = "tcp-retries"
        case foreignReplies = "foreign-replies"
        case connectionsOpened = "connections-opened"
        case connectionsReused = "connections-reused"
    }

    /// Makes counters that are all zero.
    package init(name: String, protected: Bool) {
        self.name = name
        self.protected = protected
    }
}

/// Queries the cache could not answer.
package struct MissStats: Codable, Sendable, Equatable {
    /// Being resolved now.
    package var inFlight: UInt64 = 0

    /// Joined a query in flight for the same question.
    package var merged: UInt64 = 0

    /// Given up because too many were in flight.
    package var dropped: UInt64 = 0

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case inFlight = "in-flight"
        case merged, dropped
    }

    /// Makes counters that are all zero.
    package init() {}
}

/// Answers that are asked for anew before their time is over.
package struct RefreshStats: Codable, Sendable, Equatable {
    /// Begun; each ends as one of `done` and `failed`, or is under way.
    package var started: UInt64 = 0

    /// Brought an answer.
    package var done: UInt64 = 0

    /// Brought none; the old answer stays as it is.
    package var failed: UInt64 = 0

    /// Not begun: too many look-ups of vendors in the last minute.
    package var overBudget: UInt64 = 0

    /// Not begun: no vendor would have been asked.
    package var held: UInt64 = 0

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case started, done, failed
        case overBudget = "over-budget"
        case held
    }

    /// Makes counters that are all zero.
    package init() {}
}

/// What was noticed of the network that the machine is in.
package struct NetworkStats: Codable, Sendable, Equatable {
    /// How often addresses, default routes or links were others than before.
    package var changes: UInt64 = 0

    /// How often the machine had slept.
    package var resumes: UInt64 = 0

    /// How long ago the latest of either was; nil if there was none.
    package var lastAgeSeconds: Int?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case changes, resumes
        case lastAgeSeconds = "last-age-seconds"
    }

    /// Makes a network in which nothing has happened.
    package init() {}
}

/// What the process uses.
package struct ProcessStats: Codable, Sendable, Equatable {
    /// Resident memory, in octets.
    package var rssOctets: UInt64 = 0

    /// Open descriptors.
    package var descriptors: UInt64 = 0

    /// Threads.
    package var threads: UInt64 = 0

    /// Processor time used, user and system, in seconds.
    package var cpuSeconds: Double = 0

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case rssOctets = "rss-octets"
        case descriptors, threads
        case cpuSeconds = "cpu-seconds"
    }

    /// Makes a process that uses nothing.
    package init() {}
}
