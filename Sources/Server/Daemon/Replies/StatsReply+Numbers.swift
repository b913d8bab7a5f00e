// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import DNSCache
internal import HTTPDNS
internal import Net
internal import Resolver
internal import Upstream

// Conversion of counters to the messages of the control protocol.

extension LatencyQuantiles {
    init(_ sum: LatencySum) {
        self.init(
            count: sum.count,
            p50: sum.quantile(0.5),
            p90: sum.quantile(0.9),
            p99: sum.quantile(0.99),
            p999: sum.quantile(0.999),
            max: sum.longest
        )
    }
}

extension NetworkStats {
    init(_ numbers: NetworkReaction.Numbers, now: ContinuousClock.Instant) {
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
    /// Omits hits and misses, which `QueryCounters` counts.
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
    /// - Parameters:
    ///   - spared: calls avoided outside the vendor client.
    ///   - routes: names of the routes.
    init(
        name: String,
        _ statistics: VendorStatistics,
        spared: SparedCalls,
        routes: RouteNames
    ) {
        self.init(name: name)
        protected = statistics.isProtected
        lookups = statistics.calls
        successes = statistics.successes
        empty = statistics.empty
        unanswered = statistics.failures + statistics.cancelled
        calls = statistics.tries
        billableCalls = statistics.billable
        billableNames = statistics.billableNames
        self.routes = routes.costs(statistics.billableByRoute)
        for (kind, count) in statistics.failuresByKind { failures[kind.rawValue] = count }
        connectionsOpened = statistics.connectionsOpened
        connectionsReused = statistics.connectionsReused
        avoided = [
            "cached": spared.cached[name, default: 0],
            "merged": statistics.merged + spared.merged[name, default: 0],
            "paired": statistics.paired + spared.paired[name, default: 0],
            "batched": statistics.batched,
        ]
        dropped = [
            "private": spared.dropped[name, default: 0], "unusable": statistics.droppedAddresses,
        ]
        budget = BudgetStatus(statistics)
    }
}

extension UpstreamStats {
    @ServiceLoop
    init(_ upstream: any Forwarding) {
        self.init(name: upstream.name, protected: upstream.isProtected)
        let numbers = upstream.numbers
        queries = numbers.queries
        successes = numbers.successes
        failures = numbers.failures
        tcpRetries = numbers.tcpRetries
        foreignReplies = numbers.foreignReplies
        connectionsOpened = numbers.connectionsOpened
        connectionsReused = numbers.connectionsReused
    }
}
