// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import DNSCache
internal import HTTPDNS
internal import Net
internal import Resolver
internal import Synchronization
internal import Upstream

/// All counters at one moment, so that what happened since another one can be told.
@ServiceLoop
struct Snapshot {
    private var queries = QuerySums()
    private var hits = LatencySum()
    private var misses = LatencySum()
    private var vendorLatency = LatencySum()
    private var upstreamLatency = LatencySum()

    /// The moment when everything is zero.
    nonisolated init() {}

    /// The counters as they are now.
    init(_ parts: Daemon.Parts) {
        for counters in parts.workers.map(\.counters) + [parts.desk.counters] {
            counters.add(to: &queries)
            counters.hitLatency.add(to: &hits)
        }
        parts.desk.missLatency.add(to: &misses)
        parts.assembly.resolver.vendors.latency.add(to: &vendorLatency)
        parts.assembly.resolver.upstreams.latency.add(to: &upstreamLatency)
    }

    /// What the verb `stats` replies: queries and latencies since `zero`, everything else since the
    /// daemon started.
    func reply(since zero: Snapshot, seconds: Int, _ parts: Daemon.Parts) -> StatsReply {
        let queries = queries.since(zero.queries)
        var reply = StatsReply(sinceSeconds: seconds)
        reply.queries.total = queries.total
        reply.queries.bySource = queries.bySource
        reply.queries.byRcode = queries.byOutcome
        reply.queries.byTransport = queries.byTransport

        let hits = hits.since(zero.hits)
        let misses = misses.since(zero.misses)
        reply.latency.client = LatencyQuantiles(hits.adding(misses))
        reply.latency.cache = LatencyQuantiles(hits)
        reply.latency.vendor = LatencyQuantiles(vendorLatency.since(zero.vendorLatency))
        reply.latency.upstream = LatencyQuantiles(upstreamLatency.since(zero.upstreamLatency))

        let assembly = parts.assembly
        reply.cache = CacheStats(assembly.cache.numbers)
        reply.cache.hits = queries.bySource["\(QuerySource.cache)"] ?? 0
        reply.cache.misses = [QuerySource.vendor, .upstream, .failed]
            .reduce(0) { $0 + (queries.bySource["\($1)"] ?? 0) }
        reply.vendors = assembly.vendors.map { vendor in
            VendorStats(name: vendor.settings.name, vendor.client.statistics)
        }
        reply.upstreams = assembly.upstreams.map(UpstreamStats.init)
        reply.packets = [
            "ignored": queries.ignored, "truncated-replies": queries.truncated,
            "unsent-replies": queries.unsent,
        ]
        reply.misses.inFlight = UInt64(parts.desk.inFlight)
        reply.misses.merged =
            assembly.resolver.merging.merged + assembly.resolver.vendors.numbers.paired
        reply.misses.dropped =
            parts.desk.overflowed + (parts.misses?.dropped.load(ordering: .relaxed) ?? 0)
        reply.process = ProcessNumbers.now
        return reply
    }
}

extension LatencyQuantiles {
    fileprivate init(_ sum: LatencySum) {
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

extension CacheStats {
    fileprivate init(_ numbers: CacheNumbers) {
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
    fileprivate init(name: String, _ statistics: VendorStatistics) {
        self.init(name: name)
        calls = statistics.calls
        billableCalls = statistics.billable
        successes = statistics.successes
        empty = statistics.empty
        for (kind, count) in statistics.failuresByKind { failures[kind.rawValue] = count }
        connectionsOpened = statistics.connectionsOpened
        connectionsReused = statistics.connectionsReused
        avoided = [
            "merged": statistics.merged, "paired": statistics.paired,
            "batched": statistics.batched,
        ]
    }
}

extension UpstreamStats {
    @ServiceLoop
    fileprivate init(_ upstream: any Forwarding) {
        self.init(name: upstream.name, protected: upstream.isProtected)
        let numbers = upstream.numbers
        queries = numbers.queries
        successes = numbers.successes
        failures = numbers.failures
        tcpRetries = numbers.tcpRetries
    }
}
