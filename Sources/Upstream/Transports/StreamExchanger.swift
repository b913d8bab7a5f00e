// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Queries one server over up to three persistent connections.
///
/// On a shared connection, large or slow replies for a client with many queries in flight could
/// delay the replies for other clients, and probes. There are also retired connections, which only
/// wait for outstanding replies.
@ServiceLoop
final class StreamExchanger {
    /// Established connections.
    private var opened: UInt64 = 0

    private var reused: UInt64 = 0

    private var earlierForeignReplies: UInt64 = 0

    private let clocks: Clocks
    private let open: PipelinedConnection.Opening
    private var current: [Purpose: PipelinedConnection] = [:]

    /// New connections, each opened to replace a silent connection in `current`.
    ///
    /// A candidate becomes current after its first reply. Until then, queries are sent on both
    /// connections, because the server or a firewall may refuse the candidate.
    private var candidates: [Purpose: PipelinedConnection] = [:]

    /// Connections that accept no more queries and wait for replies, oldest first.
    private var retired: [PipelinedConnection] = []

    private enum Purpose {
        case queries, queriesOfBusyClients, probes
    }

    /// Until this time, all clients share a connection, because the server refused another one.
    private var sharedUntil: Instant?

    nonisolated init(_ clocks: Clocks, _ open: @escaping PipelinedConnection.Opening) {
        self.clocks = clocks
        self.open = open
    }

    func count(in numbers: inout UpstreamNumbers) {
        numbers.connectionsOpened = opened
        numbers.connectionsReused = reused
        numbers.foreignReplies = (Array(current.values) + candidates.values + retired)
            .reduce(earlierForeignReplies) { $0 + $1.foreignReplies }
    }

    /// Sends a query, and repeats it once on a new connection if the connection is lost.
    ///
    /// - Parameters:
    ///   - attempt: ends with a complete matching reply of any RCODE.
    ///   - since: a connection without received data since this time is not used.
    ///   - failed: receives the error instead of `attempt`.
    func ask(
        _ exchange: UpstreamExchange,
        for attempt: Attempt,
        since: Instant?,
        failed: (@ServiceLoop (UpstreamError) -> Void)? = nil
    ) {
        ServiceLoop.task { [self] in
            do throws(UpstreamError) {
                attempt.end(.success(try await reply(to: exchange, attempt, since)))
            } catch {
                if let failed { failed(error) } else { attempt.end(.failure(error)) }
            }
        }
    }

    private func reply(
        to exchange: UpstreamExchange,
        _ attempt: Attempt,
        _ since: Instant?
    ) async throws(UpstreamError) -> UpstreamReply {
        let before = reused
        let purpose = purpose(of: attempt)
        let connection = self.connection(for: purpose, receivedSince: since)
        attempt.place?.update { $0.isReused = reused > before }
        if candidates[purpose] === connection, let silent = current[purpose], silent.isUsable {
            let race = ConnectionRace(exchange.message, attempt) { [self] lost, error in
                guard isLost(lost, error, attempt) else { return nil }
                return self.connection(for: purpose, receivedSince: since)
            }
            let answer = try await race.run(candidate: connection, silent)
            adopt(answer.connection, for: purpose)
            return try validate(answer.octets, exchange, on: answer.connection)
        }
        let octets: [UInt8]
        do throws(UpstreamError) {
            octets = try await connection.ask(exchange.message, for: attempt)
        } catch {
            var failure = error
            if isLost(connection, error, attempt) {
                let next = self.connection(for: purpose, receivedSince: nil)
                attempt.place?.update { $0.isReused = false }
                do throws(UpstreamError) {
                    let octets = try await next.ask(exchange.message, for: attempt)
                    return try validate(octets, exchange, on: next)
                } catch {
                    failure = error
                }
            }
            if !connection.wasOpen, purpose == .queriesOfBusyClients {
                sharedUntil = clocks.now() + UpstreamLimits.sharingTime
            }
            guard let working = workingConnection(after: failure, attempt) else { throw failure }
            let octets = try await working.ask(exchange.message, for: attempt)
            return try validate(octets, exchange, on: working)
        }
        adopt(connection, for: purpose)
        return try validate(octets, exchange, on: connection)
    }

    /// True if a query must be repeated because its connection ended.
    ///
    /// Returns false if the connection was never established, unless a network change dropped it.
    private func isLost(
        _ connection: PipelinedConnection,
        _ error: UpstreamError,
        _ attempt: Attempt
    ) -> Bool {
        (connection.wasOpen || error == Self.dropped) && connection.end != nil
            && error != .timedOut && !attempt.isCancelled && !attempt.isOver
            && clocks.now() < attempt.deadline
    }

    private func purpose(of attempt: Attempt) -> Purpose {
        if attempt.query.isProbe { return .probes }
        guard attempt.isOfBusyClient else { return .queries }
        if let sharedUntil, clocks.now() < sharedUntil { return .queries }
        return .queriesOfBusyClients
    }

    /// Returns another connection for an attempt after a failure of the attempt's own connection.
    ///
    /// A server can limit the number of connections, and still answer on an existing connection.
    private func workingConnection(
        after error: UpstreamError,
        _ attempt: Attempt
    ) -> PipelinedConnection? {
        guard error != .timedOut, !attempt.isCancelled, !attempt.isOver,
            clocks.now() < attempt.deadline
        else { return nil }
        return [Purpose.queries, .queriesOfBusyClients, .probes].lazy
            .compactMap { self.current[$0] }
            .first { $0.isUsable && $0.wasOpen }
    }

    private func adopt(_ connection: PipelinedConnection, for purpose: Purpose) {
        guard candidates[purpose] === connection else { return }
        candidates[purpose] = nil
        if let old = current[purpose] { retire(old) }
        current[purpose] = connection
    }

    /// Drops all connections; queries are repeated on new connections.
    func drop() {
        let old = Array(current.values) + candidates.values + retired
        (current, candidates, retired) = ([:], [:], [])
        for connection in old { close(connection, Self.dropped) }
    }

    private static let dropped = UpstreamError.broken("connection dropped after a network change")

    private func close(_ connection: PipelinedConnection, _ reason: UpstreamError) {
        connection.close(reason)
        earlierForeignReplies += connection.foreignReplies
    }

    /// Retires `connection`; if too many connections are retired, closes the oldest of them.
    ///
    /// The queries of a closed connection are repeated on the current connection.
    private func retire(_ connection: PipelinedConnection) {
        connection.retire()
        retired.append(connection)
        forgetEnded()
        guard retired.count > UpstreamLimits.retiredConnections else { return }
        close(retired.removeFirst(), .broken("too many connections wait for replies"))
    }

    private func forgetEnded() {
        for ended in retired where ended.end != nil {
            earlierForeignReplies += ended.foreignReplies
        }
        retired.removeAll { $0.end != nil }
    }

    /// Applies the idle timeout that the server sent (RFC 7828 §3.4).
    ///
    /// A timeout of 0 retires the connection. If the number of retired connections has reached its
    /// limit, the connection instead accepts new queries until no query is outstanding.
    private func keep(_ connection: PipelinedConnection, for timeout: Duration) {
        guard timeout == .zero else { return connection.keep(for: timeout) }
        forgetEnded()
        guard retired.count < UpstreamLimits.retiredConnections,
            let purpose = current.first(where: { $0.value === connection })?.key
        else { return connection.closeWhenIdle() }
        current[purpose] = nil
        retire(connection)
    }

    private func connection(
        for purpose: Purpose,
        receivedSince since: Instant?
    ) -> PipelinedConnection {
        if let current = current[purpose] {
            if current.isUsable, !isSilent(current, since) {
                reused += 1
                return current
            }
            if current.isUsable {
                let candidate = takeCandidate(for: purpose, receivedSince: since) ?? connection()
                candidates[purpose] = candidate
                return candidate
            }
            retire(current)
        }
        let new = takeCandidate(for: purpose, receivedSince: since) ?? connection()
        current[purpose] = new
        return new
    }

    private func isSilent(_ connection: PipelinedConnection, _ since: Instant?) -> Bool {
        connection.isSilent
            || since.map { connection.lastReceived ?? connection.begun < $0 } ?? false
    }

    /// Removes and returns the candidate connection; nil if it is missing, silent or closed.
    private func takeCandidate(
        for purpose: Purpose,
        receivedSince since: Instant?
    ) -> PipelinedConnection? {
        guard let known = candidates.removeValue(forKey: purpose) else { return nil }
        if known.isUsable, !isSilent(known, since) { return known }
        retire(known)
        return nil
    }

    private func connection() -> PipelinedConnection {
        let connect = self.open
        return PipelinedConnection(clocks) { [weak self] (deadline) async throws(UpstreamError) in
            let stream = try await connect(deadline)
            self?.opened += 1
            return stream
        }
    }

    private func validate(
        _ octets: [UInt8],
        _ exchange: UpstreamExchange,
        on connection: PipelinedConnection
    ) throws(UpstreamError) -> UpstreamReply {
        guard let reply = exchange.judgeStream(octets) else {
            throw .broken("the reply does not match the query")
        }
        if case .message(let message) = reply {
            for case .keepalive(let units?) in message.edns?.options ?? [] {
                keep(connection, for: .milliseconds(100) * Int(units))
            }
        }
        return reply
    }

    nonisolated static func connect(
        to server: SocketAddress,
        deadline: Instant
    ) async throws(UpstreamError) -> any OctetStream {
        do throws(SocketError) {
            return try await StreamConnection.connect(to: server, deadline: deadline)
        } catch {
            throw UpstreamError(error)
        }
    }

    nonisolated static func connect(
        to server: SocketAddress,
        name: String,
        _ tls: TLSClient,
        deadline: Instant
    ) async throws(UpstreamError) -> any OctetStream {
        do throws(TLSError) {
            return try await tls.connect(to: server, name: name, deadline: deadline)
        } catch {
            throw UpstreamError(error)
        }
    }
}

/// Query on a new connection (candidate) and on a silent connection; the first reply counts.
///
/// If the candidate ends, another candidate is tried once, and the silent connection stays in use:
/// a server that limits connections may close new connections, and answer on the silent connection.
@ServiceLoop
private final class ConnectionRace {
    typealias Reply = (octets: [UInt8], connection: PipelinedConnection)

    /// Returns another candidate; nil if the query must not be repeated after the error.
    typealias Replacement = (PipelinedConnection, UpstreamError) -> PipelinedConnection?

    private let message: [UInt8]
    private let attempt: Attempt
    private let replacement: Replacement
    private let waiter = Waiter()
    private var running = 0
    private var outcome = Result<Reply, UpstreamError>.failure(.timedOut)

    init(_ message: [UInt8], _ attempt: Attempt, replacement: @escaping Replacement) {
        self.message = message
        self.attempt = attempt
        self.replacement = replacement
    }

    /// Returns the first reply, or throws the last error.
    func run(
        candidate: PipelinedConnection,
        _ silent: PipelinedConnection
    ) async throws(UpstreamError) -> Reply {
        ask(candidate, isReplaceable: true)
        ask(silent, isReplaceable: false)
        _ = await waiter.wait(until: nil)
        return try outcome.get()
    }

    private func ask(_ connection: PipelinedConnection, isReplaceable: Bool) {
        running += 1
        ServiceLoop.task { [self] in
            do throws(UpstreamError) {
                end(.success((try await connection.ask(message, for: attempt), connection)))
            } catch {
                if isReplaceable, waiter.outcome == nil, let next = replacement(connection, error) {
                    ask(next, isReplaceable: false)
                }
                running -= 1
                if running == 0 { end(.failure(error)) }
            }
        }
    }

    private func end(_ result: Result<Reply, UpstreamError>) {
        guard waiter.outcome == nil else { return }
        outcome = result
        waiter.resume(.ready)
    }
}

extension PipelinedConnection {
    fileprivate func ask(
        _ message: [UInt8],
        for attempt: Attempt
    ) async throws(UpstreamError) -> [UInt8] {
        try await ask(message, cancellation: attempt.cancellation, deadline: attempt.deadline)
    }
}
