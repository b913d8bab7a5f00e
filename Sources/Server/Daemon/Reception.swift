// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Logging
internal import Net

/// The addresses that are listened on, and who serves them.
///
/// An address is bound, then served, and when the settings name it no longer closed; those that stay
/// keep their sockets, and what waits in them.
@ServiceLoop
final class Reception {
    /// One address.
    struct Place {
        /// The address as the settings have it, which may leave the port to the system.
        let wanted: SocketAddress
        let listeners: Listeners
        var workers: [UDPWorker] = []
        var threads: [WorkerThread] = []
        var server: TCPServer?
    }

    /// Addresses that are bound and not served yet; closed when it goes out of use.
    struct Bound {
        fileprivate var places: [Place] = []
    }

    /// Whom they are served by.
    struct Staff {
        let assembly: Assembly
        let desk: QueryDesk
        let misses: MissDesk

        /// What the daemon asks itself.
        let own: OwnQuery
    }

    private var places: [Place] = []

    /// What systemd has passed and is not bound yet.
    private var passed: [PassedSocket] = []

    /// UDP sockets that an address has: the kernel spreads clients over all that there are, so their
    /// number stays.
    private let workersPerAddress: Int
    private let rules: HouseRules
    private let logger: Logger

    /// The secrets of clients' cookies; on loopback an address proves itself.
    private let jar = CookieJar(now: Clock.now)

    /// What clients beyond this machine have asked; for their listeners only.
    private lazy var limit = RateLimit(now: Clock.now)

    /// Threads started so far, for their names.
    private var started = 0

    /// What was counted at addresses that were closed.
    private(set) var closed = Closed()

    /// Counters of workers that are gone.
    struct Closed {
        var queries = QuerySums()
        var hits = LatencySum()
    }

    /// A reception that listens nowhere.
    init(_ settings: Settings, logger: Logger) {
        workersPerAddress =
            switch settings.workers {
            case .automatic: WorkerThread.processors
            case .fixed(let count): count
            }
        rules = HouseRules(HouseRules.Edition(settings))
        self.logger = logger
    }

    var listeners: [Listeners] { places.map(\.listeners) }
    var workers: [UDPWorker] { places.flatMap(\.workers) }
    var servers: [TCPServer] { places.compactMap(\.server) }

    /// Where queries are answered, for people.
    var addresses: String { listeners.map { "\($0.address)" }.joined(separator: ", ") }

    // MARK: - Opening

    /// Takes over what systemd has passed, once, before anything is bound.
    ///
    /// - Throws: `StartError.passed`.
    func takePassed() throws(StartError) {
        do throws(SocketError) {
            passed = try ServiceManager.sockets()
        } catch {
            throw .passed(error)
        }
    }

    /// Binds those of `addresses` that are not bound, and takes what systemd has passed.
    ///
    /// What it has passed is served even if the settings do not name it: the socket unit is the
    /// administrator's word as well, and a socket that nobody reads would swallow queries, as
    /// clients would wait rather than ask another server.  `allow` holds there, too.
    ///
    /// - Parameter settings: whose `listen` is bound.  Of the default addresses, those that this machine
    ///   does not have are left out, as long as one is left; and if systemd has passed some, those
    ///   that it has not passed and this process may not bind.
    /// - Throws: `StartError.listen` or those about addresses that exclude each other; then nothing
    ///   is bound.
    func bind(_ settings: Settings) throws(StartError) -> Bound {
        var wanted = settings.listen
        for address in passed.map(\.address) where !wanted.contains(address) {
            logger.notice("serving \(address), which a socket unit names and `listen` does not")
            wanted.append(address)
        }
        var bound = Bound()
        var missing: StartError?
        for address in wanted where !places.contains(where: { $0.wanted == address }) {
            do throws(StartError) {
                bound.places.append(Place(wanted: address, listeners: try listeners(at: address)))
            } catch {
                guard settings.listenMark.isDefault, case .listen(_, let fault) = error,
                    fault.isAddressMissing || fault.isForbidden && !passed.isEmpty
                else { throw error }
                logger.warning("not listening on \(address): \(fault), ignoring")
                missing = error
            }
        }
        if let missing, bound.places.isEmpty, places.isEmpty { throw missing }
        passed = []
        return bound
    }

    /// The sockets of one address: what systemd has passed, and our own for the rest.
    private func listeners(at address: SocketAddress) throws(StartError) -> Listeners {
        let own = passed.filter { $0.address == address }
        do throws(SocketError) {
            return own.isEmpty
                ? try Listeners(binding: address, workers: workersPerAddress)
                : try Listeners(adopting: own, at: address, workers: workersPerAddress)
        } catch {
            guard error.isAddressInUse, address.port != 0 else { throw .listen(address, error) }
            // A wildcard and an address of the machine exclude each other.
            let rivals = (passed.map(\.address) + listeners.filter(\.isPassed).map(\.address))
                .filter { $0.port == address.port && $0 != address }
            // UDP and TCP each have one.
            let distinct = rivals.reduce(into: [SocketAddress]()) {
                if !$0.contains($1) { $0.append($1) }
            }
            guard distinct.isEmpty else { throw .passedElsewhere(address, distinct) }
            if let ours = listeners.first(where: { $0.address.port == address.port }) {
                throw .listenBeside(address, ours.address)
            }
            throw .listen(address, error)
        }
    }

    /// Answers at these addresses from now on.
    ///
    /// - Throws: `StartError.system` if there can be no more threads; then they are closed.
    func serve(_ bound: Bound, by staff: Staff) throws(StartError) {
        var opened: [Place] = []
        for place in bound.places {
            var place = place
            do throws(SocketError) {
                try start(&place, staff)
                opened.append(place)
            } catch {
                for place in opened + [place] { end(place) }
                throw .system(error)
            }
        }
        places += opened
        for server in opened.compactMap(\.server) { run(server) }
    }

    private func start(_ place: inout Place, _ staff: Staff) throws(SocketError) {
        let address = place.listeners.address
        let cookies = address.ip.isLoopback ? nil : jar
        let limit = address.ip.isLoopback ? nil : limit
        place.server = TCPServer(
            place.listeners.stream,
            address: address,
            desk: staff.desk,
            rules: rules,
            cookies: cookies,
            clocks: staff.assembly.clocks
        )
        for socket in place.listeners.datagrams {
            let worker = UDPWorker(
                socket,
                cache: staff.assembly.cache,
                rules: rules,
                desk: staff.misses,
                cookies: cookies,
                limit: limit,
                own: staff.own
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
                logger.error("no more TCP clients on \(server.address): \(error)")
            }
        }
    }

    // MARK: - Changing

    /// Goes by what these settings say of who may ask, and closes the addresses they do not name.
    ///
    /// - Returns: the servers of those addresses, whose clients have to be told to go sometime.
    func go(by settings: Settings) -> [TCPServer] {
        rules.issue(HouseRules.Edition(settings))
        for server in servers { server.rulesChanged() }
        let isWanted = { settings.listen.contains($0) }
        let gone = places.filter { !isWanted($0.wanted) && !$0.listeners.isPassed }
        // In the order of the settings, as after a restart.
        let unnamed = places.filter { !isWanted($0.wanted) && $0.listeners.isPassed }
        places =
            settings.listen.compactMap { address in places.first { $0.wanted == address } }
            + unnamed
        for place in gone {
            logger.notice("no longer answering on \(place.listeners.address)")
            end(place)
        }
        return gone.compactMap(\.server)
    }

    // MARK: - Closing

    /// Takes no more queries and no more clients.
    func close() {
        for worker in workers { worker.stop() }
        for thread in places.flatMap(\.threads) { thread.joinInterrupting() }
        for server in servers { server.stop() }
    }

    /// Cuts all TCP clients off.
    func finish() {
        for server in servers { server.finish() }
    }

    /// Ends an address, all but the TCP clients that it has.
    private func end(_ place: Place) {
        for worker in place.workers { worker.stop() }
        for thread in place.threads { thread.joinInterrupting() }
        for worker in place.workers {
            worker.counters.add(to: &closed.queries)
            worker.counters.hitLatency.add(to: &closed.hits)
        }
        place.server?.stop()
    }
}

extension HouseRules.Edition {
    /// What the settings say of who may ask.
    fileprivate init(_ settings: Settings) {
        self.init(
            access: AccessList(settings.allow),
            queriesPerSecond: settings.rateLimit?.queriesPerSecond
        )
    }
}
