// SPDX-License-Identifier: Apache-2.0
import Control
package import Logging
package import Net

/// Server of the control socket; answers the calls of each client in order.
///
/// A client uses at most the memory of one call (64 KiB) and one reply. A client with pipelined
/// calls gets one answer per iteration of the service loop.
@ServiceLoop
package final class ControlServer {
    package struct Limits: Sendable {
        /// From 1 to 1024.
        package var connections = 16

        package var idle = Duration.seconds(60)
        package var arrival = Duration.seconds(5)
        package var departure = Duration.seconds(5)
        static let readOctets = 16 * 1024
    }

    private let listener: StreamListener
    private let dispatcher: ControlDispatcher
    private let limits: Limits
    private let logger: Logger
    private var tasks: [ObjectIdentifier: Task<Void, Never>] = [:]
    private var places: ControlPlaces
    var onDismissal: (@ServiceLoop () -> Void)?

    // MARK: - Making

    package init(
        listener: StreamListener,
        dispatcher: ControlDispatcher,
        logger: Logger,
        limits: Limits = Limits()
    ) {
        precondition((1...1024).contains(limits.connections), "1 to 1024 control connections")
        self.listener = listener
        self.dispatcher = dispatcher
        self.logger = logger
        self.limits = limits
        places = ControlPlaces(total: limits.connections)
    }

    // MARK: - Running

    package var clients: Int { tasks.count }

    /// Serves clients until the task is cancelled or the listener fails.
    ///
    /// - Throws: the listener's error; `cancelled` or `closed` after a regular end.
    package func run() async throws(SocketError) {
        let logger = logger
        listener.onPause = { error in
            logger.error(
                "control: cannot accept a connection: \(error); retrying",
                metadata: ["error": "\(error)"]
            )
        }
        defer { listener.close() }
        let end = await accept()
        let left = Array(tasks.values)
        for task in left { task.cancel() }
        for task in left { await task.value }
        throw end
    }

    private func accept() async -> SocketError {
        while true {
            do throws(SocketError) {
                let connection = try await listener.accept()
                guard let peer = admit(connection) else {
                    connection.close()
                    continue
                }
                // Starts an unstructured task, because the compiler (Swift 6.3) cannot check the
                // isolation of a group task on a global actor.
                tasks[ObjectIdentifier(connection)] = ServiceLoop.task {
                    await self.serve(connection, peer)
                    self.dismiss(connection, peer)
                }
            } catch {
                return error
            }
        }
    }

    private func admit(_ connection: StreamConnection) -> StreamConnection.Credentials? {
        let peer: StreamConnection.Credentials
        do throws(SocketError) {
            peer = try connection.peerCredentials
        } catch {
            logger.debug("control: cannot identify the client, closing the connection: \(error)")
            return nil
        }
        guard !places.connect(peer.uid) else { return peer }
        logger.warning(
            """
            control: refusing a connection of uid \(peer.uid): \(clients) of \(places.total) are \
            open, limit \(places.perUser) per user except root
            """,
            metadata: ["uid": "\(peer.uid)"]
        )
        return nil
    }

    private func dismiss(_ connection: StreamConnection, _ peer: StreamConnection.Credentials) {
        connection.close()
        tasks[ObjectIdentifier(connection)] = nil
        places.disconnect(peer.uid)
        onDismissal?()
    }

    // MARK: - One client

    private func serve(_ connection: StreamConnection, _ peer: StreamConnection.Credentials) async {
        do {
            try await answer(connection, from: peer)
        } catch let error as ProtocolError {
            logger.debug("control: \(error), closing the connection")
        } catch {
            logger.debug("control: connection of a client ended: \(error)")
        }
    }

    private func answer(
        _ connection: StreamConnection,
        from peer: StreamConnection.Credentials
    ) async throws {
        var decoder = MessageDecoder(maximumOctets: ControlLimits.callOctets)
        // Deadline of an incomplete call; further octets do not extend the deadline.
        var arrival: Instant?
        while true {
            while let message = try decoder.next() {
                arrival = nil
                let call = try await dispatcher.queue.run(for: peer.uid) {
                    try await offLoop { try Call(message: message) }
                }
                try await answer(call, from: peer, on: connection)
                await Task.yield()
                try Task.checkCancellation()
            }
            if decoder.isInsideMessage, arrival == nil { arrival = Clock.now + limits.arrival }
            let octets = try await connection.read(
                upTo: min(decoder.room, Limits.readOctets),
                deadline: arrival ?? Clock.now + limits.idle
            )
            guard !octets.isEmpty else { return }
            decoder.append(octets)
        }
    }

    private func answer(
        _ call: Call,
        from peer: StreamConnection.Credentials,
        on connection: StreamConnection
    ) async throws {
        // If the daemon was stopped or blocked, the socket can contain a call of a client that has
        // already disconnected.
        guard call.oneway || !connection.isGone else {
            throw Refusal(description: "the client disconnected before its call was executed")
        }
        let send: ControlDispatcher.Send = { [limits] message in
            guard self.places.beginReply(message.count) else {
                throw Refusal(description: "unsent replies of all clients take too much memory")
            }
            defer { self.places.endReply(message.count) }
            try await connection.write(message, deadline: Clock.now + limits.departure)
        }
        guard call.more, !call.oneway else {
            return try await dispatcher.answer(call, from: peer, send)
        }
        guard places.beginStream(peer.uid) else {
            let reason =
                "too many calls with `more` are in progress: at most \(places.streams) in total, "
                + "and \(places.streamsPerUser) for each user except root"
            try await send(try Reply(MethodError.failed(reason: reason)).message())
            // Closes this connection, to free its place for clients that need only one reply.
            throw Refusal(description: reason)
        }
        defer { places.endStream(peer.uid) }
        // A call that sends no reply for days does not detect that the client has disconnected.
        // Therefore, `whenGone` cancels the call.
        let work = ServiceLoop.throwingTask { [dispatcher] in
            try await dispatcher.answer(call, from: peer, send)
        }
        connection.whenGone { work.cancel() }
        try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            work.cancel()
        }
    }
}

private struct Refusal: Error, CustomStringConvertible {
    let description: String
}
