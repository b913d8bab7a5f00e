// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net
internal import Resolver

/// Answers the messages that a worker or `StreamDesk` could not: on the service loop.
@ServiceLoop
final class QueryDesk {
    /// What this desk counted.
    nonisolated let counters = QueryCounters()

    /// From arrival to reply, of the queries that were not answered from the cache.
    nonisolated let missLatency = LatencyHistogram()

    /// What was answered here last, over TCP or not from the cache.
    nonisolated let recent = RecentQueries()

    private let cache: AnswerCache
    private var resolver: Resolver
    private let clocks: Clocks

    /// Queries that are waiting for an answer.
    private(set) var inFlight = 0

    /// Resumed when no query waits any more, while the daemon stops.
    private var whenDrained: CheckedContinuation<Void, Never>?

    /// The TCP sessions of all listeners.
    let sessions = TCPSessionTable()

    /// Where messages are turned into their replies: no message is longer.
    private var scratch = [UInt8](repeating: 0, count: 65_535)

    /// Where hits over TCP are answered; made for the first of them, as it has large buffers.
    var streams: StreamDesk {
        if let madeStreams { return madeStreams }
        let made = StreamDesk(
            cache: cache,
            counters: counters,
            recent: recent,
            clocks: clocks
        )
        madeStreams = made
        return made
    }
    private var madeStreams: StreamDesk?

    /// Makes a desk.
    ///
    /// - Parameter clocks: the kind of time in which queries arrive and answers grow old.
    init(cache: AnswerCache, resolver: Resolver, clocks: Clocks) {
        self.cache = cache
        self.resolver = resolver
        self.clocks = clocks
    }

    /// Has queries from now on answered by another resolver; those that wait go on as they began.
    func use(_ resolver: Resolver) { self.resolver = resolver }

    /// What a message comes to without waiting.
    enum Immediate {
        case reply([UInt8])

        /// The message is no valid query; this FORMERR is sent.
        case malformed([UInt8])

        /// The message is no query; nothing is sent.
        case nothing

        /// The cache has no answer: `resolve` finds one.
        case question(Open)
    }

    /// A query that needs an answer.
    struct Open: Sendable {
        /// The header and the question: a reply needs nothing else of the query.
        fileprivate let octets: [UInt8]
        fileprivate let query: Query
        fileprivate let facts: QueryFacts
        fileprivate let limit: Int
        fileprivate let transport: QueryTransport
        fileprivate let client: IPAddress
        fileprivate let network: ClientNetwork
        fileprivate let arrival: ContinuousClock.Instant
    }

    /// Answers one message if that can be done at once.
    func look(
        at octets: [UInt8],
        from asker: Asker,
        arrival: ContinuousClock.Instant
    ) -> Immediate {
        var octets = octets
        let transport = asker.transport
        var look = firstLook(octets, from: asker)
        if case .unusual = look {
            guard let plain = Self.plainQuery(octets) else {
                if let reply = Self.cookieReply(octets, asker) {
                    counters.count(.local, .noData, transport)
                    return .reply(reply)
                }
                counters.count(.invalid, .formErr, transport)
                return .malformed(malformed(octets))
            }
            octets = plain
            look = firstLook(octets, from: asker)
        }
        switch look {
        case .ignored, .unusual:
            QueryCounters.add(1, to: counters.ignored)
            return .nothing
        case .answered(let length, let source, let outcome):
            counters.count(source, outcome, transport)
            let reply = Array(scratch[..<length])
            return outcome == .formErr ? .malformed(reply) : .reply(reply)
        case .query(let facts, let isProven):
            let limit = transport == .udp ? facts.replyLimit : scratch.count
            if let reply = cachedReply(facts, limit: limit, for: asker, arrival: arrival) {
                return .reply(reply)
            }
            guard let query = Self.query(facts, in: octets) else {
                return .malformed(malformed(octets))
            }
            return .question(
                Open(
                    octets: Array(octets.prefix(facts.questionEnd)),
                    query: query,
                    facts: facts,
                    limit: limit,
                    transport: transport,
                    client: asker.address,
                    network: asker.network(isProven: isProven),
                    arrival: arrival
                )
            )
        }
    }

    /// Asks for an answer anew that is about to grow old.
    func refresh(_ query: Query) { resolver.refreshing.refresh(query) }

    /// Notes how many queries were answered from the cache since they came at `arrival`.
    func noteHits(_ hits: UInt64, since arrival: ContinuousClock.Instant) {
        counters.hitLatency.note(clocks.now() - arrival, times: hits)
    }

    // MARK: - Stopping

    /// Waits until no query waits for an answer, or until `deadline`.
    func drained(by deadline: ContinuousClock.Instant) async {
        guard inFlight > 0 else { return }
        let patience = ServiceLoop.task { [self] in
            do {
                try await clocks.sleep(deadline)
                resumeDrained()
            } catch {
                // Cancelled, because the last answer came first.
            }
        }
        await withCheckedContinuation { whenDrained = $0 }
        patience.cancel()
    }

    private func resumeDrained() {
        let waiting = whenDrained
        whenDrained = nil
        waiting?.resume()
    }

    // MARK: - Without waiting

    private func firstLook(_ octets: [UInt8], from asker: Asker) -> FirstLook {
        scratch.replaceSubrange(0..<octets.count, with: octets)
        return scratch.withMutableRawSpan { buffer in
            FirstLook(at: &buffer, count: octets.count, from: asker)
        }
    }

    /// The cache's answer to the query in `scratch`.
    ///
    /// A miss is looked up again here: meanwhile another client's wait may have brought the answer,
    /// and asking a second time would cost a second call.
    private func cachedReply(
        _ facts: QueryFacts,
        limit: Int,
        for asker: Asker,
        arrival: ContinuousClock.Instant
    ) -> [UInt8]? {
        let hit = cache.withTable(now: clocks.now()) { table, now in
            scratch.withMutableRawSpan { buffer in
                table.answer(facts, in: &buffer, limit: limit, now: now)
            }
        }
        guard let hit else { return nil }
        let end = clocks.now()
        counters.count(hit, over: asker.transport)
        counters.hitLatency.note(end - arrival)
        recent.note(
            facts,
            hit,
            in: scratch,
            over: asker.transport,
            from: asker.address,
            since: arrival,
            until: end
        )
        if hit.wantsRefresh, let query = Self.query(facts, in: scratch) {
            refresh(query)
        }
        return Array(scratch[..<hit.length])
    }

    private func malformed(_ octets: [UInt8]) -> [UInt8] {
        scratch.replaceSubrange(0..<octets.count, with: octets)
        let length = scratch.withMutableRawSpan { buffer in
            QueryFault.malformed.reply(to: octets.count, in: &buffer)
        }
        return Array(scratch[..<length])
    }

    // MARK: - With waiting

    /// Answers a query that `look` had no reply to, within `ResolverLimits.total` of its arrival.
    ///
    /// - Parameter tell: called once, perhaps before this returns, with the reply.
    func resolve(_ open: Open, _ tell: @escaping @ServiceLoop ([UInt8]) -> Void) {
        begin(open) { [self] resolution in
            let reply = render(resolution, open)
            note(resolution, open, in: reply)
            tell(reply)
        }
    }

    /// The same for callers that render the reply later: ``render(_:_:)``.
    func find(_ open: Open, _ tell: @escaping @ServiceLoop (Resolution) -> Void) {
        begin(open) { [self] resolution in
            note(resolution, open, in: open.octets)
            tell(resolution)
        }
    }

    /// The same for callers in a task.
    func resolve(_ open: Open) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            resolve(open) { continuation.resume(returning: $0) }
        }
    }

    /// The reply that carries `resolution`.
    func render(_ resolution: Resolution, _ open: Open) -> [UInt8] {
        scratch.replaceSubrange(0..<open.octets.count, with: open.octets)
        let length = write(resolution, open.facts, limit: open.limit)
        return Array(scratch[..<length])
    }

    private func begin(_ open: Open, _ tell: @escaping @ServiceLoop (Resolution) -> Void) {
        inFlight += 1
        resolver.resolve(
            open.query,
            of: open.network,
            deadline: open.arrival + ResolverLimits.total
        ) { [self] resolution in
            inFlight -= 1
            if inFlight == 0 { resumeDrained() }
            tell(resolution)
        }
    }

    /// What is asked in a message that begins with `octets`, or the reply that was made in place of
    /// it; nil if that is no name.
    private static func query(_ facts: QueryFacts, in octets: [UInt8]) -> Query? {
        let wire = Array(octets[QueryFacts.headerCount..<facts.nameEnd])
        guard let name = try? Name(wire: wire) else { return nil }
        return Query(
            question: Question(name: name, type: facts.type, recordClass: facts.recordClass),
            dnssecOK: facts.dnssecOK,
            checkingDisabled: facts.checkingDisabled
        )
    }

    /// Makes the query in `scratch` its reply.
    private func write(_ resolution: Resolution, _ facts: QueryFacts, limit: Int) -> Int {
        let options = resolution.explanation?.option ?? []
        let sections = resolution.sections
        let length = scratch.withMutableRawSpan { buffer in
            let answer = ReadyAnswer(
                rcode: resolution.rcode.rawValue,
                flags: resolution.flags,
                answerCount: sections.answerCount,
                authorityCount: sections.authorityCount,
                additionalCount: sections.additionalCount,
                sections: sections.octets.rawSpan,
                ttlOffsets: sections.ttlOffsets.rawSpan,
                options: options.rawSpan,
                age: 0
            )
            return facts.reply(with: answer, in: &buffer, limit: limit)
        }
        if scratch[2] & 0x02 != 0 { QueryCounters.add(1, to: counters.truncated) }
        return length
    }

    /// Counts a query that is answered now.
    ///
    /// - Parameter octets: the reply, or the query if the reply is not rendered yet.
    private func note(_ resolution: Resolution, _ open: Open, in octets: [UInt8]) {
        let source = QuerySource(resolution)
        let outcome = QueryOutcome(
            rcode: resolution.rcode.rawValue,
            isEmpty: resolution.sections.answerCount == 0
        )
        let end = clocks.now()
        counters.count(source, outcome, open.transport)
        missLatency.note(end - open.arrival)
        recent.note(
            open.facts,
            resolution,
            as: source,
            in: octets,
            over: open.transport,
            from: open.client,
            since: open.arrival,
            until: end
        )
    }
}
