// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Removes entries, or marks them stale, a few each time it is asked to go on.
///
/// Whoever has others to serve does so in between, and leaves the lock to those who wait for it:
/// whoever lets go of a mutex and takes it again at once has it before they are awake.  Nobody else
/// answers from its beginning to its end: so all that it does is over at once for who asks there.
package struct CacheSweep {
    /// What is done with entries.
    package enum Action: Sendable { case remove, markStale }

    /// Whether an entry is picked, by its name, its type, its source and the resolver's number of
    /// whoever gave it.
    package typealias Judge = (Name, RecordType, AnswerSource, UInt16) -> Bool

    private let cache: AnswerCache
    private let picks: (borrowing AnswerTable, Int, _ now: UInt64) -> Bool
    private let action: Action

    /// When the youngest entries that are looked at were stored; nil for whenever.
    private let youngest: Int64?

    /// Where it goes on; nil at the end, when memory is given back.
    private var position: Int? = 0

    /// Where it has been once around the ring, in which new entries may come as fast as it goes.
    private let lapEnd: Int

    /// Whoever else answers, until the end.
    private var mirror: (any AnswerMirror)?

    /// How many entries were removed or marked so far.
    package private(set) var count = 0

    // MARK: - Making

    /// Begins a sweep, which is to be taken to its end; it ends after a lap of the ring, however fast
    /// entries come.
    package init(_ cache: AnswerCache, _ selection: AnswerCache.Selection, _ action: Action) {
        self.init(cache, action, youngest: nil) { table, reference, now in
            table.matches(reference, selection, now: now)
        }
    }

    /// Begins one that marks all stale that is in the cache at `now`, and nothing that comes later.
    package init(markingAll cache: AnswerCache, now: ContinuousClock.Instant) {
        self.init(cache, .markStale, youngest: now) { _, _, _ in true }
    }

    /// Begins one that removes what `judge` picks of all that is in the cache at `now`: nothing of
    /// that is left at its end, and nothing that comes later is looked at.
    package init(
        removingFrom cache: AnswerCache,
        now: ContinuousClock.Instant,
        where judge: @escaping Judge
    ) {
        self.init(cache, .remove, youngest: now) { table, reference, _ in
            let source = table.source(reference)
            guard let name = table.name(reference) else { return false }
            return judge(name, table.type(reference), source.kind, source.server)
        }
    }

    private init(
        _ cache: AnswerCache,
        _ action: Action,
        youngest: ContinuousClock.Instant?,
        _ picks: @escaping (borrowing AnswerTable, Int, _ now: UInt64) -> Bool
    ) {
        self.cache = cache
        self.action = action
        self.picks = picks
        self.youngest = youngest.map { Int64(clamping: cache.milliseconds($0)) }
        lapEnd = cache.lapEnd
        mirror = cache.restingMirror()
    }

    // MARK: - Going on

    /// Whether it may not pause any more: entries of its beginning could pass it else, spared again
    /// and again while others come as fast as it goes.
    package var isLate: Bool { youngest != nil && position.map { $0 >= lapEnd } ?? false }

    /// Goes on a little, and tells whether there is more to do.
    package mutating func step(now: ContinuousClock.Instant) -> Bool {
        if goOn(now: now) { return true }
        mirror?.resume()
        mirror = nil
        return false
    }

    private mutating func goOn(now: ContinuousClock.Instant) -> Bool {
        guard let start = position, start < lapEnd || youngest != nil else {
            return action == .remove && cache.giveBack()
        }
        let (picks, action, youngest) = (picks, action, youngest ?? .max)
        var found = 0
        position = cache.withTable(now: now) { table, now in
            table.walk(from: start, count: AnswerCache.stride) { table, reference in
                guard table.ring[reference].storedAt <= youngest,
                    action == .remove || table.isFresh(reference, now: now),
                    picks(table, reference, now)
                else { return .keep }
                found += 1
                return action == .remove ? .remove : .expire(now: now)
            }
        }
        count += found
        return position != nil || action == .remove && cache.giveBack()
    }
}
