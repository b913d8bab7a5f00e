// SPDX-License-Identifier: Apache-2.0
import Control
package import Logging
package import Net

/// The control socket: accepts clients, and answers each in the order of its calls.
///
/// A client costs at most one call's octets (64 KiB) and one reply.  One that is slow, silent or
/// does not read is cut off by a deadline; one that sends calls without pause gets one answer for
/// each turn of the loop, which goes to everybody else in between.
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
                guard admits() else {
                    connection.close()
                    continue
                }
                // An unstructured task, as Swift 6.3 fails to check one that is added to a group
                // from within a global actor; `run` ends it all the same.
                tasks[ObjectIdentifier(connection)] = ServiceLoop.task {
                    await self.serve(connection)
                    self.dismiss(connection)
                }
            } catch {
                return error
            }
        }
    }

    /// Whether there is room for a new client.
    private func admits() -> Bool {
        guard clients >= limits.connections else { return true }
        if !toldFull {
            logger.warning("control: more than \(limits.connections) clients, refusing others")
        }
        toldFull = true
        return false
    }

    /// Counts a client out.
    private func dismiss(_ connection: StreamConnection) {
        connection.close()
        tasks[ObjectIdentifier(connection)] = nil
        toldFull = false
        onDismissal?()
    }

    // MARK: - One client

    /// Answers the calls of one client until it leaves or has to.
    private func serve(_ connection: StreamConnection) async {
        do {
            try await answer(connection, from: try connection.peerCredentials)
        } catch let error as ProtocolError {
            logger.info("control: \(error), closing the connection")
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
            try await connection.write(message, deadline: Clock.now + limits.departure)
        }
        guard call.more else { return try await dispatcher.answer(call, from: peer, send) }
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
