// SPDX-License-Identifier: Apache-2.0
internal import Control

extension UInt64 {
    /// Returns `self - earlier`, or `self` if the counter was reset after `earlier` was read.
    func since(_ earlier: UInt64) -> UInt64 { self >= earlier ? self - earlier : self }
}

extension Counts {
    func since(_ earlier: Counts) -> Counts {
        Counts(uniqueKeysWithValues: map { ($0, $1.since(earlier[$0, default: 0])) })
    }
}

/// Part of `StatsReply` with counters only.
protocol CounterRecord {
    static var counters: [WritableKeyPath<Self, UInt64>] { get }
}

extension CounterRecord {
    func since(_ earlier: Self) -> Self {
        var difference = self
        for counter in Self.counters {
            difference[keyPath: counter] = self[keyPath: counter].since(earlier[keyPath: counter])
        }
        return difference
    }
}

extension CacheStats: CounterRecord {
    static var counters: [WritableKeyPath<Self, UInt64>] { [\.insertions, \.evictions, \.expired] }
}

extension MissStats: CounterRecord {
    static var counters: [WritableKeyPath<Self, UInt64>] { [\.merged, \.dropped] }
}

extension RefreshStats: CounterRecord {
    static var counters: [WritableKeyPath<Self, UInt64>] {
        [\.started, \.done, \.failed, \.overBudget, \.held]
    }
}

extension NetworkStats: CounterRecord {
    static var counters: [WritableKeyPath<Self, UInt64>] { [\.changes, \.resumes] }
}

extension LogStats: CounterRecord {
    static var counters: [WritableKeyPath<Self, UInt64>] { [\.dropped] }
}

extension UpstreamStats: CounterRecord {
    static var counters: [WritableKeyPath<Self, UInt64>] {
        [
            \.queries, \.successes, \.tcpRetries, \.foreignReplies, \.connectionsOpened,
            \.connectionsReused,
        ]
    }
}

extension VendorStats: CounterRecord {
    static var counters: [WritableKeyPath<Self, UInt64>] {
        [
            \.lookups, \.successes, \.empty, \.unanswered, \.calls, \.billableCalls,
            \.billableNames, \.connectionsOpened, \.connectionsReused,
        ]
    }
}

extension [UpstreamStats] {
    func since(_ earlier: [UpstreamStats]) -> [UpstreamStats] {
        map { now in
            guard let old = earlier.first(where: { $0.name == now.name }) else { return now }
            var stats = now.since(old)
            stats.failures = now.failures.since(old.failures)
            return stats
        }
    }
}

extension [VendorStats] {
    func since(_ earlier: [VendorStats]) -> [VendorStats] {
        map { now in
            guard let old = earlier.first(where: { $0.name == now.name }) else { return now }
            var stats = now.since(old)
            stats.failures = now.failures.since(old.failures)
            stats.avoided = now.avoided.since(old.avoided)
            stats.dropped = now.dropped?.since(old.dropped ?? [:])
            stats.budget?.beyond = (now.budget?.beyond ?? 0).since(old.budget?.beyond ?? 0)
            if let units = old.units {
                stats.units?.atLeast = (now.units?.atLeast ?? 0).since(units.atLeast)
                stats.units?.atMost = (now.units?.atMost ?? 0).since(units.atMost)
            }
            for index in stats.routes.indices {
                let route = stats.routes[index].route
                guard let cost = old.routes.first(where: { $0.route == route }) else { continue }
                stats.routes[index].names = stats.routes[index].names.since(cost.names)
                stats.routes[index].units = stats.routes[index].units?.since(cost.units ?? 0)
            }
            return stats
        }
    }
}
