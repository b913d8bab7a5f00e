// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import DNSCache
internal import HTTPDNS
internal import Net
internal import Resolver
internal import Upstream

extension LatencyQuantiles {
    init(_ sum: LatencySum) {
        self.init()
        count = sum.count
        p50Us = sum.quantile(0.5)
        p90Us = sum.quantile(0.9)
        p99Us = sum.quantile(0.99)
        p999Us = sum.quantile(0.999)
        maxUs = sum.longest
    }
}

extension NetworkStats {
    init(_ numbers: NetworkEvents, now: Instant) {
        self.init()
        changes = numbers.changes
        resumes = numbers.resumes
        lastAgeSeconds = numbers.latest.map { Int((now - $0).components.seconds) }
    }
}

extension RefreshStats {
    init(_ numbers: RefreshNumbers) {
        self.init()
        started = numbers.started
        done = numbers.done
        failed = numbers.failed
        overBudget = numbers.overBudget
        held = numbers.held
    }
}

extension CacheStats {
    /// Creates the counters of the cache without hits and misses, which `QueryCounters` counts.
    init(_ numbers: CacheNumbers) {
        self.init()
        entries = numbers.entries
        octets = numbers.octets
        limitOctets = numbers.limitOctets
        indexOctets = numbers.indexOctets
        insertions = numbers.insertions
        evictions = numbers.evictions
        expired = numbers.expired
        negativeEntries = numbers.negativeEntries
    }
}

extension VendorStats {
    /// - Parameter spared: avoided calls that `statistics` does not count, because the queries did
    ///   not reach the vendor client.
    init(name: String, _ statistics: VendorStatistics, spared: SparedCalls, routes: RouteNames) {
        var reply = Self(name: name)
        reply.protected = statistics.isProtected
        reply.lookups = statistics.calls
        reply.successes = statistics.successes
        reply.empty = statistics.empty
        reply.unanswered = statistics.failures + statistics.cancelled
        reply.calls = statistics.tries
        reply.billableCalls = statistics.billable
        reply.billableNames = statistics.billableNames
        reply.routes = routes.costs(statistics.billableByRoute, statistics.unitsByRoute)
        for (kind, count) in statistics.failuresByKind { reply.failures[kind.rawValue] = count }
        reply.connectionsOpened = statistics.connectionsOpened
        reply.connectionsReused = statistics.connectionsReused
        reply.avoided = [
            "cached": spared.cached[name, default: 0],
            "merged": statistics.merged + spared.merged[name, default: 0],
            "paired": statistics.paired + spared.paired[name, default: 0],
            "batched": statistics.batched,
            "fleet": spared.shared[name, default: 0],
        ]
        reply.dropped = [
            "private": spared.dropped[name, default: 0], "unusable": statistics.droppedAddresses,
        ]
        reply.budget = BudgetStatus(statistics)
        reply.units = BilledUnits(statistics)
        reply.cost = BilledCost(statistics)
        reply.clientAddress = statistics.clientAddress.map { "\($0)" }
        self = reply
    }
}

extension UpstreamStats {
    @ServiceLoop
    init(_ upstream: any Forwarding) {
        var reply = Self(name: upstream.name, protected: upstream.isProtected)
        let numbers = upstream.numbers
        reply.queries = numbers.queries
        reply.successes = numbers.successes
        reply.failures = numbers.failures
        reply.tcpRetries = numbers.tcpRetries
        reply.foreignReplies = numbers.foreignReplies
        reply.connectionsOpened = numbers.connectionsOpened
        reply.connectionsReused = numbers.connectionsReused
        self = reply
    }
}
