// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
package import Net
package import Resolver

/// Query handler on the service loop, for messages that the hit paths cannot answer.
@ServiceLoop
package final class QueryHandler {
    package nonisolated let counters = QueryCounters()

    /// Latency of queries not answered from the cache, from arrival to reply.
    package nonisolated let missLatency = LatencyHistogram()

    /// Recent queries answered here: over TCP, or not from the cache.
    package nonisolated let recent = RecentQueries()

    private let cache: AnswerCache
    private var resolver: Resolver
    private let clocks: Clocks

    package private(set) var inFlight = 0

    private var whenDrained: CheckedContinuation<Void, Never>?

    /// The TCP sessions of all listeners.
    package let sessions = TCPSessionTable()

    /// Buffer in which a query becomes its reply.
    private var scratch = [UInt8](repeating: 0, count: 65_535)

    /// Hit path of TCP; created on first use because its buffers are large.
    var streams: TCPBatch {
        if let madeStreams { return madeStreams }
        let made = TCPBatch(
            cache: cache,
            counters: counters,
            recent: recent,
            clocks: clocks
        )
        madeStreams = made
        return made
    }
    private var madeStreams: TCPBatch?

    package init(cache: AnswerCache, resolver: Resolver, clocks: Clocks) {
        self.cache = cache
        self.resolver = resolver
        self.clocks = clocks
    }

    /// Replaces the resolver for new queries; pending queries keep the old one.
    package func use(_ resolver: Resolver) { self.resolver = resolver }

    /// Result of processing a message without waiting.
    package enum Immediate {
        case reply([UInt8])

        /// The message is not a valid query; the FORMERR reply.
        case malformed([UInt8])

        /// The message is not a query; no reply is sent.
        case nothing

        /// The cache has no answer; the caller calls `resolve` or `find`.
        case question(Open)
    }

    /// A valid query that must be resolved.
    package struct Open: Sendable {
        /// The header and the question; the reply needs no more.
        fileprivate let octets: [UInt8]
        fileprivate let query: Query
        fileprivate let facts: QueryFacts
        fileprivate let limit: Int
        fileprivate let transport: QueryTransport
        fileprivate let client: IPAddress
        fileprivate let network: ClientNetwork
        fileprivate let arrival: Instant
    }

    /// Answers one message if no waiting is needed.
    package func look(
        at octets: [UInt8],
        from clientContext: ClientContext,
        arrival: Instant
    ) -> Immediate {
        var octets = octets
        let transport = clientContext.transport
        var look = firstLook(octets, from: clientContext)
        if case .unusual = look {
            guard let plain = Self.plainQuery(octets) else {
                if let reply = Self.cookieReply(octets, clientContext) {
                    counters.count(.local, .noData, transport)
                    return .reply(reply)
                }
                counters.count(.invalid, .formErr, transport)
                return .malformed(malformed(octets))
            }
            octets = plain
            look = firstLook(octets, from: clientContext)
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
            if let reply = cachedReply(facts, limit: limit, for: clientContext, arrival: arrival) {
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
                    client: clientContext.address,
                    network: clientContext.network(isProven: isProven),
                    arrival: arrival
                )
            )
        }
    }

    /// Refreshes a cached answer that a client was given.
    ///
    /// - Parameter client: the client, to which vendor calls are charged.
    package func refresh(_ query: Query, for client: ClientNetwork) {
        resolver.prefetcher.refresh(query, for: client)
    }

    func noteHits(_ hits: UInt64, since arrival: Instant) {
        counters.hitLatency.note(clocks.now() - arrival, times: hits)
    }

    // MARK: - Stopping

    /// Waits until no query is in flight, or until `deadline`.
    package func drained(by deadline: Instant) async {
        guard inFlight > 0 else { return }
        let timeout = ServiceLoop.task { [self] in
            do {
                try await clocks.sleep(deadline)
                resumeDrained()
            } catch {
                // Cancelled: no query is in flight any more.
            }
        }
        await withCheckedContinuation { whenDrained = $0 }
        timeout.cancel()
    }

    private func resumeDrained() {
        let waiting = whenDrained
        whenDrained = nil
        waiting?.resume()
    }

    // MARK: - Without waiting

    private func firstLook(_ octets: [UInt8], from clientContext: ClientContext) -> QueryValidation
    {
        scratch.replaceSubrange(0..<octets.count, with: octets)
        return scratch.withMutableRawSpan { buffer in
            QueryValidation(at: &buffer, count: octets.count, from: clientContext)
        }
    }

    /// Returns the cached reply to the query in `scratch`.
    ///
    /// The cache is checked again after a worker's miss: another query may have stored the answer.
    private func cachedReply(
        _ facts: QueryFacts,
        limit: Int,
        for clientContext: ClientContext,
        arrival: Instant
    ) -> [UInt8]? {
        let hit = cache.withTable(now: clocks.now()) { table, now in
            scratch.withMutableRawSpan { buffer in
                table.answer(facts, in: &buffer, limit: limit, now: now)
            }
        }
        guard let hit else { return nil }
        let end = clocks.now()
        counters.count(hit, over: clientContext.transport)
        counters.hitLatency.note(end - arrival)
        recent.note(
            facts,
            hit,
            in: scratch,
            over: clientContext.transport,
            from: clientContext.address,
            since: arrival,
            until: end
        )
        if hit.wantsRefresh, let query = Self.query(facts, in: scratch) {
            refresh(query, for: clientContext.network(isProven: false))
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

    /// Resolves a query within `ResolverLimits.total` of its arrival, and renders the reply.
    ///
    /// - Parameter completion: called exactly once, possibly before this method returns.
    package func resolve(_ open: Open, _ completion: @escaping @ServiceLoop ([UInt8]) -> Void) {
        begin(open) { [self] resolution in
            let reply = render(resolution, open)
            note(resolution, open, in: reply)
            completion(reply)
        }
    }

    /// Resolves a query like `resolve`; the caller renders the reply with ``render(_:_:)``.
    func find(_ open: Open, _ completion: @escaping @ServiceLoop (Resolution) -> Void) {
        begin(open) { [self] resolution in
            note(resolution, open, in: open.octets)
            completion(resolution)
        }
    }

    func render(_ resolution: Resolution, _ open: Open) -> [UInt8] {
        scratch.replaceSubrange(0..<open.octets.count, with: open.octets)
        let length = write(resolution, open.facts, limit: open.limit)
        return Array(scratch[..<length])
    }

    private func begin(_ open: Open, _ completion: @escaping @ServiceLoop (Resolution) -> Void) {
        inFlight += 1
        resolver.resolve(
            open.query,
            of: open.network,
            deadline: open.arrival + ResolverLimits.total
        ) { [self] resolution in
            inFlight -= 1
            if inFlight == 0 { resumeDrained() }
            completion(resolution)
        }
    }

    /// Returns the question of a message that begins with `octets`; nil if the name is invalid.
    private static func query(_ facts: QueryFacts, in octets: [UInt8]) -> Query? {
        let wire = Array(octets[QueryFacts.headerCount..<facts.nameEnd])
        guard let name = try? Name(wire: wire) else { return nil }
        return Query(
            question: Question(name: name, type: facts.type, recordClass: facts.recordClass),
            dnssecOK: facts.dnssecOK,
            checkingDisabled: facts.checkingDisabled
        )
    }

    /// Replaces the query in `scratch` by its reply; returns the reply's length.
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

    /// Counts and records an answered query.
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
