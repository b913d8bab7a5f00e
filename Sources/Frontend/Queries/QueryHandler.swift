// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
package import Net
package import Resolver

/// Handler, on the service loop, for messages that a worker or ``TCPBatch`` cannot answer.
@ServiceLoop
package final class QueryHandler {
    package nonisolated let counters = QueryCounters()

    package nonisolated let missLatency = LatencyHistogram()

    package nonisolated let recent = RecentQueries()

    private let cache: AnswerCache
    private var resolver: Resolver
    private let clocks: Clocks

    // Swift would check the exclusive access to a stored `package` variable at run time.
    package var inFlight: Int { unanswered }
    private var unanswered = 0

    private var whenDrained: Waiter?

    package let sessions = TCPSessionTable()

    private var scratch = [UInt8](repeating: 0, count: 65_535)

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

        /// The FORMERR reply.
        case malformed([UInt8])

        case nothing

        case question(Open)
    }

    package struct Open: Sendable {
        fileprivate let plain: PlainQuery
        fileprivate let origin: QueryOrigin
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
            let plain = withScratch { buffer in
                let hash = cache.hash(facts, in: buffer.bytes)
                return PlainQuery(facts, hash: hash, isProven: isProven, in: buffer.bytes)
            }
            let origin = QueryOrigin(
                transport: transport,
                client: clientContext.address,
                arrival: arrival
            )
            return cachedReply(plain, origin).map(Immediate.reply)
                ?? .question(Open(plain: plain, origin: origin))
        }
    }

    package func answer(_ miss: Miss) {
        guard miss.isParsed else { return answerUnparsed(miss) }
        let mayBeCached = cache.mayContain(miss.plain.hash)
        if mayBeCached {
            restore(miss.plain)
            if let reply = cachedReply(miss.plain, miss.origin) {
                return miss.listener.reply(reply, to: miss.datagram)
            }
        }
        resolve(miss, mayBeCached: mayBeCached)
    }

    private func answerUnparsed(_ miss: Miss) {
        let octets = miss.datagram.octets
        switch look(at: octets, from: miss.clientContext, arrival: miss.arrival) {
        case .nothing: break
        case .reply(let reply), .malformed(let reply):
            miss.listener.reply(reply, to: miss.datagram)
        case .question(let open):
            resolve(miss.parsed(open.plain))
        }
    }

    private func resolve(_ miss: Miss, mayBeCached: Bool = true) {
        miss.handler = self
        let completion = Completion<Resolution> { miss.handler?.finish(miss, $0) }
        begin(miss.plain, miss.origin, mayBeCached: mayBeCached, completion)
    }

    private func finish(_ miss: Miss, _ resolution: Resolution) {
        let length = finish(miss.plain, miss.origin, resolution)
        miss.listener.reply(scratch, count: length, to: miss.datagram)
    }

    /// Refreshes an answer; the vendor call counts against the limits of `client`.
    package func refresh(_ query: Query, for client: ClientNetwork) {
        resolver.prefetcher.refresh(query, for: client)
    }

    func noteHits(_ hits: UInt64, since arrival: Instant) {
        counters.hitLatency.note(clocks.now() - arrival, times: hits)
    }

    // MARK: - Stopping

    package func drained(by deadline: Instant) async {
        guard unanswered > 0 else { return }
        let waiter = Waiter()
        whenDrained = waiter
        _ = await waiter.wait(until: deadline, clocks)
    }

    // MARK: - Without waiting

    /// Calls `body` with `scratch` in a local variable, to avoid checks of exclusive access.
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

    private func cachedReply(_ plain: PlainQuery, _ origin: QueryOrigin) -> [UInt8]? {
        let limit = limit(plain, origin)
        let hit = withScratch { buffer in
            cache.withTable(now: clocks.now()) { table, now in
                table.answer(plain.facts, hash: plain.hash, in: &buffer, limit: limit, now: now)
            }
        }
        guard let hit else { return nil }
        let end = clocks.now()
        counters.count(hit, over: origin.transport)
        counters.hitLatency.note(end - origin.arrival)
        recent.note(
            plain.facts,
            hit,
            in: scratch,
            over: origin.transport,
            from: origin.client,
            since: origin.arrival,
            until: end
        )
        if hit.wantsRefresh { refresh(plain.query, for: origin.network(isProven: false)) }
        return Array(scratch[..<hit.length])
    }

    private func limit(_ plain: PlainQuery, _ origin: QueryOrigin) -> Int {
        origin.transport == .udp ? plain.facts.replyLimit : scratch.count
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
            let length = finish(open.plain, open.origin, resolution)
            completion(Array(scratch[..<length]))
        }
        begin(open.plain, open.origin, resolved)
    }

    func find(_ open: Open, _ completion: consuming Completion<Resolution>) {
        let resolved = completion.after { [self] (resolution: Resolution, completion) in
            finished()
            restore(open.plain)
            note(resolution, open.plain, open.origin)
            completion(resolution)
        }
        begin(open.plain, open.origin, resolved)
    }

    func render(_ resolution: Resolution, _ open: Open) -> [UInt8] {
        restore(open.plain)
        let length = write(resolution, open.plain.facts, limit: limit(open.plain, open.origin))
        return Array(scratch[..<length])
    }

    private func begin(
        _ plain: PlainQuery,
        _ origin: QueryOrigin,
        mayBeCached: Bool = true,
        _ completion: consuming Completion<Resolution>
    ) {
        unanswered += 1
        resolver.resolve(
            plain.query,
            hash: plain.hash,
            mayBeCached: mayBeCached,
            of: origin.network(isProven: plain.isProven),
            deadline: origin.arrival + ResolverLimits.total,
            completion
        )
    }

    private func finish(
        _ plain: PlainQuery,
        _ origin: QueryOrigin,
        _ resolution: Resolution
    ) -> Int {
        finished()
        restore(plain)
        let isTruncated =
            (resolution.isCrowded || resolution.isLimited)
            && !origin.network(isProven: plain.isProven).isProven
        let length =
            isTruncated
            ? truncate(plain.facts) : write(resolution, plain.facts, limit: limit(plain, origin))
        note(resolution, plain, origin)
        return length
    }

    private func truncate(_ facts: QueryFacts) -> Int {
        QueryCounters.add(1, to: counters.truncated)
        return withScratch { buffer in
            facts.reply(
                rcode: RCode.noError.rawValue,
                moreFlags: HeaderFlags.truncated,
                in: &buffer
            )
        }
    }

    private func finished() {
        unanswered -= 1
        if unanswered == 0 { whenDrained?.resume(.ready) }
    }

    private func restore(_ plain: PlainQuery) {
        withScratch { buffer in
            plain.facts.write(id: plain.id, plain.query.question.name, to: &buffer)
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

    private func note(
        _ resolution: Resolution,
        _ plain: PlainQuery,
        _ origin: QueryOrigin
    ) {
        let source = QuerySource(resolution)
        let outcome = QueryOutcome(
            rcode: resolution.rcode.rawValue,
            isEmpty: resolution.sections.answerCount == 0
        )
        let end = clocks.now()
        counters.count(source, outcome, origin.transport)
        missLatency.note(end - origin.arrival)
        recent.note(
            plain.facts,
            resolution,
            as: source,
            in: scratch,
            over: origin.transport,
            from: origin.client,
            since: origin.arrival,
            until: end
        )
    }
}
