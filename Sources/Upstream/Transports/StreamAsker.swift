// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Asks one server over connections that are kept: one for clients' queries, one for probes.
///
/// A server that answers in order makes a probe wait behind slow names of clients if both share a
/// connection; the probe would then condemn a server that is well.
@ServiceLoop
final class StreamAsker {
    /// Connections begun so far.
    private var opened: UInt64 = 0

    /// Queries put on a connection that there was already.
    private var reused: UInt64 = 0

    /// Messages that answered nothing, on connections that are over.
    private var earlierForeignReplies: UInt64 = 0

    private let clocks: Clocks
    private let open: PipelinedConnection.Opening
    private var current: [Purpose: PipelinedConnection] = [:]

    /// Queries that may share a connection.
    private enum Purpose {
        case queries, probes
    }

    /// Makes one that connects with `open`; nothing is opened before the first query.
    nonisolated init(_ clocks: Clocks, _ open: @escaping PipelinedConnection.Opening) {
        self.clocks = clocks
        self.open = open
    }

    /// Puts what was counted where it belongs.
    func count(in numbers: inout UpstreamNumbers) {
        numbers.connectionsOpened = opened
        numbers.connectionsReused = reused
        numbers.foreignReplies = current.values.reduce(earlierForeignReplies) {
            $0 + $1.foreignReplies
        }
    }

    /// Asks, and asks once more on a new connection if the first is lost before the reply.
    ///
    /// - Parameters:
    ///   - since: a connection is suspected of being dead on which nothing came since then.
    ///   - tell: gets a whole reply to exactly this query, whatever its RCODE.
    func ask(
        _ exchange: UpstreamExchange,
        since: ContinuousClock.Instant?,
        deadline: ContinuousClock.Instant,
        _ place: Trace.Place?,
        _ tell: @escaping @ServiceLoop (Result<Message, UpstreamError>) -> Void
    ) {
        ServiceLoop.task { [self] in
            do throws(UpstreamError) {
                tell(.success(try await reply(to: exchange, since, deadline, place)))
            } catch {
                tell(.failure(error))
            }
        }
    }

    private func reply(
        to exchange: UpstreamExchange,
        _ since: ContinuousClock.Instant?,
        _ deadline: ContinuousClock.Instant,
        _ place: Trace.Place?
    ) async throws(UpstreamError) -> Message {
        let before = reused
        let purpose = exchange.isProbe ? Purpose.probes : .queries
        let connection = self.connection(for: purpose, heardSince: since)
        place?.update { $0.isReused = reused > before }
        let octets: [UInt8]
        do throws(UpstreamError) {
            octets = try await connection.ask(
                exchange.message,
                cancellation: exchange.cancellation,
                deadline: deadline
            )
        } catch {
            // A connection that was never made is no loss, except to another network.
            let wasLost = connection.wasOpen || error == Self.dropped
            guard wasLost, connection.end != nil, error != .timedOut, clocks.now() < deadline else {
                throw error
            }
            let next = self.connection(for: purpose, heardSince: nil)
            place?.update { $0.isReused = false }
            return try judge(
                try await next.ask(
                    exchange.message,
                    cancellation: exchange.cancellation,
                    deadline: deadline
                ),
                exchange,
                on: next
            )
        }
        return try judge(octets, exchange, on: connection)
    }

    /// Drops the connections; queries on them are asked again on others.
    func drop() {
        for connection in current.values {
            connection.close(Self.dropped)
            earlierForeignReplies += connection.foreignReplies
        }
        current = [:]
    }

    /// Why connections end that ``drop()`` ends.
    private static let dropped = UpstreamError.broken("was dropped, as the network changed")

    /// The connection for the next query.
    private func connection(
        for purpose: Purpose,
        heardSince since: ContinuousClock.Instant?
    ) -> PipelinedConnection {
        if let current = current[purpose] {
            let isSilent = since.map { current.lastHeard ?? current.begun < $0 } ?? false
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

    /// The message, if it is the reply.
    private func judge(
        _ octets: [UInt8],
        _ exchange: UpstreamExchange,
        on connection: PipelinedConnection
    ) throws(UpstreamError) -> Message {
        guard let message = exchange.judgeStream(octets) else {
            throw .broken("sent something else than the reply over its stream")
        }
        for case .keepalive(let units?) in message.edns?.options ?? [] {
            connection.keep(for: .milliseconds(100) * Int(units))
        }
        return message
    }

    /// Connects over TCP.
    nonisolated static func connect(
        to server: SocketAddress,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> any OctetStream {
        do throws(SocketError) {
            return try await StreamConnection.connect(to: server, deadline: deadline)
        } catch {
            throw UpstreamError(error)
        }
    }

    /// Connects over TLS.
    nonisolated static func connect(
        to server: SocketAddress,
        name: String,
        _ tls: TLSClient,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> any OctetStream {
        do throws(TLSError) {
            return try await tls.connect(to: server, name: name, deadline: deadline)
        } catch {
            throw UpstreamError(error)
        }
    }
}
