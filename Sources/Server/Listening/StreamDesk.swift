// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net
internal import Resolver

/// Answers from the cache the messages that came with one read of a TCP connection.
///
/// Read once, answer every message, write once: as a worker does with datagrams, so that a hit
/// costs its look-up and no memory of its own.  There is one input and one output for all
/// connections, of which the loop serves one at a time: an idle one holds no buffer.
@ServiceLoop
final class StreamDesk {
    private let cache: AnswerCache
    private let counters: QueryCounters
    private let recent: RecentQueries
    private let clocks: Clocks
    private var input = StreamInput()
    private var output = StreamOutput()
    private var queries = PlainQueries()

    /// Makes a desk.
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

    /// Begins with what a connection left when it was served last.
    func begin(with rest: [UInt8]) { input.begin(with: rest) }

    /// Ends with what was read and not taken, which the connection has to keep.
    func end() -> [UInt8] { input.takeRest() }

    /// Reads what has come over `stream`; see `StreamConnection.attemptRead`.
    ///
    /// To be called when no whole message is left.
    func read(from stream: StreamConnection) throws(SocketError) -> Int? {
        try input.read(from: stream)
    }

    // MARK: - Answering

    /// What became of the messages that were taken.
    struct Outcome {
        /// How many they were.
        var count = 0

        var hits: UInt64 = 0

        /// Which of them were not answered: no plain queries, or none that the cache can answer.
        var leftOver = SlotSet()

        /// Which of the questions that were answered are to be asked anew.
        var refreshes = SlotSet()
    }

    /// Takes the next whole messages, up to 32, and answers those that the cache has answers to.
    ///
    /// Their replies wait for `write`; what was left over lies ready for `message`.
    func answer(from asker: Asker, now: ContinuousClock.Instant) -> Outcome {
        input.take()
        guard input.count > 0 else { return Outcome() }
        let unusual = look(&output, &queries, &input, from: asker)
        let found = lookUp(&output, &queries, &input, now: now)
        if !found.hits.isEmpty { note(found.hits, from: asker, since: now) }
        return Outcome(
            count: input.count,
            hits: UInt64(found.hits.count),
            leftOver: found.misses.union(unusual),
            refreshes: found.refreshes
        )
    }

    /// The message that was taken last as number `slot`.
    func message(_ slot: Int) -> [UInt8] { Array(input.octets[input.messages[slot]]) }

    /// What was asked in that message, which was answered.
    func query(_ slot: Int) -> Query? {
        Query(answeredIn: message(slot), dnssecOK: queries.wantsDNSSEC(slot))
    }

    /// Finds the plain queries among the messages, and returns where the others are.
    private func look(
        _ output: inout StreamOutput,
        _ queries: inout PlainQueries,
        _ input: inout StreamInput,
        from asker: Asker
    ) -> SlotSet {
        var unusual = SlotSet()
        queries.removeAll()
        for slot in 0..<input.count {
            let message = input.messages[slot]
            let look = output.withRoom { room -> FirstLook in
                guard message.count <= StreamOutput.longestQuery else { return .unusual }
                room.copy(input.octets.rawSpan.extracting(message), to: 0)
                return FirstLook(at: &room, count: message.count, from: asker)
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

    /// Puts the cache's answers to the queries behind each other.
    private func lookUp(
        _ output: inout StreamOutput,
        _ queries: inout PlainQueries,
        _ input: inout StreamInput,
        now: ContinuousClock.Instant
    ) -> PlainQueries.Outcome {
        queries.lookUp(in: cache, now: now) { slot, facts, hash, table, now in
            // Rare: many long answers.  What finds no room is left over.
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

    /// Notes which queries were answered.
    private func note(_ hits: SlotSet, from asker: Asker, since arrival: ContinuousClock.Instant) {
        let end = clocks.now()
        for slot in hits {
            guard let (facts, hit) = queries.answered(slot) else { continue }
            recent.note(
                facts,
                hit,
                at: input.messages[slot].lowerBound,
                in: input.octets,
                over: .tcp,
                from: asker.address,
                since: arrival,
                until: end
            )
        }
    }

    // MARK: - Writing

    /// Whether replies have to be written before there is room for more.
    var isFull: Bool { !output.hasRoom }

    /// Writes the replies over `stream` as far as the kernel takes them, and appends the rest to
    /// `waiting`; without a stream, all.
    func write(
        to stream: StreamConnection?,
        waiting: inout [UInt8]
    ) throws(SocketError) {
        try output.write(to: stream, waiting: &waiting)
    }
}
