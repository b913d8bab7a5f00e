// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// The cache without its lock: a ring buffer of entries and an index.
///
/// Invariants:
///
///     an entry is live  <=>  exactly one slot of the index refers to it
///     each question and variant has at most one NOERROR or NXDOMAIN answer, and one failure
package struct AnswerTable: ~Copyable {
    var ring: EntryRing
    var index: BucketIndex
    var numbers = CacheNumbers()
    var largeAnswers = LargeAnswers()
    let hash: NameHash

    var rotates: Bool

    var isBypassed = false

    var hitsByServer: [UInt64] = [0]

    var mirror: (any AnswerMirror)?

    /// True if the mirror may have space for more copies.
    var acceptsOffers = false

    var offers: [UInt64] = []

    /// Octets of a typical entry; determines the maximum size of the index.
    private static var expectedEntry: Int { 144 }

    init(limit: Int, seed: UInt64, rotates: Bool = false) {
        self.rotates = rotates
        index = BucketIndex(entries: limit / Self.expectedEntry)
        ring = EntryRing(capacity: limit - index.mostOctets)
        hash = NameHash(seed: seed)
        numbers.limitOctets = UInt64(limit)
        numbers.indexOctets = UInt64(index.octets)
    }

    // MARK: - Prefetching

    package func prefetchPlace(_ hash: UInt64) { index.prefetch(hash) }

    /// Prefetches the entry; reads the bucket that ``prefetchPlace(_:)`` has prefetched.
    package func prefetchAnswer(_ hash: UInt64) {
        var probe = index.probe(hash)
        if let reference = index.next(&probe) { ring.prefetch(reference) }
    }

    // MARK: - Answering

    func mayContain(_ hash: UInt64) -> Bool {
        var probe = index.probe(hash)
        return index.next(&probe) != nil
    }

    /// Replaces the query in `buffer` with its reply; on a miss, returns nil and keeps the query.
    ///
    /// - Parameter limit: from 512 octets to the size of `buffer`.
    package mutating func answer(
        _ facts: QueryFacts,
        hash: UInt64? = nil,
        in buffer: inout MutableRawSpan,
        limit: Int,
        now: UInt64
    ) -> CacheHit? {
        let found = find(QueryView(facts, in: buffer.bytes), hash, now: now)
        guard let reference = found else { return nil }
        let entry = ring.noteHit(reference)
        hitsByServer[Int(entry.server)] &+= 1
        let age = entry.age(now)
        let wantsRefresh = entry.wantsRefresh(age: age)
        if wantsRefresh {
            ring[reference].noteRefresh()
            // A later hit stores a new copy in the mirror.
            withdraw(reference)
        } else if wantsOffer(entry) {
            noteOffer(entry.hash)
        }
        let length = write(reference, age: age, facts, in: &buffer, limit: limit)
        if rotates {
            let turn = Int(entry.demand.hits)
            Self.rotate(&buffer, from: facts.questionEnd, facts.type.rawValue, to: turn)
        }
        return CacheHit(
            length: length,
            rcode: entry.rcode,
            isEmpty: entry.answerCount == 0,
            isTruncated: buffer.bytes.uint16(at: 2) & HeaderFlags.truncated != 0,
            server: entry.server,
            wantsRefresh: wantsRefresh
        )
    }

    /// Writes a reply and returns its size in octets; `age` is in seconds.
    func write(
        _ reference: Int,
        age: UInt64,
        _ facts: QueryFacts,
        in buffer: inout MutableRawSpan,
        limit: Int
    ) -> Int {
        let entry = ring[reference]
        return ring.withParts(reference) { _, ttlOffsets, sections, options in
            let answer = ReadyAnswer(
                rcode: UInt16(entry.rcode),
                flags: entry.flags,
                answerCount: entry.answerCount,
                authorityCount: entry.authorityCount,
                additionalCount: entry.additionalCount,
                sections: sections,
                ttlOffsets: ttlOffsets,
                options: options,
                age: UInt32(truncatingIfNeeded: age)
            )
            return facts.reply(with: answer, in: &buffer, limit: limit)
        }
    }

    /// Not inlined, so that replies without rotation do not become slower.
    @inline(never)
    private static func rotate(
        _ buffer: inout MutableRawSpan,
        from questionEnd: Int,
        _ type: UInt16,
        to turn: Int
    ) {
        // A truncated reply has ANCOUNT 0, unlike its entry.
        let answerCount = Int(buffer.bytes.uint16(at: 6))
        let type = RecordType(rawValue: type)
        guard answerCount > 1, type.isAddress else { return }
        let block = AddressBlock(
            in: buffer.bytes,
            from: questionEnd,
            answerCount: answerCount,
            type: type
        )
        guard let block else { return }
        block.rotate(&buffer, to: turn % block.count)
    }

    private func find(_ query: borrowing QueryView, _ hash: UInt64?, now: UInt64) -> Int? {
        guard !isBypassed else { return nil }
        let type = query.facts.type.rawValue
        let variant = AnswerVariant(
            dnssecOK: query.facts.dnssecOK,
            checkingDisabled: query.facts.checkingDisabled
        )
        return find(query.name, type, variant, hash ?? self.hash(query.name, type: type), now: now)
    }

    func find(
        _ name: RawSpan,
        _ type: UInt16,
        _ variant: AnswerVariant,
        _ hash: UInt64,
        now: UInt64
    ) -> Int? {
        var probe = index.probe(hash)
        var failure: Int?
        var hasStale = false
        while let reference = index.next(&probe) {
            guard isEntry(reference, hash, name, type),
                AnswerVariant(rawValue: ring[reference].variant).suits(variant)
            else { continue }
            if ring[reference].isFresh(now) {
                guard ring[reference].isFailure else { return reference }
                failure = reference
            } else if ring[reference].isStale(now) {
                hasStale = true
            }
        }
        return hasStale ? nil : failure
    }

    func isEntry(_ reference: Int, _ hash: UInt64, _ name: RawSpan, _ type: UInt16) -> Bool {
        guard ring[reference].hash == hash, ring[reference].type == type else { return false }
        return ring.withParts(reference) { stored, _, _, _ in stored.isSameName(as: name) }
    }
}

package struct CacheHit: Sendable, Equatable {
    package let length: Int

    package let rcode: UInt8

    /// True if the entry has no answer records; with RCODE 0, the entry is NODATA.
    package let isEmpty: Bool

    package let isTruncated: Bool

    package let server: UInt16

    /// True for the first hit after the entry has reached its refresh age.
    package let wantsRefresh: Bool
}
