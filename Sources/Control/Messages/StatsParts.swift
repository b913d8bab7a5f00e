// SPDX-License-Identifier: Apache-2.0

/// Contents of the cache, and its counters.
package struct CacheStats: Codable, Sendable, Equatable {
    /// Cached answers.
    package var entries: UInt64 = 0

    /// Memory of cached answers, in octets.
    package var octets: UInt64 = 0

    /// Limit of `octets`.
    package var limitOctets: UInt64 = 0

    /// Memory of the index, in octets; not part of `octets`.
    package var indexOctets: UInt64 = 0

    /// Queries answered from the cache.
    package var hits: UInt64 = 0

    /// Queries that the cache could not answer.
    package var misses: UInt64 = 0

    /// Answers inserted.
    package var insertions: UInt64 = 0

    /// Answers evicted because the cache was full.
    package var evictions: UInt64 = 0

    /// Answers removed because they were too old to be served stale.
    package var expired: UInt64 = 0

    /// Cached answers without records.
    package var negativeEntries: UInt64 = 0

    /// State of the cache file; nil if there is none.
    package var snapshot: SnapshotStatus?

    /// Creates counters that are all zero.
    package init() {}
}

/// Counters of an upstream.
package struct UpstreamStats: Codable, Sendable, Equatable {
    /// Name in the settings.
    package var name: String

    /// True if its transport is encrypted and authenticated.
    package var protected: Bool

    /// Queries sent.
    package var queries: UInt64 = 0

    /// Queries answered.
    package var successes: UInt64 = 0

    /// Failed queries by kind.
    ///
    /// Deprecated: the same as `failuresByKind`; in other messages `failures` is a number.
    package var failures: Counts = [:] {
        didSet { (failed, failuresByKind) = (failures.values.reduce(0, +), failures) }
    }

    /// Failed queries.
    package private(set) var failed: UInt64? = 0

    /// Failed queries by kind.
    package private(set) var failuresByKind: Counts? = [:]

    /// Queries repeated over TCP because the reply was truncated.
    package var tcpRetries: UInt64 = 0

    /// Messages from the server's address that matched no query: forged or late.
    package var foreignReplies: UInt64 = 0

    /// Connection attempts, including failed ones.
    package var connectionsOpened: UInt64 = 0

    /// Queries sent on an open connection.
    package var connectionsReused: UInt64 = 0

    /// Creates counters that are all zero.
    package init(name: String, protected: Bool) {
        self.name = name
        self.protected = protected
    }
}

/// Counters of queries that the cache could not answer.
package struct MissStats: Codable, Sendable, Equatable {
    /// Queries that are being resolved now.
    package var inFlight: UInt64 = 0

    /// Queries that joined the resolution of the same question.
    package var merged: UInt64 = 0

    /// Queries dropped because too many were in flight.
    package var dropped: UInt64 = 0

    /// Creates counters that are all zero.
    package init() {}
}

/// Counters of refreshes of cached answers before they expire.
package struct RefreshStats: Codable, Sendable, Equatable {
    /// Refreshes started; each ends as `done` or `failed`, or is in flight.
    package var started: UInt64 = 0

    /// Refreshes with a new answer.
    package var done: UInt64 = 0

    /// Refreshes without an answer; the old answer is unchanged.
    package var failed: UInt64 = 0

    /// Refreshes not started because of too many vendor lookups in the last minute.
    package var overBudget: UInt64 = 0

    /// Refreshes not started because no vendor would have been called.
    package var held: UInt64 = 0

    /// Creates counters that are all zero.
    package init() {}
}

/// Counters of network events on the machine.
package struct NetworkStats: Codable, Sendable, Equatable {
    /// Changes of addresses, default routes or links.
    package var changes: UInt64 = 0

    /// Number of times that the machine resumed from system suspend.
    package var resumes: UInt64 = 0

    /// Time since the last change or resume; nil if there was none.
    package var lastAgeSeconds: Int?

    /// Creates counters without events.
    package init() {}
}

/// Counters of the log.
package struct LogStats: Codable, Sendable, Equatable {
    /// Lines dropped because the reader of the log was too slow.
    package var dropped: UInt64

    /// Creates the counters.
    package init(dropped: UInt64 = 0) { self.dropped = dropped }
}

/// Resource use of the process.
package struct ProcessStats: Codable, Sendable, Equatable {
    /// Resident memory in octets.
    package var rssOctets: UInt64 = 0

    /// Open file descriptors.
    package var descriptors: UInt64 = 0

    /// Number of threads.
    package var threads: UInt64 = 0

    /// User and system CPU time in seconds.
    package var cpuSeconds: Double = 0

    /// Creates zero resource use.
    package init() {}
}
