// SPDX-License-Identifier: Apache-2.0
package import DNSWire

extension AnswerCache {
    /// Returns the entry that answers `question`; nil on a miss.
    package func entry(
        answering question: Question,
        variant: AnswerVariant,
        now: Instant
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

    /// Returns the newest NOERROR or NXDOMAIN entry, fresh or stale.
    ///
    /// ``StaleAnswer/isHeld`` explains `isHeld`.
    package func lastResort(
        for question: Question,
        variant: AnswerVariant,
        now: Instant
    ) -> (entry: CacheEntry, isHeld: Bool)? {
        withTable(now: now) { table, now in
            table.newest(for: question, variant: variant, now: now).flatMap { newest in
                table.entry(newest.reference, now: now).map { ($0, newest.isHeld) }
            }
        }
    }
}

extension [CacheEntry] {
    package var inOrder: [CacheEntry] {
        sorted { ($0.type.rawValue, $0.variant.rawValue) < ($1.type.rawValue, $1.variant.rawValue) }
    }
}

/// Incremental iteration; may miss entries that are added meanwhile.
package struct CacheWalk {
    /// Entries that one step copies under the lock; this takes about 20 µs.
    static let copies = 16

    private let cache: AnswerCache
    private let selection: AnswerCache.Selection

    private var position: Int? = 0
    private let end: Int

    package init(_ cache: AnswerCache, _ selection: AnswerCache.Selection = .all) {
        self.cache = cache
        self.selection = selection
        end = cache.lapEnd
    }

    package var isAtEnd: Bool { position.map { $0 >= end } ?? true }

    /// Returns the next entries, possibly none; nil at the end.
    package mutating func next(now: Instant) -> [CacheEntry]? {
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
