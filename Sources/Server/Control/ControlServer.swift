// SPDX-License-Identifier: Apache-2.0
import Control
package import Logging
package import Net

/// The control socket: accepts clients, and answers each in the order of its calls.
///
/// A client costs at most one call's octets (64 KiB) and one reply.  One that is slow, silent or
/// does not read is cut off by a deadline; one that sends calls without pause gets one answer for
/// each turn of the loop, which goes to everybody else in between.  `ControlPlaces` bounds what all
/// clients and each user can hold.
@ServiceLoop
package final class ControlServer {
    /// What clients may use up.
    package struct Limits: Sendable {
        /// Clients at the same time; 1 to 1024.
        package var connections = 16

        /// How long a client may be silent between calls.
        package var idle = Duration.seconds(60)

        /// How long a call may take to arrive, from its first octet to its last.
        package var arrival = Duration.seconds(5)

        /// How long a client may take to accept a reply.
        package var departure = Duration.seconds(5)

        /// The octets taken by one read.
        static let readOctets = 16 * 1024

        /// Makes the limits of the daemon.
        package init() {}
    }

    /// Where clients connect.
    private let listener: StreamListener

    /// Who answers.
    private let dispatcher: ControlDispatcher

    /// What clients may use up.
    private let limits: Limits

    /// Where refused and misbehaving clients are told of.
    private let logger: Logger

    /// The clients, by their connection; at most `limits.connections`.
    private var tasks: [ObjectIdentifier: Task<Void, Never>] = [:]

    /// Places that the clients have taken.
    private var places: ControlPlaces

    /// Told when a client has been counted out.
    var onDismissal: (@ServiceLoop () -> Void)?

    /// Whether it was told that there are too many clients, since there last were fewer.
    private var toldFull = false

    // MARK: - Making

    /// Makes a server that does nothing until it is run.
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

    /// How many clients there are now.
    package var clients: Int { tasks.count }

    /// Serves until the task is cancelled or the listener fails; then all clients are cut off and
    /// the socket's file is gone.
    ///
    /// - Throws: what made the listener fail; `cancelled` or `closed` if it was told to end.
    package func run() async throws(SocketError) {
        let logger = logger
        listener.onPause = { error in
            logger.error("control: cannot accept (\(error)), trying again")
        }
        defer { listener.close() }
        let end = await accept()
        let left = Array(tasks.values)
        for task in left { task.cancel() }
        for task in left { await task.value }
        throw end
    }

    /// Accepts clients until the listener fails, and tells why.
    private func accept() async -> SocketError {
        while true {
            do throws(SocketError) {
                let connection = try await listener.accept()
                guard let peer = admit(connection) else {
                    connection.close()
                    continue
                }
                // An unstructured task, as Swift 6.3 fails to check one that is added to a group
                // from within a global actor; `run` ends it all the same.
                tasks[ObjectIdentifier(connection)] = ServiceLoop.task {
                    await self.serve(connection, peer)
                    self.dismiss(connection, peer)
                }
            } catch {
                return error
            }
        }
    }

    /// Takes a place for a new client; nil if there is none, or if the client has gone.
    private func admit(_ connection: StreamConnection) -> StreamConnection.Credentials? {
        let peer: StreamConnection.Credentials
        do throws(SocketError) {
            peer = try connection.peerCredentials
        } catch {
            logger.debug("control: client cut off: \(error)")
            return nil
        }
        guard !places.connect(peer.uid) else { return peer }
        if !toldFull {
            logger.warning(
                """
                control: refusing a connection of uid \(peer.uid): \(clients) of \(places.total) are \
                open, at most \(places.perUser) for each user but root
                """
            )
        }
        toldFull = true
        return nil
    }

    /// Counts a client out.
    private func dismiss(_ connection: StreamConnection, _ peer: StreamConnection.Credentials) {
        connection.close()
        tasks[ObjectIdentifier(connection)] = nil
        places.disconnect(peer.uid)
        toldFull = false
        onDismissal?()
    }

    // MARK: - One client

    /// Answers the calls of one client until it leaves or has to.
    private func serve(
        _ connection: StreamConnection,
        _ peer: StreamConnection.Credentials
    ) async {
        do {
            try await answer(connection, from: peer)
        } catch let error as ProtocolError {
            logger.debug("control: \(error), closing the connection")
        } catch {
            logger.debug("control: client cut off: \(error)")
        }
    }

    /// Reads calls and writes replies, one after the other.
    ///
    /// - Throws: `ProtocolError` or `SocketError`.
    private func answer(
        _ connection: StreamConnection,
        from peer: StreamConnection.Credentials
    ) async throws {
        var decoder = MessageDecoder(maximumOctets: ControlLimits.callOctets)
        // When the call that has begun must be complete; it is not put off by further octets.
        var arrival: ContinuousClock.Instant?
        while true {
            while let message = try decoder.next() {
                arrival = nil
                try await answer(try Call(message: message), from: peer, on: connection)
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

    /// Answers one call; a reply that the client does not take in time ends the connection.
    private func answer(
        _ call: Call,
        from peer: StreamConnection.Credentials,
        on connection: StreamConnection
    ) async throws {
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
            let reason = "too many calls with several replies are open (\(places.streams) at most)"
            try await send(try Reply(MethodError.failed(reason: reason)).message())
            // Its connection would take a place that is kept for calls with one reply.
            throw Refusal(description: reason)
        }
        defer { places.endStream(peer.uid) }
        // This may go on for days with nothing to tell: a client that has left must not keep one of
        // the few places until then.
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

/// Why a connection is closed that would use up what other clients need.
private struct Refusal: Error, CustomStringConvertible {
    let description: String
}
