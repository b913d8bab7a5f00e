// SPDX-License-Identifier: Apache-2.0

/// Named counters; a map so that a daemon can count what an older client does not know.
package typealias Counts = [String: UInt64]

/// The arguments of `Stats`.
package struct StatsRequest: CallParameters, Equatable {
    /// True: the counters start again from zero after this reply.
    package var reset: Bool?

    /// In a call with `more`: a reply at once and then one every so many seconds, 1 to 86400.
    package var everySeconds: Int?

    /// Makes the request.
    package init(reset: Bool? = nil, everySeconds: Int? = nil) {
        self.reset = reset
        self.everySeconds = everySeconds
    }

    /// The time between two replies; nil for one reply only.
    ///
    /// - Throws: `invalidArgument` for a time out of range, or together with `reset`.
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

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable {
        case reset
        case everySeconds = "every-seconds"
    }
}

/// The reply to `Stats`: everything that is counted.
///
/// Counters only grow, until a reset lets all of them start again from zero and sets `sinceSeconds`
/// back.  What is a level stays as it is: what the cache holds, what is in flight, what the process
/// uses, and what has been spent today of a budget.
package struct StatsReply: Codable, Sendable, Equatable {
    /// How long the counters have been counting.
    package var sinceSeconds: Int

    /// The queries of clients.
    package var queries = QueryStats()

    /// How long answers took.
    package var latency = LatencyStats()

    /// The cache.
    package var cache = CacheStats()

    /// The vendors, in the order of the settings.
    package var vendors: [VendorStats] = []

    /// The upstream resolvers, in the order of the settings.
    package var upstreams: [UpstreamStats] = []

    /// Datagrams: `received`, `ignored`, `truncated-replies` and others.
    package var packets: Counts = [:]

    /// Queries the cache could not answer.
    package var misses = MissStats()

    /// Answers asked for anew before their time is over.
    package var refresh = RefreshStats()

    /// The network that the machine is in.
    package var network = NetworkStats()

    /// What the kernel answers in the daemon's place; its answers are in all tables.
    package var acceleration: AccelerationStatus?

    /// What the process uses.
    package var process = ProcessStats()

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case sinceSeconds = "since-seconds"
        case queries, latency, cache, vendors, upstreams, packets, misses, refresh, network
        case acceleration, process
    }

    /// Makes counters that are all zero.
    package init(sinceSeconds: Int) { self.sinceSeconds = sinceSeconds }
}

/// The queries of clients, divided in three ways; each table sums to `total`.
package struct QueryStats: Codable, Sendable, Equatable {
    /// All queries.
    package var total: UInt64 = 0

    /// By who answered: `cache`, `stale`, `vendor`, `upstream`, `local`, `refused` and so on.
    package var bySource: Counts = [:]

    /// By response code: `noerror`, `nodata`, `nxdomain`, `servfail` …, `none` if not answered.
    package var byRcode: Counts = [:]

    /// By transport: `udp`, `tcp`.
    package var byTransport: Counts = [:]

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case total
        case bySource = "by-source"
        case byRcode = "by-rcode"
        case byTransport = "by-transport"
    }

    /// Makes counters that are all zero.
    package init() {}
}

/// How long answers took, by what they waited for.
package struct LatencyStats: Codable, Sendable, Equatable {
    /// From a client's query to its reply, all queries.
    package var client = LatencyQuantiles()

    /// The same, for queries the cache answered.
    package var cache = LatencyQuantiles()

    /// One vendor call.
    package var vendor = LatencyQuantiles()

    /// One upstream query.
    package var upstream = LatencyQuantiles()

    /// Makes latencies without samples.
    package init() {}
}

/// A distribution of times, in microseconds.
package struct LatencyQuantiles: Codable, Sendable, Equatable {
    /// How many times were measured; the rest is 0 if none were.
    package var count: UInt64 = 0

    /// Half of them were at most this.
    package var p50: UInt64 = 0

    /// Nine of ten were at most this.
    package var p90: UInt64 = 0

    /// 99 of 100 were at most this.
    package var p99: UInt64 = 0

    /// 999 of 1000 were at most this.
    package var p999: UInt64 = 0

    /// The longest.
    package var max: UInt64 = 0

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case count
        case p50 = "p50-us"
        case p90 = "p90-us"
        case p99 = "p99-us"
        case p999 = "p999-us"
        case max = "max-us"
    }

    /// Makes a distribution without samples.
    package init() {}

    /// Makes a distribution of its parts, times in microseconds.
    package init(
        count: UInt64,
        p50: UInt64,
        p90: UInt64,
        p99: UInt64,
        p999: UInt64,
        max: UInt64
    ) {
        self.count = count
        self.p50 = p50
        self.p90 = p90
        self.p99 = p99
        self.p999 = p999
        self.max = max
    }
}
