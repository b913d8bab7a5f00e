// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
package import Net
internal import Resolver

/// Messages from one `read` call of a connection; all connections share the buffers.
@ServiceLoop
package final class TCPBatch {
    private let cache: AnswerCache
    private let counters: QueryCounters
    private let recent: RecentQueries
    private let clocks: Clocks
    private var input = StreamInput()
    private var output = StreamOutput()
    private var queries = PlainQueries()

    init(
        cache: AnswerCache,
        counters: QueryCounters,
        recent: RecentQueries,
        clocks: Clocks
    ) {
        self.cache = cache
        self.counters = counters
        self.recent = recent
        self.clocks = clocks
    }

    // MARK: - Reading

    func begin(with rest: [UInt8]) { input.begin(with: rest) }

    func end() -> [UInt8] { input.takeRest() }

    var hasMessage: Bool { input.hasMessage }

    func read(from stream: StreamConnection) throws(SocketError) -> Int? {
        try input.read(from: stream)
    }

    // MARK: - Answering

    struct Outcome {
        var count = 0

        var hits: UInt64 = 0

        var leftOver = SlotSet()

        var refreshes = SlotSet()
    }

    /// Answers at most 32 messages from the cache; `write` sends the replies.
    func answer(from clientContext: ClientContext, now: Instant) -> Outcome {
        input.take()
        guard input.count > 0 else { return Outcome() }
        let unusual = look(&output, &queries, &input, from: clientContext)
        let found = lookUp(&output, &queries, &input, now: now)
        if !found.hits.isEmpty { note(found.hits, from: clientContext, since: now) }
        return Outcome(
            count: input.count,
            hits: UInt64(found.hits.count),
            leftOver: found.misses.union(unusual),
            refreshes: found.refreshes
        )
    }

    func message(_ slot: Int) -> [UInt8] { Array(input.octets[input.messages[slot]]) }

    func query(_ slot: Int) -> Query? {
        Query(answeredIn: message(slot), dnssecOK: queries.wantsDNSSEC(slot))
    }

    private func look(
        _ output: inout StreamOutput,
        _ queries: inout PlainQueries,
        _ input: inout StreamInput,
        from clientContext: ClientContext
    ) -> SlotSet {
        var unusual = SlotSet()
        queries.removeAll()
        for slot in 0..<input.count {
            let message = input.messages[slot]
            let look = output.withRoom { room -> QueryValidation in
                guard message.count <= StreamOutput.longestQuery else { return .unusual }
                room.copy(input.octets.rawSpan.extracting(message), to: 0)
                return QueryValidation(at: &room, count: message.count, from: clientContext)
            }
            guard case .query(let facts, _) = look else {
                unusual.insert(slot)
                continue
            }
            let hash = cache.hash(facts, in: input.octets.rawSpan.extracting(message))
            queries.add(facts, hash: hash, at: slot)
        }
        return unusual
    }

    private func lookUp(
        _ output: inout StreamOutput,
        _ queries: inout PlainQueries,
        _ input: inout StreamInput,
        now: Instant
    ) -> PlainQueries.Outcome {
        queries.lookUp(in: cache, now: now) { slot, facts, hash, table, now in
            guard output.hasRoom else { return nil }
            let hit = output.withRoom { room -> CacheHit? in
                room.copy(input.octets.rawSpan.extracting(input.messages[slot]), to: 0)
                let limit = StreamOutput.longestReply
                return table.answer(facts, hash: hash, in: &room, limit: limit, now: now)
            }
            if let hit {
                output.append(hit.length)
                counters.count(hit, over: .tcp)
            }
            return hit
        }
    }

    private func note(
        _ hits: SlotSet,
        from clientContext: ClientContext,
        since arrival: Instant
    ) {
        let end = clocks.now()
        for slot in hits {
            guard let (facts, hit) = queries.answered(slot) else { continue }
            recent.note(
                facts,
                hit,
                at: input.messages[slot].lowerBound,
                in: input.octets,
                over: .tcp,
                from: clientContext.address,
                since: arrival,
                until: end
            )
        }
    }

    // MARK: - Writing

    var isFull: Bool { !output.hasRoom }

    func write(
        to stream: StreamConnection?,
        waiting: inout [UInt8]
    ) throws(SocketError) {
        try output.write(to: stream, waiting: &waiting)
    }
}
