// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
package import Net
package import Resolver

/// Handler of messages that a worker or ``TCPBatch`` cannot answer, on the service loop.
@ServiceLoop
package final class QueryHandler {
    package nonisolated let counters = QueryCounters()

    /// Latency of queries not answered from the cache, from arrival to reply.
    package nonisolated let missLatency = LatencyHistogram()

    /// Recent queries over TCP, or not answered from the cache.
    package nonisolated let recent = RecentQueries()

    private let cache: AnswerCache
    private var resolver: Resolver
    private let clocks: Clocks

    // A stored `package` variable would be slower: Swift checks its exclusive access at run time.
    package var inFlight: Int { unanswered }
    private var unanswered = 0

    private var whenDrained: Waiter?

    package let sessions = TCPSessionTable()

    /// Buffer with a query, in which its reply is written.
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

    /// Replaces the resolver for new queries; pending queries keep the old resolver.
    package func use(_ resolver: Resolver) { self.resolver = resolver }

    package enum Immediate {
        case reply([UInt8])

        /// The message is not a valid query; contains the FORMERR reply.
        case malformed([UInt8])

        /// The message is not a query; no reply is sent.
        case nothing

        /// The cache has no answer; the caller calls `resolve` or `find`.
        case question(Open)
    }

    package struct Open: Sendable {
        fileprivate let id: UInt16
        fileprivate let query: Query
        fileprivate let facts: QueryFacts
        fileprivate let limit: Int
        fileprivate let transport: QueryTransport
        fileprivate let client: IPAddress
        fileprivate let network: ClientNetwork
        fileprivate let arrival: Instant
    }

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
            let network = clientContext.network(isProven: isProven)
            return answer(facts, nil, from: clientContext, network, arrival: arrival)
        }
    }

    /// Answers a datagram that a worker could not answer.
    package func answer(_ miss: Miss) {
        let (listener, context) = (miss.listener, miss.clientContext)
        let immediate: Immediate
        if let plain = miss.plain {
            copy(miss.datagram.octets)
            immediate = answer(
                plain.facts,
                plain.hash,
                from: context,
                context.network(isProven: plain.isProven),
                arrival: miss.arrival
            )
        } else {
            immediate = look(at: miss.datagram.octets, from: context, arrival: miss.arrival)
        }
        switch immediate {
        case .nothing: break
        case .reply(let reply), .malformed(let reply):
            listener.reply(reply, to: miss.datagram)
        case .question(let open):
            let completion = Completion<Resolution> { [self, asker = miss.asker] resolution in
                let length = finish(open, resolution)
                asker.listener.reply(scratch, count: length, to: asker.datagram)
            }
            begin(open, completion)
        }
    }

    /// Answers the query in `scratch` from the cache, or returns an open question.
    ///
    /// - Parameter hash: the cache's hash of the question; nil if unknown.
    private func answer(
        _ facts: QueryFacts,
        _ hash: UInt64?,
        from clientContext: ClientContext,
        _ network: ClientNetwork,
        arrival: Instant
    ) -> Immediate {
        let limit = clientContext.transport == .udp ? facts.replyLimit : scratch.count
        let hit = cachedReply(facts, hash, limit: limit, for: clientContext, arrival: arrival)
        if let hit { return .reply(hit) }
        return .question(
            Open(
                id: UInt16(scratch[0]) << 8 | UInt16(scratch[1]),
                query: query(facts),
                facts: facts,
                limit: limit,
                transport: clientContext.transport,
                client: clientContext.address,
                network: network,
                arrival: arrival
            )
        )
    }

    /// Refreshes a cached answer.
    ///
    /// - Parameter client: the client to which vendor calls are charged.
    package func refresh(_ query: Query, for client: ClientNetwork) {
        resolver.prefetcher.refresh(query, for: client)
    }

    func noteHits(_ hits: UInt64, since arrival: Instant) {
        counters.hitLatency.note(clocks.now() - arrival, times: hits)
    }

    // MARK: - Stopping

    /// Waits until no query is in flight, or until `deadline`.
    package func drained(by deadline: Instant) async {
        guard unanswered > 0 else { return }
        let waiter = Waiter()
        whenDrained = waiter
        let timer = clocks.timer(deadline) { waiter.resume(.timedOut) }
        _ = await waiter.wait(until: nil)
        timer.cancel()
    }

    // MARK: - Without waiting

    /// Calls `body` with `scratch`.
    ///
    /// The swap avoids checks of exclusive access to `scratch` at run time.
    private func withScratch<Value>(_ body: (inout MutableRawSpan) -> Value) -> Value {
        var octets: [UInt8] = []
        swap(&octets, &scratch)
        defer { swap(&octets, &scratch) }
        return octets.withMutableRawSpan(body)
    }

    private func copy(_ octets: [UInt8]) {
        withScratch { $0.copy(octets.rawSpan, to: 0) }
    }

    private func firstLook(_ octets: [UInt8], from clientContext: ClientContext) -> QueryValidation
    {
        copy(octets)
        return withScratch { buffer in
            QueryValidation(at: &buffer, count: octets.count, from: clientContext)
        }
    }

    /// Looks up the query again: another query may have stored the answer since the worker's miss.
    private func cachedReply(
        _ facts: QueryFacts,
        _ hash: UInt64?,
        limit: Int,
        for clientContext: ClientContext,
        arrival: Instant
    ) -> [UInt8]? {
        let hit = withScratch { buffer in
            let hash = hash ?? cache.hash(facts, in: buffer.bytes)
            return cache.withTable(now: clocks.now()) { table, now in
                table.answer(facts, hash: hash, in: &buffer, limit: limit, now: now)
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
        if hit.wantsRefresh {
            refresh(query(facts), for: clientContext.network(isProven: false))
        }
        return Array(scratch[..<hit.length])
    }

    private func query(_ facts: QueryFacts) -> Query {
        withScratch { Query(facts, in: $0.bytes) }
    }

    private func malformed(_ octets: [UInt8]) -> [UInt8] {
        copy(octets)
        let length = withScratch { buffer in
            QueryFault.malformed.reply(to: octets.count, in: &buffer)
        }
        return Array(scratch[..<length])
    }

    // MARK: - With waiting

    /// Resolves a query within `ResolverLimits.total` of its arrival, and renders the reply.
    ///
    /// - Parameter completion: may be called before this method returns.
    package func resolve(_ open: Open, _ completion: consuming Completion<[UInt8]>) {
        let resolved = completion.after { [self] (resolution: Resolution, completion) in
            let length = finish(open, resolution)
            completion(Array(scratch[..<length]))
        }
        begin(open, resolved)
    }

    /// Resolves a query; the caller renders the reply with ``render(_:_:)``.
    func find(_ open: Open, _ completion: consuming Completion<Resolution>) {
        let resolved = completion.after { [self] (resolution: Resolution, completion) in
            finished()
            restore(open)
            note(resolution, open)
            completion(resolution)
        }
        begin(open, resolved)
    }

    func render(_ resolution: Resolution, _ open: Open) -> [UInt8] {
        restore(open)
        let length = write(resolution, open.facts, limit: open.limit)
        return Array(scratch[..<length])
    }

    private func begin(_ open: Open, _ completion: consuming Completion<Resolution>) {
        unanswered += 1
        resolver.resolve(
            open.query,
            of: open.network,
            deadline: open.arrival + ResolverLimits.total,
            completion
        )
    }

    /// Writes the reply into `scratch`, and returns the length.
    private func finish(_ open: Open, _ resolution: Resolution) -> Int {
        finished()
        restore(open)
        let length = write(resolution, open.facts, limit: open.limit)
        note(resolution, open)
        return length
    }

    private func finished() {
        unanswered -= 1
        if unanswered == 0 { whenDrained?.resume(.ready) }
    }

    private func restore(_ open: Open) {
        withScratch { buffer in
            open.facts.write(id: open.id, open.query.question.name, to: &buffer)
        }
    }

    private func write(_ resolution: Resolution, _ facts: QueryFacts, limit: Int) -> Int {
        let options = resolution.explanation?.option ?? []
        let sections = resolution.sections
        let length = withScratch { buffer in
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
    /// `scratch` has the reply or, if the caller renders the reply later, the query's question.
    private func note(_ resolution: Resolution, _ open: Open) {
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
            in: scratch,
            over: open.transport,
            from: open.client,
            since: open.arrival,
            until: end
        )
    }
}
