// SPDX-License-Identifier: Apache-2.0
package import Logging
package import Net

/// Unix socket that is opened again after its file was removed or replaced.
@ServiceLoop
package struct ReopenedSocket {
    private let name: String
    private let path: String
    private let logger: Logger
    private let open: @ServiceLoop () throws(SocketError) -> GroupSocket
    private let failed: @ServiceLoop (SocketError) -> Void

    /// - Parameter failed: receives the error if `open` throws; `open` is called again 1 s to 30 s
    ///   later.
    package init(
        _ name: String,
        path: String,
        logger: Logger,
        open: @escaping @ServiceLoop () throws(SocketError) -> GroupSocket,
        failed: @escaping @ServiceLoop (SocketError) -> Void
    ) {
        self.name = name
        self.path = path
        self.logger = logger
        self.open = open
        self.failed = failed
    }

    /// Serves `first`, then each socket that is opened again, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - first: open socket; nil if the first attempt to open the socket has failed.
    ///   - server: accepts the connections, until the listener is closed.
    package func serve(
        _ first: GroupSocket?,
        by server: @ServiceLoop (GroupSocket) async throws(SocketError) -> Void
    ) async {
        var next = first
        if first == nil { next = await reopened(after: .seconds(1)) }
        while let socket = next {
            if let warning = socket.warning { logger.warning("\(warning)") }
            let check: @ServiceLoop () -> Void = {
                if !socket.listener.isInPlace { socket.listener.close() }
            }
            let watch = FileWatch(path, check)
            check()
            do throws(SocketError) {
                try await server(socket)
                return
            } catch .closed where !Task.isCancelled {
                logger.warning(
                    "\(name): \(path) was removed, opening it again",
                    metadata: ["socket": "\(path)"]
                )
            } catch .cancelled, .closed {
                return
            } catch {
                logger.error(
                    "\(name): \(error), opening \(path) again",
                    metadata: ["socket": "\(path)"]
                )
            }
            withExtendedLifetime(watch) {}
            next = await reopened()
        }
    }

    /// Returns nil if the task is cancelled.
    private func reopened(after first: Duration = .zero) async -> GroupSocket? {
        var pause = first
        while !Task.isCancelled {
            do throws(CancellationError) {
                try await Clocks.system.sleep(Clock.now + pause)
            } catch {
                return nil
            }
            do throws(SocketError) {
                return try open()
            } catch {
                failed(error)
            }
            pause = min(max(pause * 2, .seconds(1)), .seconds(30))
        }
        return nil
    }
}
