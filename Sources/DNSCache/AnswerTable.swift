// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// The answers themselves: a ring of entries and an index into it.
///
/// The oldest entries make room for new ones, but one that was answered since it was stored, and is
/// fresh, is spared: names in use stay, and a flood of names that nobody asks twice pushes out only
/// its own kind.  Everything has a bound: octets, slots looked at, entries spared per insertion.
///
///     an entry is live  <=>  exactly one slot of the index refers to it
package struct AnswerTable: ~Copyable {
    private(set) var ring: EntryRing
    private(set) var index: BucketIndex
    private(set) var numbers = CacheNumbers()
    private let hash: NameHash

    /// Entries that one insertion may spare before the next one goes whatever it is.
    private static var mostSpared: Int { 32 }

    /// Octets that an entry is expected to have when the index is sized: a short name, its TTL
    /// offsets and a few addresses.
    private static var expectedEntry: Int { 144 }

    /// Makes a table that takes at most `limit` octets from the system, index included.
    init(limit: Int, seed: UInt64) {
        index = BucketIndex(entries: limit / Self.expectedEntry)
        ring = EntryRing(capacity: limit - index.octets)
        hash = NameHash(seed: seed)
        numbers.limitOctets = UInt64(limit)
        numbers.indexOctets = UInt64(index.octets)
    }

    // MARK: - Answering

    /// Answers the query at the start of `buffer` in place, if a fresh answer for it is here.
    ///
    /// - Parameters:
    ///   - limit: octets that the reply may have, at least 512; `buffer` has as many.
    ///   - now: milliseconds since the cache's origin.
    /// - Returns: nil if there is none; then `buffer` is as it was.
    package mutating func answer(
        _ facts: QueryFacts,
        in buffer: inout MutableRawSpan,
        limit: Int,
        now: UInt64
    ) -> CacheHit? {
        let found = find(QueryView(facts, in: buffer.bytes), now: now)
        guard let reference = found else { return nil }
        let entry = ring.noteHit(reference)
        let length = write(reference, facts, in: &buffer, limit: limit, now: now)
        return CacheHit(
            length: length,
            rcode: entry.rcode,
            isEmpty: entry.answerCount == 0,
            isTruncated: buffer.bytes.uint16(at: 2) & HeaderFlags.truncated != 0
        )
    }

    /// Pastes an entry behind the question at the start of `buffer` and returns the reply's length.
    func write(
        _ reference: Int,
        _ facts: QueryFacts,
        in buffer: inout MutableRawSpan,
        limit: Int,
        now: UInt64
    ) -> Int {
        let entry = ring[reference]
        return ring.withParts(reference) { _, ttlOffsets, sections in
            let answer = ReadyAnswer(
                rcode: UInt16(entry.rcode),
                answerCount: entry.answerCount,
                authorityCount: entry.authorityCount,
                additionalCount: entry.additionalCount,
                sections: sections,
                ttlOffsets: ttlOffsets,
                options: RawSpan(),
                age: UInt32(truncatingIfNeeded: entry.age(now))
            )
            return facts.reply(with: answer, in: &buffer, limit: limit)
        }
    }

    /// The fresh entry that answers `query`.
    ///
    /// One whose time has passed does not end the search: there may be a fresh one of another
    /// variant that is right for this client, too.
    private func find(_ query: borrowing QueryView, now: UInt64) -> Int? {
        let type = query.facts.type.rawValue
        let variant = AnswerVariant(
            dnssecOK: query.facts.dnssecOK,
            checkingDisabled: query.facts.checkingDisabled
        )
        let hash = hash(query.name, type: type)
        var probe = index.probe(hash)
        while let reference = index.next(&probe) {
            if isEntry(reference, hash, query.name, type),
                AnswerVariant(rawValue: ring[reference].variant).suits(variant),
                ring[reference].isFresh(now)
            {
                return reference
            }
        }
        return nil
    }

    private func isEntry(_ reference: Int, _ hash: UInt64, _ name: RawSpan, _ type: UInt16) -> Bool
    {
        guard ring[reference].hash == hash, ring[reference].type == type else { return false }
        return ring.withParts(reference) { stored, _, _ in stored.isSameName(as: name) }
    }

    // MARK: - Storing

    /// Stores an answer, in place of one for the same question and variant.
    ///
    /// - Returns: false if it is too large for the cache.
    mutating func insert(_ answer: CachedAnswer, now: UInt64) -> Bool {
        let name = answer.question.name.octets
        let type = answer.question.type.rawValue
        let hash = hash(name.rawSpan, type: type)
        let header = EntryHeader(answer, hash: hash, now: now)
        guard Int(header.length) <= ring.capacity / 2 else { return false }
        removeReplaced(name, type, answer.variant, hash: hash, now: now)
        makeRoom(for: Int(header.length), now: now)
        let reference = ring.append(
            header,
            name: name,
            ttlOffsets: answer.sections.ttlOffsets,
            sections: answer.sections.octets
        )
        while !index.insert(reference, hash: hash) {
            removeOne(of: index.references(hash), now: now)
        }
        count(header, by: 1)
        numbers.insertions &+= 1
        return true
    }

    /// Removes what an answer of `variant` takes the place of: the entry of the same variant, or all
    /// of them if it is right for everybody.
    private mutating func removeReplaced(
        _ name: [UInt8],
        _ type: UInt16,
        _ variant: AnswerVariant,
        hash: UInt64,
        now: UInt64
    ) {
        var probe = index.probe(hash)
        while let reference = index.next(&probe) {
            guard variant == .any || ring[reference].variant == variant.rawValue,
                isEntry(reference, hash, name.rawSpan, type)
            else { continue }
            if !ring[reference].isFresh(now) { numbers.expired &+= 1 }
            remove(reference)
        }
    }

    /// Takes an entry out of the index; its octets are reclaimed when it is the oldest.
    mutating func remove(_ reference: Int) {
        let header = ring[reference]
        index.remove(reference, hash: header.hash)
        ring[reference].isLive = false
        count(header, by: -1)
    }

    /// Ends the time in which a fresh entry may be answered.
    mutating func expire(_ reference: Int, now: UInt64) {
        // Its age in whole seconds is the lifetime that has just passed, be it none.
        ring[reference].lifetime = UInt32(truncatingIfNeeded: ring[reference].age(now))
        numbers.markedStale &+= 1
    }

    /// Gives up old entries until one of `length` octets fits.
    private mutating func makeRoom(for length: Int, now: UInt64) {
        var spared = 0
        while !ring.hasRoom(for: length) {
            let reference = ring.reference(at: ring.tail)
            guard ring.isLive(reference) else {
                ring.removeOldest()
                continue
            }
            let entry = ring[reference]
            if entry.isInUse(now), spared < Self.mostSpared {
                let renewed = ring.renewOldest()
                ring[renewed].hits = 0
                index.move(reference, to: renewed, hash: entry.hash)
                spared += 1
            } else {
                remove(reference)
                ring.removeOldest()
                countLoss(of: entry, now: now)
            }
        }
    }

    /// Removes the one of these entries, which are at least one, that would go first in the ring;
    /// those in use go last.
    private mutating func removeOne(of references: [Int], now: UInt64) {
        let order = references.map { reference in
            (ring[reference].isInUse(now) ? 1 : 0, ring.distanceFromTail(reference), reference)
        }
        guard let (_, _, victim) = order.min(by: <) else { return }
        countLoss(of: ring[victim], now: now)
        remove(victim)
    }

    // MARK: - Counting

    private mutating func count(_ header: EntryHeader, by step: Int) {
        let step = UInt64(bitPattern: Int64(step))
        numbers.entries &+= step
        numbers.octets &+= UInt64(header.length) &* step
        if header.isNegative { numbers.negativeEntries &+= step }
    }

    private mutating func countLoss(of entry: EntryHeader, now: UInt64) {
        if entry.isFresh(now) {
            numbers.evictions &+= 1
        } else {
            numbers.expired &+= 1
        }
    }
}

/// What became of a query that was answered in place.
package struct CacheHit: Sendable, Equatable {
    /// Octets of the reply that the buffer now begins with.
    package let length: Int

    package let rcode: UInt8

    /// Whether the answer has no records in its answer section (NODATA, if the RCODE is 0).
    package let isEmpty: Bool

    /// Whether the records were left out because they do not fit (TC).
    package let isTruncated: Bool
}
