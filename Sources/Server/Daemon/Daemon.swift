// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Glibc
internal import HTTPDNS
internal import Logging
package import Net
internal import Resolver

/// The daemon's life: bind, start, say so, answer until told to stop, drain.
///
/// What a reload does to it is in `Reload`.
@ServiceLoop
package final class Daemon {
    /// What is in force, a reload's to change.
    var assembly: Assembly
    let logger: Logger

    /// What is behind the logger; nil if the daemon has no say in that.
    let log: LogDesk?
    let desk: QueryDesk
    let reception: Reception
    let network: NetworkReaction
    let accelerator: Accelerator

    /// What all assemblies know of the world outside.
    let surroundings: Surroundings

    /// Where the settings are read again.
    let source: SettingsSource

    /// The names that are written down; read again with each change of their files.
    var hosts: HostsFiles

    /// Where the cache survives a restart; nil if it does not.
    var cacheFile: CacheFile?

    /// Reloads, one after the other.
    let reloads = TurnQueue<ReloadOutcome>()

    /// What removes the answers that a reload made wrong, as long as that lasts.
    var sweeping: Task<Int, Never>?

    /// Whether it is too late for a reload.
    private(set) var isStopping = false

    /// What vendors that are gone were spared: look-ups merged and paired.
    var mergedOfFormerVendors: UInt64 = 0

    private(set) var misses: MissDesk?

    /// Who serves the control socket.
    private(set) var `operator`: Operator?

    /// Who serves metrics.
    private(set) lazy var scrapePoints = ScrapePoints(logger: logger) { [unowned self] in
        life.unloggedQueries = queryLog.missed
        return MetricsReport(parts, life)
    }

    /// Who logs queries, while the settings want it.
    private(set) lazy var queryLog = QueryLog(logger, assembly.clocks) { [unowned self] in
        (parts.recent, assembly.resolver.origins)
    }

    /// What metrics tell of this.
    var life = MetricsReport.Life()

    /// The thread that loads libcurl and the system's certificates.
    var starter: WorkerThread?

    /// Has the kernel answer, by way of a thread that is not to outlive the daemon.
    private var acceleration: Task<Void, Never>?

    /// What the daemon asks itself.
    let own = OwnQuery()

    /// How long queries under way may take to end after SIGTERM.
    static let drainTime: Duration = .seconds(2)

    /// Queries that SIGUSR1 has logged, at most.
    static let dumpedQueries = 100

    /// Makes the daemon's parts; binds nothing yet.
    package convenience init(
        _ settings: Settings,
        from source: SettingsSource,
        log: LogDesk
    ) throws(StartError) {
        try self.init(settings, from: source, in: .system, logger: log.logger, log: log)
    }

    /// The same in surroundings that need not be the system's.
    init(
        _ settings: Settings,
        from source: SettingsSource,
        in surroundings: Surroundings,
        logger: Logger,
        log: LogDesk? = nil
    ) throws(StartError) {
        self.source = source
        self.log = log
        life.startSeconds = surroundings.clocks.wallSeconds()
        self.surroundings = surroundings
        self.logger = logger
        let assembly = try Assembly(settings, in: surroundings)
        self.assembly = assembly
        assembly.comeIntoForce()
        assembly.reportUpstreams(to: logger)
        desk = QueryDesk(
            cache: assembly.cache,
            resolver: assembly.resolver,
            clocks: assembly.clocks
        )
        reception = Reception(settings, logger: logger)
        network = NetworkReaction(assembly, logger: logger)
        accelerator = Accelerator(assembly.cache, clocks: assembly.clocks, logger: logger)
        let outlet = HostsOutlet()
        hosts = HostsFiles(settings.hosts, logger: logger) { outlet.take($0) }
        cacheFile = Self.cacheFile(assembly, logger: logger)
        outlet.use = { [weak self] in self?.assembly.resolver.use($0) }
    }

    /// Runs until SIGTERM or SIGINT, and returns the exit code.
    package func run() async -> Int32 {
        let control: Task<Void, Never>
        let signals: AsyncStream<Int32>
        let misses: MissDesk
        do throws(StartError) {
            SpareDescriptors.keep()
            signals = try Self.signals()
            try reception.takePassed()
            let bound = try reception.bind(assembly.settings)
            let socket = try controlSocket()
            try accelerator.load(assembly.settings, in: surroundings)
            dropCapabilities()
            // Nothing is answered before this, so nothing wrongly.
            await hosts.start()
            control = startControl(at: socket)
            misses = try Self.missDesk(for: desk, own)
            self.misses = misses
            // Before the first query: it may be answered from the snapshot.
            startCacheFile()
            let staff = Reception.Staff(
                assembly: assembly,
                desk: desk,
                misses: misses,
                own: own
            )
            try reception.serve(bound, by: staff)
            // Nobody waits for it who does not require it.
            if assembly.settings.accelerate.loopback == .required {
                try await accelerate()
            }
        } catch {
            logger.critical("\(error)")
            return 1
        }
        for warning in assembly.settings.warnings { logger.warning("\(warning)") }
        if assembly.settings.accelerate.loopback != .required {
            acceleration = ServiceLoop.task { [self] in
                do throws(StartError) {
                    try await accelerate()
                } catch {
                    logger.info("acceleration is off: \(error)")
                }
            }
        }
        reportCertificates()
        prepareHTTP()
        startVendors(assembly.vendors)
        assembly.resolver.refreshing.start()
        network.start()
        startObservation()
        ServiceManager.ready(status: readiness)
        let watchdog = ServiceLoop.task {
            // Ends by being cancelled only.
            try? await self.feedWatchdog()
        }
        logger.notice("\(readiness), version \(Product.version)")

        for await signal in signals {
            if signal == SIGTERM || signal == SIGINT { break }
            if signal == SIGUSR1 {
                await dumpRecords()
                continue
            }
            // In a task, so that a disk that does not answer can be ended.
            ServiceLoop.task { [self] in _ = await reload() }
        }
        // Workers that are stopped do not answer: that is no fault.
        watchdog.cancel()
        await drain()
        control.cancel()
        // Its end takes the socket's file away.
        await control.value
        return 0
    }

    /// What systemd and the log are told of a daemon that answers.
    var readiness: String { "answering on \(reception.addresses)" }

    private static func signals() throws(StartError) -> AsyncStream<Int32> {
        do throws(SocketError) {
            return try ServiceLoop.signals([SIGTERM, SIGINT, SIGHUP, SIGUSR1])
        } catch {
            throw .system(error)
        }
    }

    // MARK: - Starting

    /// Gives up what only root may do, now that it was done, before there are other threads.
    ///
    /// A service manager's filter may keep it from that; then it goes on with what it has.
    private func dropCapabilities() {
        do throws(SocketError) {
            try OwnProcess.dropCapabilities()
        } catch {
            logger.warning("cannot give up capabilities: \(error), ignoring")
        }
    }

    /// Has the kernel answer.
    private func accelerate() async throws(StartError) {
        try await accelerator.start(assembly.settings, at: reception.listeners.map(\.address))
    }

    /// Tells systemd that the daemon answers, as long as it does.
    private func feedWatchdog() async throws(CancellationError) {
        guard let interval = ServiceManager.watchdogInterval else { return }
        let check = SelfCheck(asking: own, clocks: assembly.clocks, logger: logger)
        try await ServiceManager.feedWatchdog { [unowned self] in
            await check.passes(reception.listeners, within: interval / 3)
        }
    }

    /// Begins to serve metrics, and to log queries, if the settings want it.
    ///
    /// A machine without names is worse off than one without metrics, so these are not necessary.
    private func startObservation() {
        do throws(StartError) {
            let settings = assembly.settings.metrics
            scrapePoints.serve(try scrapePoints.bind(settings), as: settings)
        } catch {
            logger.error("\(error), going on without")
        }
        queryLog.use(assembly.settings.log.queries)
    }

    /// Logs what the flight recorder has, and the latest queries that the cache did not answer.
    private func dumpRecords() async {
        log?.dump()
        let recent = RecentReader.all(of: parts.recent)
        let list = RecentList(recent, assembly.clocks, assembly.resolver.origins)
        let queries = await list.latestMisses(Self.dumpedQueries)
        logger.notice("the latest queries that the cache did not answer: \(queries.count)")
        for query in queries { QueryLog.log(query, to: logger) }
    }

    /// Opens the control socket; only root may give it to any group.
    private func controlSocket() throws(StartError) -> ControlSocket {
        let settings = assembly.settings.control
        do throws(SocketError) {
            return try ControlSocket.open(
                path: settings.socket,
                mode: UInt32(settings.mode),
                group: settings.group
            )
        } catch {
            throw .control(settings.socket, error)
        }
    }

    /// Serves the control socket until the returned task is cancelled.
    private func startControl(at socket: ControlSocket) -> Task<Void, Never> {
        if let warning = socket.warning { logger.warning("\(warning)") }
        let handler = Operator(self)
        `operator` = handler
        let server = ControlServer(
            listener: socket.listener,
            dispatcher: ControlDispatcher(
                handler: handler,
                access: socket.access,
                logger: logger
            ),
            logger: logger
        )
        return ServiceLoop.task { [self] in
            do throws(SocketError) {
                try await server.run()
            } catch .cancelled, .closed {
                // The daemon is stopping.
            } catch {
                logger.error("control: \(error); httpdnsctl cannot reach the daemon any more")
            }
        }
    }

    // MARK: - Stopping

    /// Takes nothing new and waits for what is under way, but not for long.
    private func drain() async {
        isStopping = true
        ServiceManager.stopping()
        logger.notice("stopping")
        assembly.resolver.refreshing.stop()
        hosts.stop()
        stopVendors()
        accelerator.stop()
        reception.close()
        // What they have handed over last is under way, too.
        misses?.handleAll()
        starter?.join()
        let deadline = assembly.clocks.now() + Self.drainTime
        // At once, not afterwards: a vendor that is silent must not cost the cache.
        let keeping = ServiceLoop.task { [cacheFile, sweeping] in
            _ = await sweeping?.value
            await cacheFile?.finish(by: deadline)
        }
        await desk.drained(by: deadline)
        scrapePoints.stop()
        queryLog.use(false)
        reception.finish()
        await acceleration?.value
        await keeping.value
    }

    // MARK: - For the operator

    /// The parts whose state the control verbs show.
    var parts: Parts {
        Parts(
            assembly: assembly,
            desk: desk,
            reception: reception,
            network: network.numbers,
            accelerator: accelerator,
            cacheFile: cacheFile?.numbers,
            misses: misses,
            mergedOfFormerVendors: mergedOfFormerVendors,
            reloadProblem: life.reloadProblem
        )
    }
}
