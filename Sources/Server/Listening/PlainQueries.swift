// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire

/// The queries of a batch of messages that the cache is asked for, all at once.
///
/// The cache's lock is taken once for all, and the memory that all of them need is on its way before
/// the first is answered: one after the other, each would wait for its own, and in a large cache
/// that is most of what an answer takes.
struct PlainQueries {
    /// Messages that a batch may have.
    static let capacity = 32

    /// Where they are.
    private var slots = SlotSet()

    /// What they ask, and under which numbers that is looked for; of other slots what was there
    /// earlier.
    private var facts = InlineArray<32, QueryFacts?>(repeating: nil)
    private var hashes = InlineArray<32, UInt64>(repeating: 0)

    /// How they were answered; valid for hits.
    private var answers = InlineArray<32, CacheHit?>(repeating: nil)

    /// What became of them.
    struct Outcome {
        /// Where the queries are that were answered.
        var hits = SlotSet()

        /// Where the queries are that were not answered.
        var misses = SlotSet()

        /// Where the questions are that were answered, and are to be asked anew.
        var refreshes = SlotSet()

        /// Whether there are answers that somebody else could give, if they were copied.
        var hasOffers = false
    }

    /// Forgets all.
    mutating func removeAll() { slots = SlotSet() }

    /// Adds the query in `slot`.
    mutating func add(_ query: QueryFacts, hash: UInt64, at slot: Int) {
        slots.insert(slot)
        facts[slot] = query
        hashes[slot] = hash
    }

    /// Whether the client that asked in `slot` wants DNSSEC records.
    func wantsDNSSEC(_ slot: Int) -> Bool { facts[slot]?.dnssecOK ?? false }

    /// What was asked in `slot`, and how it was answered; mutating for the same reason as `lookUp`.
    mutating func answered(_ slot: Int) -> (facts: QueryFacts, hit: CacheHit)? {
        guard let facts = facts[slot], let hit = answers[slot] else { return nil }
        return (facts, hit)
    }

    /// Has `answer` look up each of them in the cache's table.
    ///
    /// Mutating only so that they are looked at where they lie: a borrowed array is copied whole for
    /// each of its elements (Swift 6.3), some 350 instructions a query.
    ///
    /// - Parameter answer: gets the slot, what is asked there, its hash, the table and the table's
    ///   time; it holds the cache's lock, so it must not wait.
    mutating func lookUp(
        in cache: AnswerCache,
        now: ContinuousClock.Instant,
        _ answer: (Int, QueryFacts, UInt64, inout AnswerTable, UInt64) -> CacheHit?
    ) -> Outcome {
        var outcome = Outcome()
        guard !slots.isEmpty else { return outcome }
        cache.withTable(now: now) { table, now in
            if slots.count > 1 {
                for slot in slots { table.prefetchPlace(hashes[slot]) }
                for slot in slots { table.prefetchAnswer(hashes[slot]) }
            }
            for slot in slots {
                guard let query = facts[slot] else { continue }
                guard let hit = answer(slot, query, hashes[slot], &table, now) else {
                    outcome.misses.insert(slot)
                    continue
                }
                answers[slot] = hit
                outcome.hits.insert(slot)
                if hit.wantsRefresh { outcome.refreshes.insert(slot) }
            }
            outcome.hasOffers = table.hasOffers
        }
        return outcome
    }
}
