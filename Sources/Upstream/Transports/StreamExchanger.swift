// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Exchanger with one server over two persistent connections: client queries and probes.
///
/// On a shared connection, slow queries could delay a probe.
@ServiceLoop
final class StreamExchanger {
    private var opened: UInt64 = 0

    private var reused: UInt64 = 0

    private var earlierForeignReplies: UInt64 = 0

    private let clocks: Clocks
    private let open: PipelinedConnection.Opening
    private var current: [Purpose: PipelinedConnection] = [:]

    private enum Purpose {
        case queries, probes
    }

    nonisolated init(_ clocks: Clocks, _ open: @escaping PipelinedConnection.Opening) {
        self.clocks = clocks
        self.open = open
    }

    func count(in numbers: inout UpstreamNumbers) {
        numbers.connectionsOpened = opened
        numbers.connectionsReused = reused
        numbers.foreignReplies = current.values.reduce(earlierForeignReplies) {
            $0 + $1.foreignReplies
        }
    }

    /// Sends a query, and repeats it once on a new connection if the connection is lost.
    ///
    /// - Parameters:
    ///   - attempt: ends with a complete matching reply of any RCODE.
    ///   - since: a connection without received data since this time is not used.
    func ask(_ exchange: UpstreamExchange, for attempt: Attempt, since: Instant?) {
        ServiceLoop.task { [self] in
            do throws(UpstreamError) {
                attempt.end(.success(try await reply(to: exchange, attempt, since)))
            } catch {
                attempt.end(.failure(error))
            }
        }
    }

    private func reply(
        to exchange: UpstreamExchange,
        _ attempt: Attempt,
        _ since: Instant?
    ) async throws(UpstreamError) -> UpstreamReply {
        let before = reused
        let purpose = attempt.query.isProbe ? Purpose.probes : .queries
        let connection = self.connection(for: purpose, receivedSince: since)
        attempt.place?.update { $0.isReused = reused > before }
        let octets: [UInt8]
        do throws(UpstreamError) {
            octets = try await connection.ask(
                exchange.message,
                cancellation: attempt.cancellation,
                deadline: attempt.deadline
            )
        } catch {
            // A connection that was never established is not lost, except after a network change.
            let wasLost = connection.wasOpen || error == Self.dropped
            guard wasLost, connection.end != nil, error != .timedOut,
                clocks.now() < attempt.deadline
            else { throw error }
            let next = self.connection(for: purpose, receivedSince: nil)
            attempt.place?.update { $0.isReused = false }
            return try validate(
                try await next.ask(
                    exchange.message,
                    cancellation: attempt.cancellation,
                    deadline: attempt.deadline
                ),
                exchange,
                on: next
            )
        }
        return try validate(octets, exchange, on: connection)
    }

    /// Drops both connections; queries are repeated on new connections.
    func drop() {
        for connection in current.values {
            connection.close(Self.dropped)
            earlierForeignReplies += connection.foreignReplies
        }
        current = [:]
    }

    private static let dropped = UpstreamError.broken("connection dropped after a network change")

    private func connection(
        for purpose: Purpose,
        receivedSince since: Instant?
    ) -> PipelinedConnection {
        if let current = current[purpose] {
            let isSilent = since.map { current.lastReceived ?? current.begun < $0 } ?? false
            if current.isUsable, !isSilent {
                reused += 1
                return current
            }
            earlierForeignReplies += current.foreignReplies
            current.retire()
        }
        let new = PipelinedConnection(clocks, open)
        opened += 1
        current[purpose] = new
        return new
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
                connection.keep(for: .milliseconds(100) * Int(units))
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
