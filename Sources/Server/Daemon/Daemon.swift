// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import DNSWire
internal import Glibc
internal import HTTPDNS
package import Logging
package import Net
internal import Resolver

/// The daemon's life: bind, start, say so, answer until told to stop, drain.
@ServiceLoop
package final class Daemon {
    private let settings: Settings
    private let logger: Logger
    private let assembly: Assembly
    private let desk: QueryDesk

    let network: NetworkReaction
    private let hosts: HostsFiles

    /// Where the cache survives a restart; nil if it does not.
    private let cacheFile: CacheFile?

    private var listeners: [Listeners] = []
    private var workers: [UDPWorker] = []
    private var threads: [WorkerThread] = []
    private var servers: [TCPServer] = []
    private var misses: MissDesk?

    /// How long queries under way may take to end after SIGTERM.
    private static let drainTime: Duration = .seconds(2)

    /// Makes the daemon's parts; binds nothing yet.
    package convenience init(_ settings: Settings, logger: Logger) throws(StartError) {
        try self.init(settings, in: .system, logger: logger)
    }

    /// The same in surroundings that need not be the system's.
    init(_ settings: Settings, in surroundings: Surroundings, logger: Logger) throws(StartError) {
        self.settings = settings
        self.logger = logger
        assembly = try Assembly(settings, in: surroundings)
        assembly.reportUpstreams(to: logger)
        desk = QueryDesk(
            cache: assembly.cache,
            resolver: assembly.resolver,
            clocks: assembly.clocks,
            queryLog: settings.log.queries ? logger : nil
        )
        network = NetworkReaction(assembly, logger: logger)
        hosts = HostsFiles(settings.hosts, logger: logger) { [resolver = assembly.resolver] table in
            resolver.hosts = table
        }
        let path = settings.cache.snapshot.path(in: SettingsEnvironment.stateDirectory)
        cacheFile = path.map { [assembly] path in
            CacheFile(
                path,
                of: assembly.cache,
                assembly.resolver.origins,
                clocks: assembly.clocks,
                logger: logger
            )
        }
    }

    /// Runs until SIGTERM or SIGINT, and returns the exit code.
    package func run() async -> Int32 {
        let control: Task<Void, Never>
        let signals: AsyncStream<Int32>
        do throws(StartError) {
            signals = try Self.signals()
            try listen()
            // Nothing is answered before this, so nothing wrongly.
            await hosts.start()
            control = try startControl()
            try startWorkers()
        } catch {
            logger.critical("\(error)")
            return 1
        }
        for warning in settings.warnings { logger.warning("\(warning)") }
        prepareHTTP()
        startVendors()
        assembly.resolver.refreshing.start()
        network.start()
        startCacheFile()
        ServiceManager.ready(status: "answering on \(addresses)")
        let watchdog = ServiceLoop.task {
            // Ends by being cancelled only.
            try? await ServiceManager.feedWatchdog()
        }
        logger.notice("answering on \(addresses), version \(Product.version)")

        for await signal in signals {
            if signal == SIGTERM || signal == SIGINT { break }
            logger.warning("reload is not yet supported, keeping the old configuration")
        }
        await drain()
        watchdog.cancel()
        control.cancel()
        // Its end takes the socket's file away.
        await control.value
        return 0
    }

    private var addresses: String { listeners.map { "\($0.address)" }.joined(separator: ", ") }

    private static func signals() throws(StartError) -> AsyncStream<Int32> {
        do throws(SocketError) {
            return try ServiceLoop.signals([SIGTERM, SIGINT, SIGHUP])
        } catch {
            throw .system(error)
        }
    }

    // MARK: - Starting

    private var workersPerAddress: Int {
        switch settings.workers {
        case .automatic: WorkerThread.processors
        case .fixed(let count): count
        }
    }

    private func listen() throws(StartError) {
        for address in settings.listen {
            do throws(SocketError) {
                listeners.append(try Listeners(binding: address, workers: workersPerAddress))
            } catch {
                throw .listen(address, error)
            }
        }
    }

    private func startWorkers() throws(StartError) {
        do throws(SocketError) {
            let refreshing = assembly.resolver.refreshing
            let misses = try MissDesk(refresh: { refreshing.refresh($0) }) { [desk] miss in
                Self.answer(miss, at: desk)
            }
            self.misses = misses
            let jar = CookieJar(now: Clock.now)
            for listener in listeners {
                let cookies = listener.address.ip.isLoopback ? nil : jar
                start(
                    TCPServer(
                        listener.stream,
                        address: listener.address,
                        desk: desk,
                        access: assembly.access,
                        cookies: cookies,
                        clocks: assembly.clocks
                    )
                )
                for socket in listener.datagrams {
                    let worker = UDPWorker(
                        socket,
                        cache: assembly.cache,
                        access: assembly.access,
                        desk: misses,
                        cookies: cookies,
                        asksCache: !settings.log.queries
                    )
                    workers.append(worker)
                    threads.append(
                        try WorkerThread(named: "worker-\(threads.count)") { worker.run() }
                    )
                }
            }
        } catch {
            throw .system(error)
        }
    }

    /// Has libcurl loaded, unless nothing needs it: it takes milliseconds, in which others are
    /// answered already, and 4 MiB.
    private func prepareHTTP() {
        guard
            !assembly.vendors.isEmpty
                || settings.upstreams.contains(where: { $0.url.scheme == .https })
        else { return }
        do throws(SocketError) {
            threads.append(try WorkerThread(named: "http-start") { HTTPClient.prepare() })
        } catch {
            logger.debug("no thread for the start of libcurl: \(error), ignoring")
        }
    }

    /// Has the vendors ask for their servers, and log.
    private func startVendors() {
        for vendor in assembly.vendors {
            let log = VendorLog(vendor.settings.name, logger)
            vendor.client.observer = { log.log($0) }
            vendor.client.start()
        }
    }

    /// Has the cache of an earlier life loaded, and kept for a later one.
    private func startCacheFile() {
        cacheFile?.onLoad = { [assembly] hottest in
            assembly.resolver.refreshing.refresh(hottest: hottest)
        }
        cacheFile?.start(leavingOut: assembly.resolver.overridden)
    }

    private func start(_ server: TCPServer) {
        servers.append(server)
        ServiceLoop.task { [self] in
            do throws(SocketError) {
                try await server.run()
            } catch {
                logger.error("no more TCP clients on \(server.address): \(error)")
            }
        }
    }

    /// Answers a datagram that a worker could not.
    private static func answer(_ miss: Miss, at desk: QueryDesk) {
        let look = desk.look(at: miss.datagram.octets, from: miss.asker, arrival: miss.arrival)
        switch look {
        case .nothing:
            break
        case .reply(let reply):
            miss.listener.send(reply, inReplyTo: miss.datagram)
        case .question(let open):
            desk.resolve(open) { miss.listener.send($0, inReplyTo: miss.datagram) }
        }
    }

    private func startControl() throws(StartError) -> Task<Void, Never> {
        let socket: ControlSocket
        do throws(SocketError) {
            socket = try ControlSocket.open(
                path: settings.control.socket,
                mode: UInt32(settings.control.mode),
                group: settings.control.group
            )
        } catch {
            throw .control(settings.control.socket, error)
        }
        if let warning = socket.warning { logger.warning("\(warning)") }
        let server = ControlServer(
            listener: socket.listener,
            dispatcher: ControlDispatcher(
                handler: Operator(self),
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
        ServiceManager.stopping()
        logger.notice("stopping")
        assembly.resolver.refreshing.stop()
        hosts.stop()
        for vendor in assembly.vendors { vendor.client.stop() }
        for worker in workers { worker.stop() }
        for thread in threads { thread.join() }
        for server in servers { server.stop() }
        let deadline = assembly.clocks.now() + Self.drainTime
        // At once, not afterwards: a vendor that is silent must not cost the cache.
        let keeping = ServiceLoop.task { [cacheFile] in await cacheFile?.finish(by: deadline) }
        await desk.drained(by: deadline)
        for server in servers { server.finish() }
        await keeping.value
    }

    // MARK: - For the operator

    /// The parts whose state the control verbs show.
    var parts: Parts {
        Parts(
            settings: settings,
            assembly: assembly,
            desk: desk,
            network: network.numbers,
            cacheFile: cacheFile?.numbers,
            listeners: listeners,
            workers: workers,
            servers: servers,
            misses: misses
        )
    }

    /// What the control verbs look at.
    struct Parts {
        let settings: Settings
        let assembly: Assembly
        let desk: QueryDesk
        let network: NetworkReaction.Numbers
        let cacheFile: CacheFile.Numbers?
        let listeners: [Listeners]
        let workers: [UDPWorker]
        let servers: [TCPServer]
        let misses: MissDesk?

        /// What each thread answered last.
        var recent: [RecentQueries] { workers.map(\.recent) + [desk.recent] }
    }
}
