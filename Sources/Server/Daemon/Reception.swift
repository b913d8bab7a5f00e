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
    }

    private var places: [Place] = []

    /// UDP sockets that an address has: the kernel spreads clients over all that there are, so their
    /// number stays.
    private let workersPerAddress: Int
    private let rules: HouseRules
    private let logger: Logger

    /// The secrets of clients' cookies; on loopback an address proves itself.
    private let jar = CookieJar(now: Clock.now)

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

    /// Binds those of `addresses` that are not bound.
    ///
    /// - Throws: `StartError.listen` or `.listenBeside`; then nothing is bound.
    func bind(_ addresses: [SocketAddress]) throws(StartError) -> Bound {
        var bound = Bound()
        for address in addresses where !places.contains(where: { $0.wanted == address }) {
            do throws(SocketError) {
                let listeners = try Listeners(binding: address, workers: workersPerAddress)
                bound.places.append(Place(wanted: address, listeners: listeners))
            } catch {
                // A wildcard and an address of the machine exclude each other.
                let own = listeners.first { $0.address.port == address.port }
                if error.isAddressInUse, address.port != 0, let own {
                    throw .listenBeside(address, own.address)
                }
                throw .listen(address, error)
            }
        }
        return bound
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
                cookies: cookies
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
        let gone = places.filter { !settings.listen.contains($0.wanted) }
        // In the order of the settings, as after a restart.
        places = settings.listen.compactMap { address in
            places.first { $0.wanted == address }
        }
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
        for thread in places.flatMap(\.threads) { thread.join() }
        for server in servers { server.stop() }
    }

    /// Cuts all TCP clients off.
    func finish() {
        for server in servers { server.finish() }
    }

    /// Ends an address, all but the TCP clients that it has.
    private func end(_ place: Place) {
        for worker in place.workers { worker.stop() }
        for thread in place.threads { thread.join() }
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
        // A worker never logs, so with a log of queries all go to the service loop.
        self.init(access: AccessList(settings.allow), asksCache: !settings.log.queries)
    }
}
