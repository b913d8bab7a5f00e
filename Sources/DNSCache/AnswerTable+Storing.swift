// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

extension AnswerTable {
    /// Maximum total cost (`price(_:)`) of the entries that one insertion moves to the head of the
    /// ring.
    private static var mostSpared: Int { 32 }

    /// Maximum number of further buckets that one insertion splits; this takes about 50 µs.
    private static var mostSplits: Int { 64 }

    mutating func insert(_ answer: CachedAnswer, hash: UInt64? = nil, now: UInt64) -> Bool {
        let name = answer.question.name.octets
        let hash = hash ?? self.hash(name.rawSpan, type: answer.question.type.rawValue)
        var header = EntryHeader(answer, hash: hash, storedAt: Int64(bitPattern: now))
        guard Int(header.length) <= ring.capacity / 2, admits(header, now: now) else {
            return false
        }
        let before = numbers.entries
        header.demand = removeReplaced(by: header, name, now: now)
        let isRenewed = numbers.entries < before
        return store(header, answer, now: now, evictsAny: header.isVendors || isRenewed)
    }

    /// Returns false for a large answer if large answers have used their share (``LargeAnswers``).
    ///
    /// A vendor's answer is always admitted, because a repetition is billed.
    private mutating func admits(_ header: EntryHeader, now: UInt64) -> Bool {
        let length = Int(header.length)
        if header.isVendors || ring.hasRoom(for: length) { return true }
        return largeAnswers.admit(length, of: ring.capacity, now: now)
    }

    /// Returns false if the answer is too large, too old, or not newer than the cached answer.
    mutating func restore(
        _ answer: CachedAnswer,
        age: UInt32,
        demand: Demand,
        now: UInt64
    ) -> Bool {
        let name = answer.question.name.octets
        let hash = hash(name.rawSpan, type: answer.question.type.rawValue)
        let storedAt = Int64(bitPattern: now) - 1000 * Int64(age)
        var header = EntryHeader(answer, hash: hash, storedAt: storedAt)
        guard Int(header.length) <= ring.capacity / 2,
            header.isFresh(now) || header.isStale(now)
        else { return false }
        var probe = index.probe(hash)
        while let reference = index.next(&probe) {
            let entry = ring[reference]
            if entry.storedAt >= storedAt, entry.isFailure == header.isFailure,
                header.replaces(entry) || entry.replaces(header),
                isEntry(reference, hash, name.rawSpan, header.type)
            {
                return false
            }
        }
        _ = removeReplaced(by: header, name, now: now)
        header.demand = demand
        return store(header, answer, now: now, evictsAny: header.isVendors)
    }

    /// Returns false if there is no room without the eviction of a popular answer of a vendor.
    private mutating func store(
        _ header: EntryHeader,
        _ answer: CachedAnswer,
        now: UInt64,
        evictsAny: Bool
    ) -> Bool {
        guard makeRoom(for: Int(header.length), now: now, evictsAny: evictsAny) else {
            return false
        }
        let reference = ring.append(
            header,
            name: answer.question.name.octets,
            ttlOffsets: answer.sections.ttlOffsets.rawSpan,
            sections: answer.sections.octets,
            options: answer.options.prefix(Int(header.optionCount))
        )
        index.grow(for: Int(numbers.entries) + 1, in: ring)
        var splits = Self.mostSplits
        while !index.insert(reference, hash: header.hash) {
            splits -= 1
            if splits >= 0, index.growMore(in: ring) { continue }
            removeOne(of: index.references(header.hash), now: now)
        }
        numbers.indexOctets = UInt64(index.octets)
        let missing = Int(header.server) + 1 - hitsByServer.count
        if missing > 0 { hitsByServer += repeatElement(0, count: missing) }
        count(header, by: 1)
        numbers.insertions &+= 1
        return true
    }

    /// Returns half of the sum of the hits of the removed entries.
    private mutating func removeReplaced(
        by header: EntryHeader,
        _ name: [UInt8],
        now: UInt64
    ) -> Demand {
        var hits: UInt64 = 0
        var probe = index.probe(header.hash)
        while let reference = index.next(&probe) {
            let entry = ring[reference]
            guard isEntry(reference, header.hash, name.rawSpan, header.type) else { continue }
            // If the old entry stays, the old and the new entry can match the same query, and the
            // mirror cannot choose between them.
            withdraw(reference)
            guard header.replaces(entry) else { continue }
            if !entry.isFresh(now) { numbers.expired &+= 1 }
            hits += UInt64(entry.demand.hits)
            remove(reference)
        }
        return Demand(hits: UInt32(clamping: hits / 2))
    }

    // MARK: - Removing

    /// Removes an entry from the index; the ring buffer reclaims its octets later.
    mutating func remove(_ reference: Int) {
        withdraw(reference)
        let header = ring[reference]
        index.remove(reference, hash: header.hash)
        ring[reference].isLive = false
        count(header, by: -1)
    }

    /// Releases unused memory; returns true if the caller must call again.
    mutating func giveBack() -> Bool {
        let isMoreInRing = ring.giveBackDead(atMost: 1024)
        if numbers.entries == 0 { index.startAnew() }
        numbers.indexOctets = UInt64(index.octets)
        let isMoreInIndex = index.giveBack()
        return isMoreInRing || isMoreInIndex
    }

    mutating func expire(_ reference: Int, now: UInt64) {
        withdraw(reference)
        ring[reference].lifetime = UInt32(truncatingIfNeeded: ring[reference].age(now))
        numbers.markedStale &+= 1
    }

    /// Evicts entries; returns false if the next entry is a popular answer of a vendor, unless
    /// `evictsAny` is true (for answers of vendors, and new answers for cached questions).
    ///
    /// Otherwise, a flood of other answers could evict popular answers of vendors, and each
    /// repetition is billed. A further call continues with the following entries.
    private mutating func makeRoom(for length: Int, now: UInt64, evictsAny: Bool) -> Bool {
        var spares = Self.mostSpared
        while !ring.hasRoom(for: length) {
            let reference = ring.reference(at: ring.tail)
            guard ring.isLive(reference) else {
                ring.removeOldest()
                continue
            }
            let entry = ring[reference]
            if let price = entry.price(now), price <= spares {
                let renewed = ring.renewOldest()
                ring[renewed].demand.noteSpared()
                index.move(reference, to: renewed, hash: entry.hash)
                spares -= price
            } else if !evictsAny, entry.isVendors, entry.demand.isNew, entry.isFresh(now) {
                return false
            } else {
                remove(reference)
                ring.removeOldest()
                countLoss(of: entry, now: now)
            }
        }
        return true
    }

    /// Removes the entry with the lowest rank; of several such entries, the entry nearest to the
    /// tail.
    ///
    /// Ranks from the lowest: entries that must be evicted, stale entries, fresh entries.
    private mutating func removeOne(of references: [Int], now: UInt64) {
        let order = references.map { reference in
            let worth = ring[reference].price(now).map { -$0 } ?? .min
            return (worth, ring.distanceFromTail(reference), reference)
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

extension EntryHeader {
    /// An entry for all queries replaces entries of all variants; a failure replaces only failures.
    fileprivate func replaces(_ other: EntryHeader) -> Bool {
        guard variant == AnswerVariant.any.rawValue || variant == other.variant else {
            return false
        }
        return !isFailure || other.isFailure
    }
}
