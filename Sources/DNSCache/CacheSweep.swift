// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Incremental pass over the cache that removes the selected entries, marks them as stale, or
/// counts them.
///
/// The caller must pause between steps (see "One lock" in `DNSCache.md`).
package struct CacheSweep {
    package enum Action: Sendable { case remove, markStale, count }

    /// Function that returns true for an entry to remove; its last argument is the source number
    /// (`CachedAnswer.server`).
    package typealias Judge = (Name, RecordType, AnswerSource, UInt16) -> Bool

    /// Returns true for an entry to remove; `sections` returns records with compressed names.
    package typealias ContentJudge = (
        RecordType, UInt16, _ isNegative: Bool, _ sections: () -> [UInt8]
    ) -> Bool

    private let cache: AnswerCache
    private let picks: (borrowing AnswerTable, Int, _ now: UInt64) -> Bool
    private let action: Action

    /// In milliseconds since `AnswerCache.origin`.
    private let youngest: Int64?

    /// Nil when only unused memory is left to release.
    private var position: Int? = 0

    private let lapEnd: Int

    private var mirror: (any AnswerMirror)?

    package private(set) var count = 0

    // MARK: - Making

    /// Creates a sweep; the caller must call ``step(now:)`` until it returns false.
    ///
    /// - Parameter youngest: entries that were stored later are skipped; nil for all entries.
    package init(
        _ cache: AnswerCache,
        _ selection: AnswerCache.Selection,
        _ action: Action,
        storedUpTo youngest: Instant? = nil
    ) {
        self.init(cache, action, youngest: youngest) { table, reference, now in
            table.matches(reference, selection, now: now)
        }
    }

    /// - Parameter isTrial: true to only count the entries.
    package init(
        removingFrom cache: AnswerCache,
        now: Instant,
        isTrial: Bool = false,
        where classify: @escaping Judge
    ) {
        self.init(cache, isTrial ? .count : .remove, youngest: now) { table, reference, _ in
            let source = table.source(reference)
            guard let name = table.name(reference) else { return false }
            return classify(name, table.type(reference), source.kind, source.server)
        }
    }

    package init(
        removingByContent cache: AnswerCache,
        now: Instant,
        where classify: @escaping ContentJudge
    ) {
        self.init(cache, .remove, youngest: now) { table, reference, _ in
            let header = table.ring[reference]
            let type = table.type(reference)
            return classify(type, header.server, header.isNegative) {
                table.sections(reference).octets
            }
        }
    }

    private init(
        _ cache: AnswerCache,
        _ action: Action,
        youngest: Instant?,
        _ picks: @escaping (borrowing AnswerTable, Int, _ now: UInt64) -> Bool
    ) {
        self.cache = cache
        self.action = action
        self.picks = picks
        self.youngest = youngest.map { Int64(clamping: cache.milliseconds($0)) }
        lapEnd = cache.lapEnd
        mirror = action == .count ? nil : cache.restingMirror()
    }

    // MARK: - Steps

    /// True if the caller must run the remaining steps without pauses.
    ///
    /// Insertions move old entries to the head, so a sweep with pauses might never reach them.
    package var isLate: Bool { youngest != nil && position.map { $0 >= lapEnd } ?? false }

    /// Returns true if more steps are needed.
    package mutating func step(now: Instant) -> Bool {
        if goOn(now: now) { return true }
        mirror?.resume()
        mirror = nil
        return false
    }

    private mutating func goOn(now: Instant) -> Bool {
        guard let start = position, start < lapEnd || youngest != nil else {
            return action == .remove && cache.withTable { $0.giveBack() }
        }
        let (picks, action, youngest) = (picks, action, youngest ?? .max)
        var found = 0
        position = cache.withTable(now: now) { table, now in
            table.walk(from: start, count: AnswerCache.stride) { table, reference in
                guard table.ring[reference].storedAt <= youngest,
                    action != .markStale || table.isFresh(reference, now: now),
                    picks(table, reference, now)
                else { return .keep }
                found += 1
                return switch action {
                case .remove: .remove
                case .markStale: .expire(now: now)
                case .count: .keep
                }
            }
        }
        count += found
        return position != nil || action == .remove && cache.withTable { $0.giveBack() }
    }
}
