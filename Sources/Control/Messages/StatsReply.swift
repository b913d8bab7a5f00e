// SPDX-License-Identifier: Apache-2.0

/// Counters by name; newer daemons may add names.
package typealias Counts = [String: UInt64]

package struct StatsRequest: CallParameters, Equatable {
    package var reset: Bool?

    package var everySeconds: Int?

    package init(reset: Bool? = nil, everySeconds: Int? = nil) {
        self.reset = reset
        self.everySeconds = everySeconds
    }

    /// Returns nil if the call gets a single reply.
    ///
    /// - Throws: `invalidArgument` if the interval is out of range, or combined with `reset`.
    package func interval() throws(MethodError) -> Duration? {
        guard let everySeconds else { return nil }
        guard (1...86_400).contains(everySeconds) else {
            throw .invalidArgument(argument: "every-seconds", reason: "must be 1 to 86400")
        }
        guard reset != true else {
            throw .invalidArgument(
                argument: "every-seconds",
                reason: "cannot be combined with reset"
            )
        }
        return .seconds(everySeconds)
    }

    package enum CodingKeys: CodingKey, CaseIterable { case reset, everySeconds }
}

/// Reply to `Stats`.
///
/// A reset does not change current values, such as the size of the cache and the spent budget.
package struct StatsReply: Codable, Sendable, Equatable {
    package var sinceSeconds: Int

    package var queries = QueryStats()
    package var latency = LatencyStats()
    package var cache = CacheStats()
    package var vendors: [VendorStats] = []
    package var upstreams: [UpstreamStats] = []

    /// Keys are `ignored`, `truncated-replies` and others.
    package var packets: Counts = [:]

    package var misses = MissStats()
    package var refresh = RefreshStats()
    package var network = NetworkStats()

    /// Nil in the reply of an older daemon.
    package var fleet: FleetStats?

    /// Nil if the daemon has no log.
    package var log: LogStats?

    package var acceleration: AccelerationStatus?
    package var process = ProcessStats()
    package init(sinceSeconds: Int) { self.sinceSeconds = sinceSeconds }
}

/// Counters of queries; the sums by source, RCODE and transport each equal `total`.
package struct QueryStats: Codable, Sendable, Equatable {
    package var total: UInt64 = 0

    package var bySource: Counts = [:]

    package var byRcode: Counts = [:]

    package var byTransport: Counts = [:]

    package var byOrigin: Counts?

    package var earlyFallback: UInt64 = 0
}

package struct LatencyStats: Codable, Sendable, Equatable {
    package var client = LatencyQuantiles()
    package var cache = LatencyQuantiles()
    package var vendor = LatencyQuantiles()
    package var upstream = LatencyQuantiles()
}

package struct LatencyQuantiles: Codable, Sendable, Equatable {
    /// If 0, all times are 0.
    package var count: UInt64 = 0

    package var p50Us: UInt64 = 0
    package var p90Us: UInt64 = 0
    package var p99Us: UInt64 = 0
    package var p999Us: UInt64 = 0
    package var maxUs: UInt64 = 0
    package init() {}
}
