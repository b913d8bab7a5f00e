// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Parsed queries of one batch, for a common lookup with prefetched entries.
struct PlainQueries {
    static let capacity = 32

    private var slots = SlotSet()

    private var proven = SlotSet()

    /// Valid only for the slots in `slots`.
    private var facts = InlineArray<32, QueryFacts?>(repeating: nil)
    private var hashes = InlineArray<32, UInt64>(repeating: 0)

    /// Valid for the slots in `Outcome.hits`.
    private var answers = InlineArray<32, CacheHit?>(repeating: nil)

    struct Outcome {
        var hits = SlotSet()

        var misses = SlotSet()

        var refreshes = SlotSet()

        var hasOffers = false
    }

    mutating func removeAll() { (slots, proven) = (SlotSet(), SlotSet()) }

    mutating func add(_ query: QueryFacts, hash: UInt64, isProven: Bool = false, at slot: Int) {
        slots.insert(slot)
        if isProven { proven.insert(slot) }
        facts[slot] = query
        hashes[slot] = hash
    }

    func wantsDNSSEC(_ slot: Int) -> Bool { facts[slot]?.dnssecOK ?? false }

    /// Returns a parsed query; `mutating` avoids a copy of 3 KiB (Swift 6.3).
    mutating func query(_ slot: Int, in batch: inout DatagramBatch) -> PlainQuery? {
        guard slots.contains(slot), let facts = facts[slot] else { return nil }
        let (hash, isProven) = (hashes[slot], proven.contains(slot))
        return batch.withBuffer(slot) {
            PlainQuery(facts, hash: hash, isProven: isProven, in: $0.bytes)
        }
    }

    mutating func answered(_ slot: Int) -> (facts: QueryFacts, hit: CacheHit)? {
        guard let facts = facts[slot], let hit = answers[slot] else { return nil }
        return (facts, hit)
    }

    mutating func lookUp(
        in cache: AnswerCache,
        now: Instant,
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
