// SPDX-License-Identifier: Apache-2.0
internal import Control

// Differences of counters; gauges keep their current value.

extension UInt64 {
    /// Returns the increase since `earlier`; the whole value if the counter was reset meanwhile.
    fileprivate func since(_ earlier: UInt64) -> UInt64 {
        self >= earlier ? self - earlier : self
    }
}

extension Counts {
    func since(_ earlier: Counts) -> Counts {
        Counts(uniqueKeysWithValues: map { ($0, $1.since(earlier[$0, default: 0])) })
    }
}

extension CacheStats {
    func since(_ earlier: CacheStats) -> CacheStats {
        var stats = self
        stats.insertions = insertions.since(earlier.insertions)
        stats.evictions = evictions.since(earlier.evictions)
        stats.expired = expired.since(earlier.expired)
        return stats
    }
}

extension [VendorStats] {
    func since(_ earlier: [VendorStats]) -> [VendorStats] {
        map { now in earlier.first { $0.name == now.name }.map(now.since) ?? now }
    }
}

extension VendorStats {
    fileprivate func since(_ earlier: VendorStats) -> VendorStats {
        var stats = self
        stats.lookups = lookups.since(earlier.lookups)
        stats.successes = successes.since(earlier.successes)
        stats.empty = empty.since(earlier.empty)
        stats.unanswered = unanswered.since(earlier.unanswered)
        stats.calls = calls.since(earlier.calls)
        stats.billableCalls = billableCalls.since(earlier.billableCalls)
        stats.billableNames = billableNames.since(earlier.billableNames)
        stats.routes = routes.map { cost in
            var cost = cost
            let old = earlier.routes.first { $0.route == cost.route }
            cost.names = cost.names.since(old?.names ?? 0)
            return cost
        }
        stats.failures = failures.since(earlier.failures)
        stats.connectionsOpened = connectionsOpened.since(earlier.connectionsOpened)
        stats.connectionsReused = connectionsReused.since(earlier.connectionsReused)
        stats.avoided = avoided.since(earlier.avoided)
        stats.dropped = dropped?.since(earlier.dropped ?? [:])
        stats.budget?.beyond = (budget?.beyond ?? 0).since(earlier.budget?.beyond ?? 0)
        return stats
    }
}

extension [UpstreamStats] {
    func since(_ earlier: [UpstreamStats]) -> [UpstreamStats] {
        map { now in earlier.first { $0.name == now.name }.map(now.since) ?? now }
    }
}

extension UpstreamStats {
    fileprivate func since(_ earlier: UpstreamStats) -> UpstreamStats {
        var stats = self
        stats.queries = queries.since(earlier.queries)
        stats.successes = successes.since(earlier.successes)
        stats.failures = failures.since(earlier.failures)
        stats.tcpRetries = tcpRetries.since(earlier.tcpRetries)
        stats.foreignReplies = foreignReplies.since(earlier.foreignReplies)
        stats.connectionsOpened = connectionsOpened.since(earlier.connectionsOpened)
        stats.connectionsReused = connectionsReused.since(earlier.connectionsReused)
        return stats
    }
}

extension MissStats {
    func since(_ earlier: MissStats) -> MissStats {
        var stats = self
        stats.merged = merged.since(earlier.merged)
        stats.dropped = dropped.since(earlier.dropped)
        return stats
    }
}

extension RefreshStats {
    func since(_ earlier: RefreshStats) -> RefreshStats {
        var stats = self
        stats.started = started.since(earlier.started)
        stats.done = done.since(earlier.done)
        stats.failed = failed.since(earlier.failed)
        stats.overBudget = overBudget.since(earlier.overBudget)
        stats.held = held.since(earlier.held)
        return stats
    }
}

extension NetworkStats {
    func since(_ earlier: NetworkStats) -> NetworkStats {
        var stats = self
        stats.changes = changes.since(earlier.changes)
        stats.resumes = resumes.since(earlier.resumes)
        return stats
    }
}
