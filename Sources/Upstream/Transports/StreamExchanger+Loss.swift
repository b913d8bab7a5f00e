// SPDX-License-Identifier: Apache-2.0
internal import Net

// Connections that lose queries.
extension StreamExchanger {
    /// Checks the connection of an unanswered query, and sends the query again on this and another
    /// connection.
    ///
    /// Returns nil if there is no other established connection, or if the connections end. Also
    /// returns nil for busy clients, and if the server answers in order: the query could delay the
    /// queries of the other connection.
    func repeatQuery(
        _ exchange: UpstreamExchange,
        _ attempt: Attempt,
        _ connection: PipelinedConnection
    ) async throws(UpstreamError) -> UpstreamReply? {
        connection.checkLoss(samples)
        guard answersOutOfOrder, connection.wasServed, connection.end == nil,
            purpose(of: attempt) != .queriesOfBusyClients,
            let other = workingConnection(besides: [connection])
        else { return nil }
        let race = ConnectionRace(exchange.message, attempt, clocks)
        race.ask(connection)
        race.ask(other)
        let answer: ConnectionRace.Reply
        do throws(UpstreamError) {
            answer = try await race.reply()
        } catch {
            let hasEnded = connection.end != nil || other.end != nil
            guard hasEnded, error != .timedOut, !attempt.isCancelled, !attempt.isOver,
                clocks.now() < attempt.deadline
            else { throw error }
            return nil
        }
        return try validate(answer.octets, exchange, on: answer.connection)
    }
}
