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

    /// True if a query must be repeated because its connection ended; counts the repetition.
    ///
    /// The first repetition needs no reply on the lost connection. Each further one needs a reply, or
    /// a connection that was never open: the server can close connections after a few replies, and
    /// one of several hosts behind its address can refuse connections. The limit also bounds the
    /// connections that a name can end if the server closes the connection of each query for it.
    func repeats(
        _ attempt: Attempt,
        after error: UpstreamError,
        on connection: PipelinedConnection
    ) -> Bool {
        let most =
            attempt.isOfBusyClient || connection.isRefusal ? 1 : UpstreamLimits.repetitions
        guard attempt.repetitions < most, isLost(connection, error, attempt) else { return false }
        attempt.repetitions += 1
        return true
    }

    /// True if a query must be repeated because its connection ended.
    ///
    /// False for a busy client if no reply arrived: the server may be overloaded. If the connection
    /// was never open, true only if the server has replied before (``UpstreamError/isOfOneHost``).
    private func isLost(
        _ connection: PipelinedConnection,
        _ error: UpstreamError,
        _ attempt: Attempt
    ) -> Bool {
        let hasFailed =
            connection.wasOpen
            ? !(attempt.isOfBusyClient && connection.isRefusal)
            : opening.usual != nil && error.isOfOneHost
                && (error.isUntrusted || !attempt.isOfBusyClient)
        return (hasFailed || error == Self.dropped) && connection.end != nil
            && error != .timedOut && !attempt.isCancelled && !attempt.isOver
            && clocks.now() < attempt.deadline
    }
}
