// SPDX-License-Identifier: Apache-2.0
internal import Net

extension StreamExchanger {
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

// MARK: - Connections that lose queries

extension StreamExchanger {
    /// Checks the connection of an unanswered query, and sends the query again on this and another
    /// connection.
    ///
    /// Returns nil, and sends no query, if there is no other established connection, or if the
    /// server answers in order: the query could delay the queries of the other connection.
    func `repeat`(
        _ exchange: UpstreamExchange,
        _ attempt: Attempt,
        _ connection: PipelinedConnection
    ) async throws(UpstreamError) -> UpstreamReply? {
        connection.checkLoss(samples)
        guard answersOutOfOrder, connection.wasServed, connection.end == nil,
            let other = workingConnection(besides: [connection])
        else { return nil }
        let race = ConnectionRace(exchange.message, attempt, clocks)
        race.ask(connection)
        race.ask(other)
        let answer = try await race.reply()
        return try validate(answer.octets, exchange, on: answer.connection)
    }
}
