// SPDX-License-Identifier: Apache-2.0
package import Configuration
package import Logging
package import Net

/// Metrics servers of all configured places; a place is an address or the path of a Unix socket.
///
/// A reload keeps unchanged listeners and their clients.
@ServiceLoop
package final class ScrapePoints {
    /// Listeners that are bound, but not served yet; closed when this value is released.
    package struct Bound {
        fileprivate var listeners: [(address: SocketAddress, listener: StreamListener)] = []
        fileprivate var sockets: [(path: String, socket: GroupSocket)] = []

        /// Addresses that cannot be bound before their interface exists.
        fileprivate var waiting: [SocketAddress] = []

        package fileprivate(set) var errors: [MetricsListenError] = []
    }

    private var servers: [MetricsServer] = []

    private var errors: [MetricsListenError] = []

    private var waiting: [SocketAddress] = []

    private let logger: Logger
    private let renderer: ScrapeRenderer

    package init(logger: Logger, _ report: @escaping @ServiceLoop () -> MetricsReport) {
        self.logger = logger
        renderer = ScrapeRenderer(report)
    }

    /// Problems for the verb `status`: places not served, and addresses that no interface has.
    package var problems: [String] {
        let isLocal = SettingsEnvironment.process.isLocal
        let lost = servers.compactMap { server in
            server.fault.map { MetricsListenError(place: server.place, error: $0) }
        }
        let absent = servers.map(\.listener)
            .filter { $0.localAddress.map { !$0.isUnspecified && !isLocal($0) } ?? false }
            .compactMap(\.address)
        return (errors + lost).map(\.description)
            + (absent + waiting).map { "metrics: no interface has the address \($0)" }
    }

    /// Binds the places that are not served yet, including addresses that no interface has yet.
    package func bind(_ settings: MetricsSettings) -> Bound {
        var bound = Bound()
        for place in settings.listen where !servers.contains(where: { $0.place == place }) {
            do throws(SocketError) {
                switch place {
                case .address(let address): try bind(address, &bound)
                case .path(let path): bound.sockets.append((path, try socket(path, settings)))
                }
            } catch {
                bound.errors.append(MetricsListenError(place: place, error: error))
            }
        }
        return bound
    }

    /// Returns the first error in `bound` for a place that had no error before this bind.
    package func firstNewError(in bound: Bound) -> MetricsListenError? {
        bound.errors.first { new in !errors.contains { $0.place == new.place } }
    }

    /// Returns the errors that a reload would get when it binds the new places of the settings.
    ///
    /// Binds a socket to each new address for this test. For a Unix socket, checks only the path,
    /// because a bind would create a file.
    package func faults(binding settings: MetricsSettings) -> [MetricsListenError] {
        var listeners: [StreamListener] = []
        return settings.listen.compactMap { place in
            guard !servers.contains(where: { $0.place == place }),
                !errors.contains(where: { $0.place == place })
            else { return nil }
            do throws(SocketError) {
                switch place {
                case .address(let address): listeners.append(try StreamListener(binding: address))
                case .path(let path): try StreamListener.check(unixPath: path)
                }
            } catch {
                guard !error.isAddressMissing else { return nil }
                return MetricsListenError(place: place, error: error)
            }
            return nil
        }
    }

    private func bind(_ address: SocketAddress, _ bound: inout Bound) throws(SocketError) {
        do throws(SocketError) {
            bound.listeners.append((address, try StreamListener(binding: address)))
        } catch  where error.isAddressMissing {
            do throws(SocketError) {
                let listener = try StreamListener(binding: address, isAbsent: true)
                bound.listeners.append((address, listener))
            } catch  where error.isInterfaceMissing {
                bound.waiting.append(address)
                if waiting.contains(address) { return }
            }
            logger.warning(
                """
                metrics: no interface has the address \(address), serving metrics when an \
                interface gets the address
                """,
                metadata: ["listener": "\(address)"]
            )
        }
    }

    private func socket(
        _ path: String,
        _ settings: MetricsSettings
    ) throws(SocketError) -> GroupSocket {
        try GroupSocket.open(
            "metrics",
            path: path,
            mode: UInt32(settings.mode),
            group: settings.group
        )
    }

    /// Serves `bound`, and stops the servers at places that `settings` does not contain.
    package func serve(_ bound: Bound, as settings: MetricsSettings) {
        for server in servers where !settings.listen.contains(server.place) {
            logger.notice("metrics: no longer served at \(server.place)")
            server.stop()
        }
        servers.removeAll { !settings.listen.contains($0.place) }
        errors = bound.errors
        for error in errors {
            logger.error(
                "\(error), continuing without this address",
                metadata: ["listener": "\(error.place)"]
            )
        }
        waiting = bound.waiting
        start(bound, settings)
    }

    private func start(_ bound: Bound, _ settings: MetricsSettings) {
        for (address, listener) in bound.listeners {
            let server = server(listener, at: .address(address))
            logger.notice("metrics: served at http://\(listener.address ?? address)/metrics")
            ServiceLoop.task { await server.run() }
        }
        for (path, first) in bound.sockets {
            let server = server(first.listener, at: .path(path))
            logger.notice("metrics: served at \(path)")
            let place = ReopenedSocket(
                "metrics",
                path: path,
                logger: logger,
                open: { [self] () throws(SocketError) in try socket(path, settings) },
                failed: { [logger] error in
                    server.fault = error
                    let complaint = MetricsListenError(place: server.place, error: error)
                    logger.error(
                        "\(complaint); the daemon retries every 30 s",
                        metadata: ["listener": "\(path)"]
                    )
                }
            )
            server.reopening = ServiceLoop.task {
                await place.serve(first) { socket throws(SocketError) in
                    try await server.serve(socket.listener)
                }
            }
        }
    }

    private func server(_ listener: StreamListener, at place: MetricsPlace) -> MetricsServer {
        let server = MetricsServer(listener, at: place, logger: logger, renderer)
        servers.append(server)
        return server
    }

    /// Binds an address again if its interface was created after the latest bind.
    package func interfacesChanged(_ settings: MetricsSettings) {
        let isLost: (MetricsServer) -> Bool = { $0.address != nil && !$0.listener.isInPlace }
        for server in servers where isLost(server) {
            guard case .address(let address) = server.place else { continue }
            logger.warning(
                """
                metrics: the interface of \(address) was deleted, serving metrics when it exists \
                again
                """,
                metadata: ["listener": "\(address)"]
            )
            server.stop()
            waiting.append(address)
        }
        servers.removeAll(where: isLost)
        var bound = Bound()
        for address in waiting {
            do throws(SocketError) {
                try bind(address, &bound)
            } catch {
                bound.waiting.append(address)
                let complaint = MetricsListenError(place: .address(address), error: error)
                logger.error(
                    "\(complaint); the daemon tries again when an interface changes",
                    metadata: ["listener": "\(address)"]
                )
            }
        }
        waiting = bound.waiting
        start(bound, settings)
    }

    package func stop() {
        for server in servers { server.stop() }
        servers = []
    }
}

package struct MetricsListenError: Error, CustomStringConvertible {
    fileprivate let place: MetricsPlace
    fileprivate let error: SocketError

    package var description: String {
        "cannot serve metrics at \(place): "
            + (error.isAddressInUse ? "address already in use" : "\(error)")
    }
}
