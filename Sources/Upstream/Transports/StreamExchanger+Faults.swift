// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// Connections that end, lose queries or return errors.
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
        if !attempt.query.isProbe { check(connection, attempt) }
        guard answersOutOfOrder, connection.wasServed, connection.end == nil,
            purpose(of: attempt) != .queriesOfBusyClients,
            let other = workingConnection(besides: [connection], allowsErrors: false)
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
        return try validate(answer.octets, exchange, attempt, on: answer.connection)
    }

    /// True if a query must be repeated because its connection ended; counts the repetition.
    ///
    /// A further repetition happens only if the lost connection had a reply, or was never open: the
    /// server can close connections after a few replies, and one of several hosts behind its address
    /// can refuse connections. If the server closes the connection of each query for a certain name,
    /// the limit also bounds the number of connections that are lost in this way.
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

    /// Returns the reply to a query; checks the connection after an error reply.
    func validate(
        _ octets: [UInt8],
        _ exchange: UpstreamExchange,
        _ attempt: Attempt,
        on connection: PipelinedConnection
    ) throws(UpstreamError) -> UpstreamReply {
        guard let reply = exchange.judgeStream(octets) else {
            noteError(of: attempt, on: connection)
            throw .broken("the reply does not match the query")
        }
        if case .message(let message) = reply {
            if message.isError, !attempt.isOfBusyClient,
                !(attempt.usesEDNS && message.rejectsEDNS)
            {
                noteError(of: attempt, on: connection)
            }
            for case .keepalive(let units?) in message.edns?.options ?? [] {
                keep(connection, for: .milliseconds(100) * Int(units))
            }
        }
        if replacing.isUnchecked, !attempt.query.isProbe,
            reply.rcode == .noError || reply.rcode == .nxDomain
        {
            replacing.isUnchecked = false
            check(connection, attempt)
        }
        return reply
    }

    private func noteError(of attempt: Attempt, on connection: PipelinedConnection) {
        guard attempt.query.isProbe else { return check(connection, attempt) }
        guard current[.probes] === connection, replacing.begin(at: clocks.now()) == nil else {
            return
        }
        // The next probe uses a new connection, and possibly another host.
        current[.probes] = nil
        retire(connection)
    }

    private func check(_ connection: PipelinedConnection, _ attempt: Attempt) {
        connection.check(samples(usesEDNS: attempt.usesEDNS)) { [weak self] in
            guard let self else { return nil }
            if $0 { return replacing.begin(at: clocks.now()) }
            replacing.passed()
            return nil
        }
    }

    private func samples(usesEDNS: Bool) -> [UpstreamExchange] {
        var random = SystemRandomNumberGenerator()
        return Query.samples.prefix(UpstreamLimits.lossCheckQueries).map {
            UpstreamExchange($0, over: transport, usesEDNS: usesEDNS, random: &random)
        }
    }
}

extension Message {
    /// True for an RCODE that a broken host can return to each query.
    fileprivate var isError: Bool {
        switch rcode {
        case .servFail, .refused, .formErr, .notImp: true
        default: false
        }
    }
}
