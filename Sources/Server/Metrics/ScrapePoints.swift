// SPDX-License-Identifier: Apache-2.0
internal import Logging
internal import Net

/// The places where metrics are served.
///
/// As with `Reception`, a place is bound, then served, and closed when the settings name it no longer;
/// those that stay keep their sockets and clients.
@ServiceLoop
final class ScrapePoints {
    /// Places that are bound and not served yet; closed when it goes out of use.
    struct Bound {
        fileprivate var listeners: [(place: MetricsPlace, listener: StreamListener)] = []
    }

    private var servers: [MetricsServer] = []
    private let logger: Logger
    private let report: @ServiceLoop () -> MetricsReport

    /// Serves nowhere yet.
    ///
    /// - Parameter report: what is served, as it is now.
    init(logger: Logger, _ report: @escaping @ServiceLoop () -> MetricsReport) {
        self.logger = logger
        self.report = report
    }

    /// Binds those of the settings' places that are not bound.
    ///
    /// - Throws: `StartError.metrics`; then nothing is bound.
    func bind(_ settings: MetricsSettings) throws(StartError) -> Bound {
        var bound = Bound()
        for place in settings.listen where !servers.contains(where: { $0.place == place }) {
            do throws(SocketError) {
                let listener =
                    switch place {
                    case .address(let address): try StreamListener(binding: address)
                    case .path(let path): try socket(path, settings)
                    }
                bound.listeners.append((place, listener))
            } catch {
                throw .metrics("\(place)", error)
            }
        }
        return bound
    }

    /// Listens at a path, for those whom the settings let in.
    private func socket(
        _ path: String,
        _ settings: MetricsSettings
    ) throws(SocketError) -> StreamListener {
        let socket = try GroupSocket.open(
            "metrics",
            path: path,
            mode: UInt32(settings.mode),
            group: settings.group
        )
        if let warning = socket.warning { logger.warning("\(warning)") }
        return socket.listener
    }

    /// Serves at `bound` from now on, and no longer where the settings do not want it.
    func serve(_ bound: Bound, as settings: MetricsSettings) {
        for server in servers where !settings.listen.contains(server.place) {
            logger.notice("metrics: no longer served at \(server.place)")
            server.stop()
        }
        servers.removeAll { !settings.listen.contains($0.place) }
        for (place, listener) in bound.listeners {
            let server = MetricsServer(listener, at: place, logger: logger, report)
            let shown = server.address.map { "http://\($0)/metrics" } ?? "\(place)"
            logger.notice("metrics: served at \(shown)")
            servers.append(server)
            ServiceLoop.task { await server.run() }
        }
    }

    /// Serves nowhere any more.
    func stop() {
        for server in servers { server.stop() }
        servers = []
    }
}
