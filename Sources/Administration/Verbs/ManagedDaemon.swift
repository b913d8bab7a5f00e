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

/// Daemon as the control verbs and metrics see it.
@ServiceLoop
package protocol ManagedDaemon: AnyObject {
    /// Components and counters at this moment; a reload replaces them.
    var state: DaemonState { get }

    /// Path of the settings file.
    var settingsFile: String { get }

    /// Log with a variable level; nil if the daemon does not control its log.
    var log: LogSink? { get }

    /// Reloads the settings file; applies all settings or none.
    func reload() async -> ReloadOutcome

    /// Checks the settings file, or another text, like a reload, without changes.
    func check(_ other: (text: String, file: String)?) async -> ReloadOutcome
}

/// Acceleration as the control verbs and metrics see it.
@ServiceLoop
package protocol ManagedAccelerator: AnyObject {
    /// Counters and recent queries, up to date after ``collect()``.
    nonisolated var counters: QueryCounters { get }
    nonisolated var recent: RecentQueries { get }

    var status: AccelerationStatus { get }

    /// Adds the kernel's answers since the last call to counters and recent queries.
    func collect()

    /// Suspends acceleration while `body` runs, so that workers see every query.
    func suspended(while body: () async throws -> Void) async rethrows
}

/// Components and counters that the control verbs and metrics show.
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

    package var listeners: [Listeners]
    package var workers: [UDPWorker]
    package var handler: QueryHandler
    package var misses: MissQueue?
    package var accelerator: any ManagedAccelerator

    /// Of workers that a reload has ended.
    package var closedWorkers: (queries: QuerySums, hits: LatencySum)

    /// Merged and paired lookups of vendors that a reload has removed.
    package var mergedOfFormerVendors: UInt64

    package var network: NetworkEvents
    package var cacheFile: CacheFileState?

    /// First problem of the last reload; nil if the reload succeeded.
    package var reloadProblem: String?

    /// Since the start; nil if the program has no ``LogSink``.
    package var droppedLogLines: UInt64?

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

/// Network changes and resumes from system sleep since the start.
package struct NetworkEvents {
    package var changes: UInt64 = 0
    package var resumes: UInt64 = 0

    package var latest: Instant?

    package init() {}
}

/// State of the cache snapshot file.
package struct CacheFileState {
    package let path: String

    /// Age and size of the present file, if known.
    package var latest: (instant: Instant, entries: UInt64, octets: Int)?

    /// Error of the last access; nil if it succeeded.
    package var fault: String?

    package init(path: String) { self.path = path }
}
