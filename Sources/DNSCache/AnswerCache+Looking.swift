// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Looking at entries, which is no demand: it is for operators, not for clients.
extension AnswerCache {
    /// What the cache holds for a name: of one type, or of all.
    package func entries(
        named name: Name,
        type: RecordType?,
        now: ContinuousClock.Instant
    ) -> [CacheEntry] {
        var walk = CacheWalk(self, .name(name, type))
        var found: [CacheEntry] = []
        while let entries = walk.next(now: now) { found += entries }
        return found.inOrder
    }

    /// The entry that a client's query is answered from now; nil if it is a miss.
    package func entry(
        answering question: Question,
        variant: AnswerVariant,
        now: ContinuousClock.Instant
    ) -> CacheEntry? {
        let name = question.name.octets
        return withTable(now: now) { table, now in
            let type = question.type.rawValue
            let hash = table.hash(name.rawSpan, type: type)
            return table.find(name.rawSpan, type, variant, hash, now: now).flatMap {
                table.entry($0, now: now)
            }
        }
    }

    /// The entry that a client gets when no better answer is to be had: `staleAnswer` looked at.
    ///
    /// - Returns: besides, whether a failure is remembered, so that nobody is asked for now.
    package func lastResort(
        for question: Question,
        variant: AnswerVariant,
        now: ContinuousClock.Instant
    ) -> (entry: CacheEntry, isHeld: Bool)? {
        withTable(now: now) { table, now in
            table.newest(for: question, variant: variant, now: now).flatMap { newest in
                table.entry(newest.reference, now: now).map { ($0, newest.isHeld) }
            }
        }
    }
}

extension [CacheEntry] {
    /// The entries of a name by type, and those of a type by variant.
    package var inOrder: [CacheEntry] {
        sorted { ($0.type.rawValue, $0.variant.rawValue) < ($1.type.rawValue, $1.variant.rawValue) }
    }
}

/// A walk over entries for somebody who takes his time: a few of them each time he asks.
///
/// It holds nothing but its place: entries may come and go meanwhile, and those that come may be
/// shown or not.  It ends after a lap of the ring, however fast they come.
package struct CacheWalk {
    /// Entries that are copied while the lock is held once: some 20 µs.
    static let copies = 16

    private let cache: AnswerCache
    private let selection: AnswerCache.Selection

    /// Where it goes on; nil at the end.
    private var position: Int? = 0
    private let end: Int

    /// Begins a walk over the entries selected.
    package init(_ cache: AnswerCache, _ selection: AnswerCache.Selection = .all) {
        self.cache = cache
        self.selection = selection
        end = cache.lapEnd
    }

    /// Whether it has shown all.
    package var isAtEnd: Bool { position.map { $0 >= end } ?? true }

    /// Some entries, perhaps none although there are more; nil at the end.
    package mutating func next(now: ContinuousClock.Instant) -> [CacheEntry]? {
        guard let start = position, start < end else { return nil }
        let selection = selection
        var found: [CacheEntry] = []
        position = cache.withTable(now: now) { table, now in
            table.walk(from: start, count: AnswerCache.stride) { table, reference in
                if table.matches(reference, selection, now: now),
                    let entry = table.entry(reference, now: now)
                {
                    found.append(entry)
                }
                return found.count < Self.copies ? .keep : .stop
            }
        }
        return found
    }
}
