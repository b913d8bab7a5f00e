// SPDX-License-Identifier: Apache-2.0

/// Named counters; a map, so that a daemon can send counters that an older client does not know.
package typealias Counts = [String: UInt64]

/// Arguments of `Stats`.
package struct StatsRequest: CallParameters, Equatable {
    /// True to reset the counters to zero after this reply.
    package var reset: Bool?

    /// In a call with `more`: interval between replies in seconds, 1 to 86400; the first is
    /// immediate.
    package var everySeconds: Int?

    /// Creates the request.
    package init(reset: Bool? = nil, everySeconds: Int? = nil) {
        self.reset = reset
        self.everySeconds = everySeconds
    }

    /// Interval between replies; nil for one reply only.
    ///
    /// - Throws: `invalidArgument` if the interval is out of range, or for `reset` with an
    ///   interval.
    package func interval() throws(MethodError) -> Duration? {
        guard let everySeconds else { return nil }
        guard (1...86_400).contains(everySeconds) else {
            throw .invalidArgument(argument: "every-seconds", reason: "1 to 86400")
        }
        guard reset != true else {
            throw .invalidArgument(argument: "every-seconds", reason: "not together with reset")
        }
        return .seconds(everySeconds)
    }

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable { case reset, everySeconds }
}

/// Reply to `Stats`: all counters.
///
/// Counters only increase. A reset sets all of them and `sinceSeconds` to zero. Levels are not
/// reset: cache contents, queries in flight, resource use of the process, and today's spent budget.
package struct StatsReply: Codable, Sendable, Equatable {
    /// Time since the counters were zero.
    package var sinceSeconds: Int

    /// Queries from clients.
    package var queries = QueryStats()

    /// Latencies of answers.
    package var latency = LatencyStats()

    /// Contents and counters of the cache.
    package var cache = CacheStats()

    /// Vendors in the order of the settings.
    package var vendors: [VendorStats] = []

    /// Upstreams in the order of the settings.
    package var upstreams: [UpstreamStats] = []

    /// Datagrams by outcome: `ignored`, `truncated-replies` and others.
    package var packets: Counts = [:]

    /// Queries that the cache could not answer.
    package var misses = MissStats()

    /// Refreshes of cached answers before they expire.
    package var refresh = RefreshStats()

    /// Network events.
    package var network = NetworkStats()

    /// Log; nil from a daemon that does not control its log.
    package var log: LogStats?

    /// Kernel acceleration; its answers are also counted in all tables.
    package var acceleration: AccelerationStatus?

    /// Resource use of the process.
    package var process = ProcessStats()

    /// Creates counters that are all zero.
    package init(sinceSeconds: Int) { self.sinceSeconds = sinceSeconds }
}

/// Queries from clients, classified in three ways; each table sums to `total`.
package struct QueryStats: Codable, Sendable, Equatable {
    /// Number of all queries.
    package var total: UInt64 = 0

    /// Queries by source: `cache`, `stale`, `vendor`, `upstream`, `local`, `refused` and others.
    package var bySource: Counts = [:]

    /// Queries by response code: `noerror`, `nodata`, `nxdomain`, `servfail` …, `none` if not
    /// answered.
    package var byRcode: Counts = [:]

    /// Queries by transport: `udp`, `tcp`.
    package var byTransport: Counts = [:]

    /// Creates counters that are all zero.
    package init() {}
}

/// Latencies by what is measured.
package struct LatencyStats: Codable, Sendable, Equatable {
    /// Time from a client's query to its reply, all queries.
    package var client = LatencyQuantiles()

    /// The same for queries that the cache answered.
    package var cache = LatencyQuantiles()

    /// Duration of a vendor call.
    package var vendor = LatencyQuantiles()

    /// Duration of an upstream query.
    package var upstream = LatencyQuantiles()

    /// Creates latencies without samples.
    package init() {}
}

/// Distribution of times in microseconds.
package struct LatencyQuantiles: Codable, Sendable, Equatable {
    /// Number of samples; if 0, all quantiles are 0.
    package var count: UInt64 = 0

    /// Median.
    package var p50Us: UInt64 = 0

    /// 90th percentile.
    package var p90Us: UInt64 = 0

    /// 99th percentile.
    package var p99Us: UInt64 = 0

    /// 99.9th percentile.
    package var p999Us: UInt64 = 0

    /// Maximum.
    package var maxUs: UInt64 = 0

    /// Creates a distribution without samples.
    package init() {}

    /// Creates a distribution from its parts, times in microseconds.
    package init(
        count: UInt64,
        p50Us: UInt64,
        p90Us: UInt64,
        p99Us: UInt64,
        p999Us: UInt64,
        maxUs: UInt64
    ) {
        self.count = count
        self.p50Us = p50Us
        self.p90Us = p90Us
        self.p99Us = p99Us
        self.p999Us = p999Us
        self.maxUs = maxUs
    }
}
