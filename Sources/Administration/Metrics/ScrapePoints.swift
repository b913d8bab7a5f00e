// SPDX-License-Identifier: Apache-2.0
package import Configuration
package import Logging
package import Net

/// Metrics servers of all configured addresses and paths.
///
/// A reload keeps unchanged listeners and their clients.
@ServiceLoop
package final class ScrapePoints {
    /// Listeners that are bound, but not served yet; closed when this value is released.
    package struct Bound {
        fileprivate var listeners: [(place: MetricsPlace, listener: StreamListener)] = []
    }

    private var servers: [MetricsServer] = []
    private let logger: Logger
    private let renderer: ScrapeRenderer

    package init(logger: Logger, _ report: @escaping @ServiceLoop () -> MetricsReport) {
        self.logger = logger
        renderer = ScrapeRenderer(report)
    }

    /// Binds all new listeners, or none if one fails.
    package func bind(_ settings: MetricsSettings) throws(MetricsListenError) -> Bound {
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
                throw MetricsListenError(place: place, error: error)
            }
        }
        return bound
    }

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

    /// Serves the bound listeners, and stops the servers of listeners that `settings` removed.
    package func serve(_ bound: Bound, as settings: MetricsSettings) {
        for server in servers where !settings.listen.contains(server.place) {
            logger.notice("metrics: no longer served at \(server.place)")
            server.stop()
        }
        servers.removeAll { !settings.listen.contains($0.place) }
        for (place, listener) in bound.listeners {
            let server = MetricsServer(listener, at: place, logger: logger, renderer)
            let shown = server.address.map { "http://\($0)/metrics" } ?? "\(place)"
            logger.notice("metrics: served at \(shown)")
            servers.append(server)
            ServiceLoop.task { await server.run() }
        }
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
