// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import DNSWire
internal import Frontend
internal import Logging
internal import Net

/// Listeners of all addresses; a reload keeps unchanged listeners.
@ServiceLoop
final class ListenerManager {
    struct Place {
        /// Possibly with port 0.
        let wanted: SocketAddress
        let listeners: Listeners

        var isAbsent = false

        var workers: [UDPWorker] = []
        var threads: [WorkerThread] = []
        var server: TCPServer?
    }

    /// Bound addresses without workers; closed when the value is released.
    struct Bound {
        fileprivate var places: [Place] = []

        /// Addresses that cannot be bound before their interface exists.
        fileprivate var waiting: [SocketAddress] = []

        fileprivate(set) var warnings: [String] = []
    }

    struct Handlers {
        let components: Components
        let handler: QueryHandler
        let misses: MissQueue
        let own: OwnQuery
    }

    private var places: [Place] = []

    private var waiting: [SocketAddress] = []

    private(set) var passed: [PassedSocket] = []

    /// A reload keeps the number of sockets: otherwise, the kernel would assign clients to other
    /// sockets.
    private let workersPerAddress: Int
    private let rules: AccessPolicy
    private let logger: Logger

    private let jar = CookieJar(now: Clock.now)

    private lazy var limit = RateLimit(now: Clock.now)

    private var started = 0
    private(set) var closed = (queries: QuerySums(), hits: LatencySum())

    init(_ settings: Settings, logger: Logger) {
        workersPerAddress = settings.workers ?? WorkerThread.processors
        rules = AccessPolicy(AccessPolicy.Snapshot(settings))
        self.logger = logger
    }

    var listeners: [Listeners] { places.map(\.listeners) }
    var workers: [UDPWorker] { places.flatMap(\.workers) }
    var servers: [TCPServer] { places.compactMap(\.server) }
    var addresses: String {
        (listeners.map(\.address) + waiting).map(\.description).joined(separator: ", ")
    }

    var problems: [String] { waiting.map { "listener \($0): no interface has this address" } }

    // MARK: - Opening

    /// Must be called once, before `bind`.
    func takePassed() throws(StartError) {
        do throws(SocketError) {
            passed = try ServiceManager.sockets()
        } catch {
            throw .passed(error)
        }
    }

    /// Binds new addresses of the settings, and adopts the sockets from systemd.
    ///
    /// - A passed socket is served even if its address is not in `listen`.
    /// - If no file sets `listen`, a default address that the machine lacks is skipped.
    /// - If systemd passed sockets, a default address that is in use or not permitted is skipped,
    ///   even if a file sets `listen`: its socket unit has probably failed.
    /// - If every address would be skipped, this function throws instead.
    /// - An address in `listen` is bound even if the machine lacks this address. If its interface
    ///   does not exist, the address is bound when the interface exists
    ///   (``interfacesChanged(_:)``).
    ///
    /// - Throws: `StartError.listen`, `.listenBeside` or `.passedElsewhere`; then nothing is bound.
    func bind(_ settings: Settings) throws(StartError) -> Bound {
        var wanted = settings.listen
        for address in passed.map(\.address) where !wanted.contains(where: address.isSame) {
            logger.notice("serving \(address), which is in the socket unit but not in `listen`")
            wanted.append(address)
        }
        if let text = settings.refusal(at: passed.map(\.address)) { logger.warning("\(text)") }
        var bound = Bound()
        var missing: StartError?
        let new = self.new(wanted)
        let workers = SettingsLimits.workers(
            workersPerAddress,
            forEachOf: new.count,
            besides: remaining(settings).reduce(0) { $0 + $1.workers.count }
        )
        for address in new {
            do throws(StartError) {
                let place = try place(at: address, workers: workers, settings)
                if place.isAbsent { logAbsence(of: address) }
                bound.places.append(place)
            } catch  where error.isInterfaceMissing {
                if !waiting.contains(address) { logAbsence(of: address) }
                bound.waiting.append(address)
            } catch {
                guard let fault = ignorable(error, settings) else { throw error }
                if !fault.isAddressMissing || places.isEmpty {
                    bound.warnings.append(warning(of: fault, at: address))
                }
                missing = error
            }
        }
        if let missing, bound.places.isEmpty, remaining(settings).isEmpty { throw missing }
        passed = []
        return bound
    }

    /// Returns the errors and warnings of a reload; binds the new addresses, and closes them again.
    func faults(binding settings: Settings) -> (errors: [StartError], warnings: [String]) {
        var bound = Bound()
        var errors: [StartError] = []
        let workers = min(workersPerAddress, 2)
        var missing: StartError?
        for address in new(settings.listen) {
            do throws(StartError) {
                bound.places.append(try place(at: address, workers: workers, settings))
            } catch  where error.isInterfaceMissing {
            } catch {
                guard let fault = ignorable(error, settings) else {
                    errors.append(error)
                    continue
                }
                if !fault.isAddressMissing {
                    bound.warnings.append(warning(of: fault, at: address))
                }
                missing = error
            }
        }
        if let missing, bound.places.isEmpty, remaining(settings).isEmpty { errors.append(missing) }
        return (errors, bound.warnings)
    }

    private func new(_ wanted: [SocketAddress]) -> [SocketAddress] {
        wanted.filter { address in !places.contains { $0.wanted.isSame(as: address) } }
    }

    private func place(
        at address: SocketAddress,
        workers: Int,
        _ settings: Settings
    ) throws(StartError) -> Place {
        let own = passed.filter { $0.address.isSame(as: address) }
        do throws(SocketError) {
            guard own.isEmpty else {
                let own = try Listeners(adopting: own, at: address, workers: workers)
                return Place(wanted: address, listeners: own)
            }
            do throws(SocketError) {
                let new = try Listeners(binding: address, workers: workers)
                return Place(wanted: address, listeners: new)
            } catch  where error.isAddressMissing && !settings.listenMark.isDefault {
                let absent = try Listeners(binding: address, workers: workers, isAbsent: true)
                return Place(wanted: address, listeners: absent, isAbsent: true)
            }
        } catch {
            guard error.isAddressInUse, address.port != 0 else { throw .listen(address, error) }
            let rivals = (passed.map(\.address) + listeners.filter(\.isPassed).map(\.address))
                .filter { $0 != address && address.overlaps($0) }
            let distinct = rivals.reduce(into: [SocketAddress]()) {
                if !$0.contains($1) { $0.append($1) }
            }
            guard distinct.isEmpty else { throw .passedElsewhere(address, distinct) }
            if let ours = listeners.first(where: { address.overlaps($0.address) }) {
                throw .listenBeside(address, ours.address)
            }
            throw .listen(address, error)
        }
    }

    private func logAbsence(of address: SocketAddress) {
        logger.warning(
            """
            listener \(address): no interface has this address, answering when an interface gets \
            the address
            """,
            metadata: ["listener": "\(address)"]
        )
    }

    func networkChanged() {
        for index in places.indices where places[index].isAbsent {
            let address = places[index].wanted
            guard SettingsEnvironment.process.isLocal(address) else { continue }
            places[index].isAbsent = false
            logger.notice("listener \(address): an interface has the address now, answering")
        }
    }

    func serve(_ bound: Bound, by handlers: Handlers) throws(StartError) {
        guard !bound.places.isEmpty else { return waiting = bound.waiting }
        let recentCapacity = RecentQueries.capacity(
            for: bound.places.reduce(0) { $0 + $1.listeners.datagrams.count },
            besides: remaining(handlers.components.settings).flatMap(\.workers)
                .reduce(0) { $0 + $1.recent.capacity }
        )
        var opened: [Place] = []
        for place in bound.places {
            var place = place
            do throws(SocketError) {
                try start(&place, handlers, recentCapacity)
                opened.append(place)
            } catch {
                for place in opened + [place] { end(place) }
                throw .workers(error)
            }
        }
        places += opened
        waiting = bound.waiting
        for server in opened.compactMap(\.server) { run(server) }
    }

    private func start(
        _ place: inout Place,
        _ handlers: Handlers,
        _ recentCapacity: Int
    ) throws(SocketError) {
        let address = place.listeners.address
        let cookies = address.ip.isLoopback ? nil : jar
        let limit = address.ip.isLoopback ? nil : limit
        place.server = TCPServer(
            place.listeners.stream,
            address: address,
            handler: handlers.handler,
            rules: rules,
            cookies: cookies,
            clocks: handlers.components.clocks
        )
        for socket in place.listeners.datagrams {
            let worker = UDPWorker(
                socket,
                cache: handlers.components.cache,
                rules: rules,
                queue: handlers.misses,
                cookies: cookies,
                limit: limit,
                own: handlers.own,
                recent: RecentQueries(capacity: recentCapacity)
            )
            place.threads.append(try WorkerThread(named: "worker-\(started)") { worker.run() })
            place.workers.append(worker)
            started += 1
        }
    }

    private func run(_ server: TCPServer) {
        ServiceLoop.task { [logger] in
            do throws(SocketError) {
                try await server.run()
            } catch {
                logger.error("stopped accepting TCP clients on \(server.address): \(error)")
            }
        }
    }

    // MARK: - Interfaces

    /// Binds an address again if its interface was created after the latest bind.
    func interfacesChanged(_ handlers: Handlers) {
        let settings = handlers.components.settings
        let lost = places.filter { !$0.listeners.isPassed && !$0.listeners.stream.isInPlace }
        places.removeAll { place in lost.contains { $0.wanted == place.wanted } }
        for place in lost {
            let address = place.wanted
            logger.warning(
                "listener \(address): the interface was deleted; waiting until it exists again",
                metadata: ["listener": "\(address)"]
            )
            end(place)
            place.server?.finish()
        }
        waiting += lost.map(\.wanted)
        for address in waiting {
            do throws(StartError) {
                let workers = SettingsLimits.workers(
                    workersPerAddress,
                    forEachOf: 1,
                    besides: self.workers.count
                )
                let place = try place(at: address, workers: workers, settings)
                let others = waiting.filter { $0 != address }
                try serve(Bound(places: [place], waiting: others), by: handlers)
                logger.notice("listener \(address): the interface exists now, answering")
            } catch  where error.isInterfaceMissing {
            } catch {
                logger.error(
                    "\(error); the daemon tries again when an interface changes",
                    metadata: ["listener": "\(address)"]
                )
            }
        }
        places = sorted(places, settings)
    }

    // MARK: - Changing

    /// Applies the access policy, and closes removed addresses, except systemd's sockets.
    ///
    /// - Returns: TCP servers of closed addresses; the caller later ends their connections.
    func go(by settings: Settings) -> [TCPServer] {
        rules.issue(AccessPolicy.Snapshot(settings))
        for server in servers { server.rulesChanged() }
        let gone = places.filter { !remains($0, settings) }
        places = sorted(remaining(settings), settings)
        for place in gone {
            logger.notice("no longer answering on \(place.listeners.address)")
            end(place)
        }
        return gone.compactMap(\.server)
    }

    private func sorted(_ places: [Place], _ settings: Settings) -> [Place] {
        settings.listen.compactMap { address in places.first { $0.wanted.isSame(as: address) } }
            + places.filter { !settings.listen.contains(where: $0.wanted.isSame) }
    }

    private func remains(_ place: Place, _ settings: Settings) -> Bool {
        settings.listen.contains(where: place.wanted.isSame) || place.listeners.isPassed
    }

    private func remaining(_ settings: Settings) -> [Place] {
        places.filter { remains($0, settings) }
    }

    // MARK: - Closing

    func close() {
        for worker in workers { worker.stop() }
        for thread in places.flatMap(\.threads) { thread.joinInterrupting() }
        for server in servers { server.stop() }
    }

    /// Ends the TCP sessions, and releases the addresses.
    ///
    /// If the disk does not respond, the process continues after its service has ended. The kernel
    /// would then still distribute datagrams to open sockets.
    func finish() {
        for server in servers { server.finish() }
        DatagramListener.flush()
        for socket in places.flatMap(\.listeners.datagrams) { socket.close() }
    }

    private func end(_ place: Place) {
        for worker in place.workers { worker.stop() }
        for thread in place.threads { thread.joinInterrupting() }
        for worker in place.workers {
            worker.counters.add(to: &closed.queries)
            worker.counters.hitLatency.add(to: &closed.hits)
        }
        for socket in place.listeners.datagrams { socket.close() }
        place.server?.stop()
    }
}

extension AccessPolicy.Snapshot {
    fileprivate init(_ settings: Settings) {
        self.init(
            access: AccessList(settings.allow),
            queriesPerSecond: settings.rateLimit?.queriesPerSecond
        )
    }
}
