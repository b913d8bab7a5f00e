// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// The answers themselves: a ring of entries and an index into it.
///
/// The oldest entries make room for new ones, but one that was asked for since it was stored is
/// spared: names in use stay, and a flood of names that nobody asks twice pushes out only its own
/// kind.  Everything has a bound: octets, slots looked at, entries spared per insertion.
///
///     an entry is live  <=>  exactly one slot of the index refers to it
///     of a question and variant there is at most one good answer and at most one failure
package struct AnswerTable: ~Copyable {
    var ring: EntryRing
    var index: BucketIndex
    var numbers = CacheNumbers()
    let hash: NameHash

    /// Whether each answer begins with another address than the one before.
    var rotates: Bool

    /// Answers given by the server of the entry; as long as the highest number stored needs it.
    var hitsByServer: [UInt64] = [0]

    /// Who else answers, if somebody does; only looked at for entries that it has a copy of.
    var mirror: (any AnswerMirror)?

    /// Whether there is somebody, with room for more.
    var acceptsOffers = false

    /// Hashes of entries that wait for being copied.
    var offers: [UInt64] = []

    /// Octets that an entry is expected to have when the index is sized: a short name, its TTL
    /// offsets and a few addresses.
    private static var expectedEntry: Int { 144 }

    /// Makes a table that takes at most `limit` octets from the system, index included.
    init(limit: Int, seed: UInt64, rotates: Bool = false) {
        self.rotates = rotates
        index = BucketIndex(entries: limit / Self.expectedEntry)
        ring = EntryRing(capacity: limit - index.mostOctets)
        hash = NameHash(seed: seed)
        numbers.limitOctets = UInt64(limit)
        numbers.indexOctets = UInt64(index.octets)
    }

    // MARK: - Looking ahead

    /// Starts to bring near what tells where the answer to a question of this hash is.
    package func prefetchPlace(_ hash: UInt64) { index.prefetch(hash) }

    /// Starts to bring near that answer itself; of use some time after `prefetchPlace`.
    package func prefetchAnswer(_ hash: UInt64) {
        var probe = index.probe(hash)
        if let reference = index.next(&probe) { ring.prefetch(reference) }
    }

    // MARK: - Answering

    /// Answers the query at the start of `buffer` in place, if a fresh answer for it is here.
    ///
    /// - Parameters:
    ///   - hash: the query's, if it is known already.
    ///   - limit: octets that the reply may have, at least 512; `buffer` has as many.
    ///   - now: milliseconds since the cache's origin.
    /// - Returns: nil if there is none; then `buffer` is as it was.
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
            // Copied anew by the next hit, for what is left of its lifetime.
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

    /// Pastes an entry of `age` seconds behind the question at the start of `buffer` and returns the
    /// reply's length.
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

    /// Lets the reply in `buffer` begin with another address at each turn.
    ///
    /// Neither inlined nor a method of the table, so that it costs those next to nothing who do not
    /// want it.
    @inline(never)
    private static func rotate(
        _ buffer: inout MutableRawSpan,
        from questionEnd: Int,
        _ type: UInt16,
        to turn: Int
    ) {
        // None, if the answer was cut.
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

    /// The fresh entry that answers `query`.
    ///
    /// One whose time has passed does not end the search: there may be a fresh one of another
    /// variant that is right for this client, too.  Nor does a failure: any good answer is better,
    /// even a stale one, and that is not given here.
    private func find(_ query: borrowing QueryView, _ hash: UInt64?, now: UInt64) -> Int? {
        let type = query.facts.type.rawValue
        let variant = AnswerVariant(
            dnssecOK: query.facts.dnssecOK,
            checkingDisabled: query.facts.checkingDisabled
        )
        return find(query.name, type, variant, hash ?? self.hash(query.name, type: type), now: now)
    }

    /// The same by what such a query says.
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

    /// Whether an entry is for this name and type.
    func isEntry(_ reference: Int, _ hash: UInt64, _ name: RawSpan, _ type: UInt16) -> Bool {
        guard ring[reference].hash == hash, ring[reference].type == type else { return false }
        return ring.withParts(reference) { stored, _, _, _ in stored.isSameName(as: name) }
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

    /// Who gave the answer, by the number that was stored with it.
    package let server: UInt16

    /// Whether the time has come to ask for the answer anew: said once of each stored answer.
    package let wantsRefresh: Bool
}
