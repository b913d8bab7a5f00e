// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
internal import DNSCache
internal import Fleet
internal import Frontend
internal import HTTPDNS
internal import Net
internal import Resolver
internal import Synchronization

@ServiceLoop
struct CounterSnapshot {
    private(set) var queries = QuerySums()
    private(set) var hits = LatencySum()
    private(set) var missLatency = LatencySum()
    private(set) var vendorLatency = LatencySum()
    private(set) var upstreamLatency = LatencySum()
    private var cache = CacheStats()
    private var vendors: [VendorStats] = []
    private var upstreams: [UpstreamStats] = []
    private var misses = MissStats()
    private var earlyFallbacks: UInt64 = 0
    private var refresh = RefreshStats()
    private var network = NetworkStats()
    private var fleet = FleetStats()
    private var shared: UInt64 = 0
    private var log: LogStats?
    private var sessions: Counts = [:]
    nonisolated init() {}

    init(_ state: DaemonState) {
        let now = state.clocks.now()
        queries = state.closedWorkers.queries
        hits = state.closedWorkers.hits
        state.accelerator.collect()
        let others = [state.handler.counters, state.accelerator.counters]
        for counters in state.workers.map(\.counters) + others {
            counters.add(to: &queries)
            counters.hitLatency.add(to: &hits)
        }
        let statistics = state.resolver.statistics
        state.handler.missLatency.add(to: &missLatency)
        statistics.vendorLatency.add(to: &vendorLatency)
        statistics.upstreamLatency.add(to: &upstreamLatency)

        cache = CacheStats(state.cache.numbers)
        cache.snapshot = state.cacheFile.map { SnapshotStatus($0, now: now) }
        let spared = SparedCalls(state)
        let routes = state.routeNames
        let clients = state.vendors.map { ($0.settings.name, $0.client.statistics) }
        vendors = clients.map { VendorStats(name: $0, $1, spared: spared, routes: routes) }
        upstreams = state.upstreams.map(UpstreamStats.init)

        refresh = RefreshStats(statistics.refreshes)
        network = NetworkStats(state.network, now: now)
        if let exchange = state.resolver.vendors.fleet {
            fleet = FleetStats(exchange.fleet.statistics)
        }
        shared = statistics.shared
        log = state.droppedLogLines.map(LogStats.init(dropped:))
        misses.inFlight = UInt64(state.handler.inFlight)
        misses.merged =
            statistics.merged + statistics.vendors.paired
            + clients.reduce(state.mergedOfFormerVendors) { $0 + $1.1.merged + $1.1.paired }
        earlyFallbacks = statistics.earlyFallbacks
        misses.dropped =
            statistics.evicted
            + (state.misses?.dropped.load(ordering: .relaxed) ?? 0)
        let table = state.handler.sessions
        sessions = [
            "evicted-sessions": table.evicted, "malformed-sessions": table.malformed,
            "overfull-sessions": table.overfull,
        ]
    }

    mutating func renameRoutes(_ name: (String) -> String) {
        for vendor in vendors.indices {
            for route in vendors[vendor].routes.indices {
                vendors[vendor].routes[route].route = name(vendors[vendor].routes[route].route)
            }
        }
    }

    func reply(since zero: CounterSnapshot, seconds: Int, _ state: DaemonState) -> StatsReply {
        let queries = queries.since(zero.queries)
        var reply = StatsReply(sinceSeconds: seconds)
        reply.queries.total = queries.total
        reply.queries.bySource = queries.bySource
        reply.queries.byRcode = queries.byOutcome
        reply.queries.byTransport = queries.byTransport
        let ofFleet = shared.since(zero.shared)
        let ofVendors = queries.bySource["\(QuerySource.vendor)"] ?? 0
        reply.queries.byOrigin = [
            "fleet": min(ofFleet, ofVendors), "vendor": ofVendors - min(ofFleet, ofVendors),
        ]
        reply.queries.earlyFallback = earlyFallbacks.since(zero.earlyFallbacks)

        let hits = hits.since(zero.hits)
        let missLatency = missLatency.since(zero.missLatency)
        reply.latency.client = LatencyQuantiles(hits.adding(missLatency))
        reply.latency.cache = LatencyQuantiles(hits)
        reply.latency.vendor = LatencyQuantiles(vendorLatency.since(zero.vendorLatency))
        reply.latency.upstream = LatencyQuantiles(upstreamLatency.since(zero.upstreamLatency))

        reply.cache = cache.since(zero.cache)
        reply.cache.hits = queries.bySource["\(QuerySource.cache)"] ?? 0
        reply.cache.misses = [QuerySource.stale, .vendor, .upstream, .failed]
            .reduce(0) { $0 + (queries.bySource["\($1)"] ?? 0) }
        reply.vendors = vendors.since(zero.vendors)
        reply.upstreams = upstreams.since(zero.upstreams)
        reply.packets = [
            "ignored": queries.ignored, "rate-limited": queries.limited,
            "truncated-replies": queries.truncated, "unsent-replies": queries.unsent,
        ]
        reply.packets.merge(sessions.since(zero.sessions)) { $1 }
        reply.misses = misses.since(zero.misses)
        reply.refresh = refresh.since(zero.refresh)
        reply.network = network.since(zero.network)
        reply.fleet = fleet.since(zero.fleet)
        reply.log = log?.since(zero.log ?? LogStats())
        reply.acceleration = state.accelerator.status
        reply.process = ProcessNumbers.now
        return reply
    }

    func vendors(since zero: CounterSnapshot) -> [VendorStats] { vendors.since(zero.vendors) }

    func billableNames(since zero: CounterSnapshot) -> UInt64 {
        vendors.since(zero.vendors).reduce(0) { $0 + $1.billableNames }
    }
}
