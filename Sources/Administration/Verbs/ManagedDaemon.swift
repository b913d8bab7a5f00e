// SPDX-License-Identifier: Apache-2.0
package import Configuration
package import Control
package import DNSCache
package import DaemonLog
package import Frontend
package import HTTPDNS
package import Net
package import Resolver
package import Upstream

@ServiceLoop
package protocol ManagedDaemon: AnyObject {
    var state: DaemonState { get }
    var settingsFile: String { get }
    var log: LogSink? { get }
    var isLoadingSnapshot: Bool { get }
    func snapshotLoaded() async

    /// Returns nil if the daemon is stopping.
    func reload() async -> ReloadReply?

    func check(_ other: (text: String, file: String)?) async -> ReloadReply
}

@ServiceLoop
package protocol ManagedAccelerator: AnyObject {
    /// ``collect()`` updates these counters.
    nonisolated var counters: QueryCounters { get }
    nonisolated var recent: RecentQueries { get }
    var status: AccelerationStatus { get }
    func collect()

    /// Suspends acceleration during `body`, so that the workers receive every query.
    func suspended(while body: () async throws -> Void) async rethrows
}

@ServiceLoop
package struct DaemonState {
    package var settings: Settings
    package var clocks: Clocks
    package var cache: AnswerCache
    package var resolver: Resolver
    package var vendors: [(settings: VendorSettings, client: VendorClient)]
    package var upstreams: [any Forwarding]
    package var upstreamHealth: HealthTable
    package var routeNames: RouteNames
    package var nat64: NAT64
    package var learned: LearnedNetwork

    package var hasPortal: Bool

    package var listeners: [Listeners]
    package var workers: [UDPWorker]
    package var handler: QueryHandler
    package var misses: MissQueue?
    package var accelerator: any ManagedAccelerator
    package var closedWorkers: (queries: QuerySums, hits: LatencySum)
    package var mergedOfFormerVendors: UInt64
    package var network: NetworkEvents
    package var cacheFile: CacheFileState?
    package var reloadProblem: String?
    package var droppedLogLines: UInt64?

    package var fileProblems: [String] = []

    package var recent: [RecentQueries] {
        workers.map(\.recent) + [handler.recent, accelerator.recent]
    }

    package init(
        settings: Settings,
        clocks: Clocks,
        cache: AnswerCache,
        resolver: Resolver,
        vendors: [(settings: VendorSettings, client: VendorClient)],
        upstreams: [any Forwarding],
        upstreamHealth: HealthTable,
        routeNames: RouteNames,
        nat64: NAT64,
        learned: LearnedNetwork,
        hasPortal: Bool,
        listeners: [Listeners],
        workers: [UDPWorker],
        handler: QueryHandler,
        misses: MissQueue?,
        accelerator: any ManagedAccelerator,
        closedWorkers: (queries: QuerySums, hits: LatencySum),
        mergedOfFormerVendors: UInt64,
        network: NetworkEvents,
        cacheFile: CacheFileState?,
        reloadProblem: String?,
        droppedLogLines: UInt64?
    ) {
        self.settings = settings
        self.clocks = clocks
        self.cache = cache
        self.resolver = resolver
        self.vendors = vendors
        self.upstreams = upstreams
        self.upstreamHealth = upstreamHealth
        self.routeNames = routeNames
        self.nat64 = nat64
        self.learned = learned
        self.hasPortal = hasPortal
        self.listeners = listeners
        self.workers = workers
        self.handler = handler
        self.misses = misses
        self.accelerator = accelerator
        self.closedWorkers = closedWorkers
        self.mergedOfFormerVendors = mergedOfFormerVendors
        self.network = network
        self.cacheFile = cacheFile
        self.reloadProblem = reloadProblem
        self.droppedLogLines = droppedLogLines
    }
}

package struct NetworkEvents {
    package var changes: UInt64 = 0
    package var resumes: UInt64 = 0
    package var latest: Instant?
    package init() {}
}

package struct CacheFileState {
    package let path: String
    package var latest: (instant: Instant, entries: UInt64, octets: Int)?
    package var fault: String?

    /// True if another daemon uses the cache file; then this daemon does not write the file.
    package var isContended = false

    package init(path: String) { self.path = path }
}
