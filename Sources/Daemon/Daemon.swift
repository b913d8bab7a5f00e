// SPDX-License-Identifier: Apache-2.0
internal import Administration
package import Configuration
internal import Control
package import DaemonLog
internal import Fleet
internal import Frontend
internal import Glibc
internal import HTTPDNS
package import Logging
package import Net
internal import Resolver

@ServiceLoop
package final class Daemon {
    var components: Components
    package let logger: Logger
    package let log: LogSink?
    let handler: QueryHandler
    let listenerManager: ListenerManager
    let network: NetworkReaction

    /// Nil if no listen address names an interface.
    var interfaces: LinkWatch?

    let accelerator: Accelerator
    let dependencies: Dependencies
    let source: SettingsSource
    var hosts: HostsFiles
    var cacheFile: CacheFile?
    let reloads = CoalescingQueue<ReloadReply?>()

    let settingsQueue = SerialQueue()

    var sweeping: Task<Int, Never>?
    private(set) var isStopping = false
    var mergedOfFormerVendors: UInt64 = 0
    private(set) var misses: MissQueue?
    private(set) var `operator`: ControlHandler?

    private(set) lazy var scrapePoints = ScrapePoints(logger: logger) { [unowned self] in
        life.unloggedQueries = queryLog.missed
        return MetricsReport(state, life)
    }

    private(set) lazy var queryLog = QueryLog(logger, components.clocks) { [unowned self] in
        (state.recent, components.resolver.origins)
    }

    var life = MetricsReport.Life()

    var certificateFaults: [String: String] = [:]

    /// Files from which the daemon has never read a CA certificate.
    var absentCertificates: Set<String> = [] {
        didSet { network.portal.canVerify = absentCertificates.isEmpty }
    }
    var starter: WorkerThread?

    private var acceleration: Task<Void, Never>?

    let own = OwnQuery()

    static let drainTime: Duration = .seconds(2)

    static let dumpedQueries = 100

    /// Without this delay, the first answers would wait for the load (50 ms of CPU time).
    static let accelerationDelay: Duration = .seconds(1)

    /// Creates the daemon; binds no address.
    package convenience init(
        _ settings: Settings,
        from source: SettingsSource,
        log: LogSink
    ) throws(StartError) {
        try self.init(settings, from: source, in: .system, logger: log.logger, log: log)
    }

    package init(
        _ settings: Settings,
        from source: SettingsSource,
        in dependencies: Dependencies,
        logger: Logger,
        log: LogSink? = nil
    ) throws(StartError) {
        self.source = source
        self.log = log
        life.startSeconds = dependencies.clocks.wallSeconds()
        self.dependencies = dependencies
        self.logger = logger
        let components = try Components(settings, in: dependencies)
        self.components = components
        components.comeIntoForce(dependencies, logger)
        handler = QueryHandler(
            cache: components.cache,
            resolver: components.resolver,
            clocks: components.clocks
        )
        listenerManager = ListenerManager(settings, logger: logger)
        network = NetworkReaction(components, dependencies.translation, logger: logger)
        accelerator = Accelerator(components.cache, clocks: components.clocks, logger: logger)
        hosts = HostsFiles(settings.hosts, logger: logger)
        cacheFile = Self.cacheFile(components, logger: logger)
        components.reportUpstreams(to: logger) { [weak self] in self?.network.portal.failed($0) }
        hosts.onChange = { [weak self] in self?.components.resolver.use($0) }
    }

    /// Runs until SIGTERM or SIGINT; returns the exit code.
    package func run() async -> Int32 {
        let control: Task<Void, Never>
        let signals: AsyncStream<Int32>
        let misses: MissQueue
        reportCertificates()
        do throws(StartError) {
            SpareDescriptors.keep()
            signals = try Self.signals()
            try listenerManager.takePassed()
            let bound = try listenerManager.bind(components.settings)
            for warning in bound.warnings { logger.warning("\(warning)") }
            let socket = firstControlSocket()
            try accelerator.load(components.settings, in: dependencies)
            dropCapabilities()
            await hosts.start()
            if components.settings.upstreams.contains(where: { $0.from == .network }) {
                await network.learnResolvers(dependencies)
            }
            control = startControl(at: socket)
            misses = Self.missQueue(for: handler, own)
            self.misses = misses
            startCacheFile()
            let handlers = ListenerManager.Handlers(
                components: components,
                handler: handler,
                misses: misses,
                own: own
            )
            try listenerManager.serve(bound, by: handlers)
            if components.settings.accelerate.loopback == .required { try await accelerate() }
        } catch {
            logger.critical("\(error)")
            return error.exitCode
        }
        for warning in components.settings.warnings { logger.warning("\(warning)") }
        if components.settings.accelerate.loopback != .required {
            acceleration = ServiceLoop.task { [self] in
                guard await accelerator.wait(Self.accelerationDelay) else { return }
                do throws(StartError) {
                    try await accelerate()
                } catch {
                    logger.info("acceleration: off: \(error)")
                }
            }
        }
        prepareHTTP()
        network.startTranslation()
        startVendors(components.vendors)
        startFleet()
        components.resolver.prefetcher.start()
        // Lets the service loop answer the first queries, because the next steps take 0.5 ms.
        await Task.yield()
        network.followResolvers(dependencies)
        network.onChange = { [weak self] in self?.listenerManager.networkChanged() }
        network.start()
        startObservation()
        followInterfaces()
        ServiceManager.ready(status: readiness)
        let watchdog = ServiceLoop.task {
            try? await self.feedWatchdog()
        }
        logger.notice("\(readiness), version \(Product.version)")

        for await signal in signals {
            if signal == SIGTERM || signal == SIGINT { break }
            if signal == SIGUSR1 {
                await dumpRecords()
                continue
            }
            ServiceLoop.task { [self] in _ = await reload() }
        }
        // The health check would fail after `drain` has stopped the workers.
        watchdog.cancel()
        await drain()
        control.cancel()
        await control.value
        return 0
    }

    var readiness: String { "answering on \(listenerManager.addresses)" }

    private static func signals() throws(StartError) -> AsyncStream<Int32> {
        do throws(SocketError) {
            return try ServiceLoop.signals([SIGTERM, SIGINT, SIGHUP, SIGUSR1])
        } catch {
            throw .system(error)
        }
    }

    // MARK: - Starting

    /// A failure is logged.
    private func dropCapabilities() {
        do throws(SocketError) {
            try OwnProcess.dropCapabilities()
        } catch {
            logger.warning("cannot drop capabilities: \(error); the daemon keeps the capabilities")
        }
    }

    private func accelerate() async throws(StartError) {
        try await accelerator.start(
            components.settings,
            at: listenerManager.listeners.map(\.address)
        )
    }

    private func feedWatchdog() async throws(CancellationError) {
        guard let interval = ServiceManager.watchdogInterval else { return }
        let check = SelfCheck(asking: own, clocks: components.clocks, logger: logger)
        try await ServiceManager.feedWatchdog { [unowned self] in
            await check.passes(listenerManager.listeners, within: interval / 3)
        }
    }

    private func startObservation() {
        let settings = components.settings.metrics
        scrapePoints.serve(scrapePoints.bind(settings), as: settings)
        queryLog.use(components.settings.log.queries)
    }

    private func dumpRecords() async {
        log?.dump()
        let recent = RecentReader.all(of: state.recent)
        let list = RecentList(recent, components.clocks, components.resolver.origins)
        let queries = list.latestMisses(Self.dumpedQueries)
        logger.notice("latest \(queries.count) queries that the cache could not answer:")
        for query in queries { QueryLog.log(query, to: logger) }
    }

    /// Opens the control socket, or logs a failure and returns nil.
    ///
    /// Runs before `dropCapabilities`, because setting the group of the socket needs capabilities.
    private func firstControlSocket() -> GroupSocket? {
        do throws(SocketError) {
            return try controlSocket()
        } catch {
            report(error)
            return nil
        }
    }

    private func controlSocket() throws(SocketError) -> GroupSocket {
        let settings = components.settings.control
        return try GroupSocket.open(
            "control",
            path: settings.socket,
            mode: UInt32(settings.mode),
            group: settings.group
        )
    }

    private func report(_ error: SocketError) {
        let path = components.settings.control.socket
        logger.error(
            """
            cannot open the control socket \(path): \(error); check `control.socket`; the daemon \
            retries every 30 s, until then httpdnsctl cannot connect
            """,
            metadata: ["error": "\(error)"]
        )
    }

    private func startControl(at first: GroupSocket?) -> Task<Void, Never> {
        let handler = ControlHandler(self)
        `operator` = handler
        let socket = ReopenedSocket(
            "control",
            path: components.settings.control.socket,
            logger: logger,
            open: { [self] () throws(SocketError) in try controlSocket() },
            failed: { [self] in report($0) }
        )
        return ServiceLoop.task { [logger] in
            await socket.serve(first) { socket throws(SocketError) in
                let server = ControlServer(
                    listener: socket.listener,
                    dispatcher: ControlDispatcher(
                        handler: handler,
                        access: socket.access,
                        logger: logger
                    ),
                    logger: logger
                )
                try await server.run()
            }
        }
    }

    // MARK: - Stopping

    private func drain() async {
        isStopping = true
        ServiceManager.stopping()
        logger.notice("stopping")
        components.resolver.prefetcher.stop()
        components.nat64.stop()
        network.stop()
        interfaces = nil
        components.fleet?.stop()
        hosts.stop()
        stopVendors()
        accelerator.stop()
        listenerManager.close()
        misses?.handleAll()
        starter?.join()
        let deadline = components.clocks.now() + Self.drainTime
        let keeping = ServiceLoop.task { [cacheFile, sweeping] in
            _ = await sweeping?.value
            await cacheFile?.finish(by: deadline)
        }
        await handler.drained(by: deadline)
        scrapePoints.stop()
        queryLog.use(false)
        listenerManager.finish()
        await acceleration?.value
        await keeping.value
    }
}
