// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Exchanger of queries with one server over persistent connections, one for each `Purpose`.
@ServiceLoop
final class StreamExchanger {
    var opened: UInt64 = 0
    private var reused: UInt64 = 0
    private var earlierForeignReplies: UInt64 = 0

    let clocks: Clocks
    let open: PipelinedConnection.Opening

    /// Query that makes the server send data on a new connection.
    let greeting: UpstreamExchange

    let transport: UpstreamExchange.Transport

    var replacing = ReplacementSpacing()

    var current: [Purpose: PipelinedConnection] = [:]

    /// New connections, each opened to replace a silent connection in `current`.
    ///
    /// Queries are sent on both connections, because the server or a firewall may refuse the
    /// candidate.
    var candidates: [Purpose: PipelinedConnection] = [:]

    private var retired: [PipelinedConnection] = []

    enum Purpose {
        case queries, queriesOfBusyClients, probes
    }

    /// Purposes that use the connection of another purpose (`host`) until a certain time.
    var sharing: [Purpose: (host: Purpose, until: Instant)] = [:]

    var answersOutOfOrder = false

    var opening = OpeningPatience()

    /// Clients that use the connection of busy clients.
    var slowClients = RecentKeys<ClientNetwork?>()

    /// Questions that use the connection of busy clients, because a connection became silent.
    var suspects = RecentKeys<Question>()

    lazy var silenceAlarm = Alarm(clocks) { [weak self] in self?.checkSilence() }

    lazy var orderAlarm = Alarm(clocks) { [weak self] in self?.checkOrder() }

    nonisolated init(
        _ clocks: Clocks,
        isProtected: Bool = false,
        _ open: @escaping PipelinedConnection.Opening
    ) {
        self.clocks = clocks
        self.open = open
        var random = SystemRandomNumberGenerator()
        transport = isProtected ? .encrypted : .stream
        greeting = UpstreamExchange(.probe, over: transport, random: &random)
    }

    func count(in numbers: inout UpstreamNumbers) {
        numbers.connectionsOpened = opened
        numbers.connectionsReused = reused
        numbers.foreignReplies = (Array(current.values) + candidates.values + retired)
            .reduce(earlierForeignReplies) { $0 + $1.foreignReplies }
    }

    /// Sends a query, and repeats it on a new connection if the connection is lost.
    ///
    /// - Parameters:
    ///   - since: if the open connection has received no data since this time, the query is also
    ///     sent on a new connection.
    ///   - failed: if not nil, is called after an error, and must end `attempt`.
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
        var purpose = purpose(of: attempt)
        let connection = self.connection(for: purpose, receivedSince: since)
        watchOrder()
        watchSilence()
        attempt.place?.update { $0.isReused = reused > before }
        if since != nil, let answer = try await repeatQuery(exchange, attempt, connection) {
            return answer
        }
        if candidates[purpose] === connection, let silent = current[purpose], silent.isUsable,
            silent.fault != .errors
        {
            let race = ConnectionRace(exchange.message, attempt, clocks)
            race.ask(connection) { [self] lost, error in
                guard repeats(attempt, after: error, on: lost) else { return nil }
                return self.connection(for: self.purpose(of: attempt), receivedSince: since)
            }
            race.ask(silent)
            do throws(UpstreamError) {
                let answer = try await reply(of: race, attempt, connection, purpose)
                adopt(answer.connection, for: purpose)
                return try validate(answer.octets, exchange, attempt, on: answer.connection)
            } catch {
                attempt.wasRefused = connection.isRefusal && silent.isRefusal
                throw error
            }
        }
        var own = connection
        var answer: ConnectionRace.Reply?
        while answer == nil {
            do throws(UpstreamError) {
                answer = try await ask(exchange.message, attempt, on: own, purpose)
            } catch {
                attempt.wasRefused = own.isRefusal
                if repeats(attempt, after: error, on: own) {
                    // The purpose changes if a query of the client has become overdue.
                    purpose = self.purpose(of: attempt)
                    own = self.connection(for: purpose, receivedSince: nil)
                    attempt.place?.update { $0.isReused = false }
                    continue
                }
                guard error != .timedOut, !attempt.isCancelled, !attempt.isOver,
                    !attempt.isOfBusyClient || !own.wasServed,
                    clocks.now() < attempt.deadline,
                    let working = workingConnection(allowsErrors: true)
                else { throw error }
                attempt.wasRefused = false
                let octets = try await working.ask(exchange.message, for: attempt)
                working.forgiveErrors()
                share(working, for: purpose, attempt, insteadOf: own)
                return try validate(octets, exchange, attempt, on: working)
            }
        }
        guard let answer else { throw .timedOut }
        adopt(answer.connection, for: purpose)
        return try validate(answer.octets, exchange, attempt, on: answer.connection)
    }

    /// Sends a query; uses a second connection if the first is not established in time.
    func ask(
        _ message: [UInt8],
        _ attempt: Attempt,
        on connection: PipelinedConnection,
        _ purpose: Purpose
    ) async throws(UpstreamError) -> ConnectionRace.Reply {
        guard !connection.wasServed else {
            return (try await connection.ask(message, for: attempt), connection)
        }
        let race = ConnectionRace(message, attempt, clocks)
        race.ask(connection)
        return try await reply(of: race, attempt, connection, purpose)
    }

    /// Returns the first reply; also uses other connections if `own` is not established.
    private func reply(
        of race: ConnectionRace,
        _ attempt: Attempt,
        _ own: PipelinedConnection,
        _ purpose: Purpose
    ) async throws(UpstreamError) -> ConnectionRace.Reply {
        // A query of a client in `slowClients` could delay the queries of another purpose.
        let isSlow = purpose == .queriesOfBusyClients && !attempt.isOfBusyClient
        if !own.wasServed, !isSlow || !race.connections.contains(where: \.wasServed) {
            let wait = sharing[purpose] == nil ? opening.time : .zero
            let other = { [self] in connection(besides: race.connections, for: purpose) }
            let replacement: ConnectionRace.Replacement = { [self] lost, error in
                lost.hasReplied && repeats(attempt, after: error, on: lost) ? other() : nil
            }
            race.ask(at: own.begun + wait, replacement: replacement) {
                own.wasServed ? nil : other()
            }
        }
        let answer = try await race.reply()
        opening.replied(answer.connection.openingTime)
        if answer.connection === own {
            sharing[purpose] = nil
        } else {
            answer.connection.forgiveErrors()
            share(answer.connection, for: purpose, attempt, insteadOf: own)
        }
        return answer
    }

    func purpose(of attempt: Attempt) -> Purpose {
        let purpose: Purpose
        let now = clocks.now()
        if attempt.query.isProbe {
            purpose = .probes
        } else if attempt.isOfBusyClient || slowClients.contains(attempt.client, at: now)
            || suspects.contains(attempt.query.question, at: now)
        {
            purpose = .queriesOfBusyClients
        } else {
            purpose = .queries
        }
        guard let (host, until) = sharing[purpose], now < until, current[host]?.isUsable ?? false
        else { return purpose }
        return host
    }

    /// Returns an established connection or a new one; nil if the query must wait.
    ///
    /// If the server possibly answers in order, and the query is possibly the cause of the silence,
    /// the query would delay the queries of an established connection. So it is sent only on new
    /// connections, and the first of these begins with the greeting. After the reply to the greeting,
    /// the query is sent on no further connection.
    private func connection(
        besides tried: [PipelinedConnection],
        for purpose: Purpose
    ) -> PipelinedConnection? {
        guard !tried.contains(where: { $0.wasServed && $0.end == nil }) else { return nil }
        let isUnproven = !answersOutOfOrder && tried.first?.isUnproven ?? false
        // A connection with errors would reply before the connection that replaces it.
        let isLate = tried.contains {
            $0.end != nil || clocks.now() - $0.begun >= UpstreamLimits.fairWait
        }
        let working = workingConnection(besides: tried, allowsErrors: isLate)
        if !isUnproven, let working { return working }
        guard let newest = candidates[purpose] ?? current[purpose] else { return nil }
        if newest.isUsable, !tried.contains(where: { $0 === newest }) { return newest }
        if newest.end == nil || !newest.hasReplied {
            guard tried.count < UpstreamLimits.openings, clocks.now() - newest.begun >= opening.time
            else { return nil }
            opening.openedAnother()
        }
        if let candidate = candidates[purpose] { retire(candidate) }
        let new = connection(greetsFirst: isUnproven && tried.count == 1)
        candidates[purpose] = new
        return new
    }

    /// Returns an established connection, if possible a connection without an overdue query.
    ///
    /// - Parameter allowsErrors: true to also return a connection with the fault `errors`.
    func workingConnection(
        besides tried: [PipelinedConnection] = [],
        allowsErrors: Bool
    ) -> PipelinedConnection? {
        let working = [Purpose.queries, .queriesOfBusyClients, .probes]
            .compactMap { self.current[$0] }
            .filter { each in
                each.isUsable && each.wasServed && !tried.contains { $0 === each }
                    && (allowsErrors || each.fault != .errors)
            }
        let now = clocks.now()
        let good = working.first { !$0.isSilent && $0.fault == nil && $0.overdue(at: now) == nil }
        return good ?? working.first
    }

    /// Lets later queries of `purpose` use `working`, because `own` could not be established.
    ///
    /// Exception: queries of clients in `slowClients` do not use `working`, because these queries
    /// could delay other queries.
    private func share(
        _ working: PipelinedConnection,
        for purpose: Purpose,
        _ attempt: Attempt,
        insteadOf own: PipelinedConnection
    ) {
        guard purpose != .queriesOfBusyClients || attempt.isOfBusyClient else { return }
        guard !own.wasServed, let host = current.first(where: { $0.value === working })?.key,
            host != purpose
        else { return }
        let now = clocks.now()
        let usual = min((working.openingTime ?? .zero) * 2, UpstreamLimits.connect / 2)
        // The reply can be from another connection, if the query waited behind an overdue query.
        guard working.overdue(at: now) == nil,
            own.end != nil || now - own.begun >= max(UpstreamLimits.fairWait, usual)
        else { return }
        sharing[purpose] = (host, now + UpstreamLimits.sharingTime)
        if current[purpose] === own { current[purpose] = nil }
        if candidates[purpose] === own { candidates[purpose] = nil }
        close(own, .broken("the server did not accept another connection"))
    }

    func adopt(_ connection: PipelinedConnection, for purpose: Purpose) {
        guard candidates[purpose] === connection else { return }
        candidates[purpose] = nil
        if let old = current[purpose] { retire(old) }
        current[purpose] = connection
    }

    /// Drops all connections; queries are repeated on new connections.
    func drop() {
        let old = Array(current.values) + candidates.values + retired
        (current, candidates, retired, opening) = ([:], [:], [], OpeningPatience())
        (sharing, slowClients, answersOutOfOrder) = ([:], RecentKeys(), false)
        suspects = RecentKeys()
        replacing = ReplacementSpacing()
        for connection in old { close(connection, Self.dropped) }
    }

    static let dropped = UpstreamError.broken("connection dropped after a network change")

    private func close(_ connection: PipelinedConnection, _ reason: UpstreamError) {
        connection.close(reason)
        earlierForeignReplies += connection.foreignReplies
    }

    /// Lets `connection` end after its last reply; if too many connections wait, closes the oldest.
    func retire(_ connection: PipelinedConnection) {
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
    func keep(_ connection: PipelinedConnection, for timeout: Duration) {
        guard timeout == .zero else { return connection.keep(for: timeout) }
        forgetEnded()
        guard retired.count < UpstreamLimits.retiredConnections,
            let purpose = current.first(where: { $0.value === connection })?.key
        else { return connection.closeWhenIdle() }
        current[purpose] = nil
        retire(connection)
    }

    func connection(
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
        connection.isSilent || connection.fault != nil
            || since.map { connection.lastReceived ?? connection.begun < $0 } ?? false
    }

    private func takeCandidate(
        for purpose: Purpose,
        receivedSince since: Instant?
    ) -> PipelinedConnection? {
        guard let known = candidates.removeValue(forKey: purpose) else { return nil }
        if known.isUsable, !isSilent(known, since) { return known }
        retire(known)
        return nil
    }
}
