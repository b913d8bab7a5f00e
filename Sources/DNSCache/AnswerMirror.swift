// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Somebody else who gives answers of the cache: from copies that the cache keeps true.
///
/// A copy is stored when its entry has been asked for again, and removed before the entry is, or
/// changes, or ends before its time.  All calls but `newHits` come with the table's lock held, so they
/// must be short and not call back.
package protocol AnswerMirror: AnyObject, Sendable {
    /// Stores a copy; false if there is no room, or it cannot be stored now.
    ///
    /// `sections` has at most `MirroredAnswer.mostOctets`, and `ttlOffsets`, which count from the
    /// start of the message, at most `MirroredAnswer.mostTTLs`: UInt16 after UInt16, native order.
    func store(
        _ answer: MirroredAnswer,
        name: RawSpan,
        ttlOffsets: RawSpan,
        sections: RawSpan
    ) -> Bool

    /// Removes a copy: from its return on nobody is answered by it.
    func remove(name: RawSpan, type: UInt16, variant: AnswerVariant)

    /// Lets `changes` store and remove many copies as one change.
    func change(_ changes: () -> Void)

    /// Nobody is answered until `resume` was called as often as this.
    func suspend()

    /// See `suspend`.
    func resume()

    /// What was answered since it was asked before, and which copies have been idle since and should
    /// go, as there is no room for others.
    func newHits() -> (hits: [MirroredHits], idle: [MirroredHits])
}

/// What is known of a copy besides its octets.
package struct MirroredAnswer: Sendable {
    /// What an answer may have at most to be copied.
    package static let mostOctets = 500
    package static let mostTTLs = 16

    /// The number under which the cache finds the entry.
    package let hash: UInt64
    package let type: UInt16
    package let variant: AnswerVariant
    package let rcode: UInt8

    /// AD as a header has it, or 0.
    package let flags: UInt16
    package let answerCount: UInt16
    package let authorityCount: UInt16
    package let additionalCount: UInt16

    /// The resolver's number of whoever gave the answer.
    package let server: UInt16

    /// Milliseconds since the cache's origin: when its TTLs were right, which may be before it.
    package let storedAt: Int64

    /// The same: from when on it is not to be given, as it is old, or to be asked for anew.
    package let endsAt: Int64
}

/// How often answers were given that the cache did not see.
package struct MirroredHits: Sendable, Equatable {
    /// The cache's number of name and type.
    package var hash: UInt64 = 0
    package var variant = AnswerVariant.any
    package var type: UInt16 = 0
    package var rcode: UInt8 = 0
    package var isEmpty = false
    package var server: UInt16 = 0
    package var times: UInt64 = 0

    /// Hits of nothing.
    package init() {}

    /// Hits of an answer.
    package init(of answer: MirroredAnswer, times: UInt64) {
        hash = answer.hash
        variant = answer.variant
        type = answer.type
        rcode = answer.rcode
        isEmpty = answer.answerCount == 0
        server = answer.server
        self.times = times
    }
}

// MARK: - The table's side

extension AnswerTable {
    /// Entries that wait for being copied, at most: more are hit again.
    static var mostOffers: Int { 32 }

    /// Whether entries wait for being copied.
    package var hasOffers: Bool { !offers.isEmpty }

    /// Whether a hit on `entry`, as it was before, has it copied.
    ///
    /// The first test fails for all that are copied already, that are not asked for again, or that
    /// cannot be copied; and for all, if there is no mirror.
    func wantsOffer(_ entry: EntryHeader) -> Bool {
        entry.isOfferable && acceptsOffers && entry.demand.isAgain
            && !(rotates && entry.answerCount > 1)
    }

    /// Has the entry of this hash copied as soon as somebody has time.
    @inline(never)
    mutating func noteOffer(_ hash: UInt64) {
        guard offers.count < Self.mostOffers else { return }
        offers.append(hash)
    }

    /// Copies the entries that wait for it.
    package mutating func writeOffers(now: UInt64) {
        guard let mirror, acceptsOffers else { return offers.removeAll(keepingCapacity: true) }
        mirror.change {
            for hash in offers {
                var probe = index.probe(hash)
                while let reference = index.next(&probe) {
                    let entry = ring[reference]
                    guard entry.hash == hash, entry.isFresh(now), wantsOffer(entry) else {
                        continue
                    }
                    guard !hasRival(reference) else {
                        ring[reference].isOfferable = false
                        continue
                    }
                    guard offer(reference, to: mirror) else { return acceptsOffers = false }
                    ring[reference].isOffered = true
                }
            }
        }
        offers.removeAll(keepingCapacity: true)
    }

    /// Whether another entry is right for clients of this one: which of the two they get is decided
    /// here, by where they lie.
    private func hasRival(_ reference: Int) -> Bool {
        let entry = ring[reference]
        let variant = AnswerVariant(rawValue: entry.variant)
        return index.references(entry.hash).contains { other in
            let rival = ring[other]
            let kind = AnswerVariant(rawValue: rival.variant)
            return other != reference && rival.hash == entry.hash && !rival.isFailure
                && (kind.suits(variant) || variant.suits(kind))
        }
    }

    private func offer(_ reference: Int, to mirror: any AnswerMirror) -> Bool {
        let entry = ring[reference]
        let answer = MirroredAnswer(
            hash: entry.hash,
            type: entry.type,
            variant: AnswerVariant(rawValue: entry.variant),
            rcode: entry.rcode,
            flags: entry.flags,
            answerCount: entry.answerCount,
            authorityCount: entry.authorityCount,
            additionalCount: entry.additionalCount,
            server: entry.server,
            storedAt: entry.storedAt,
            endsAt: entry.storedAt + 1000 * Int64(min(entry.lifetime, entry.refreshAt))
        )
        return ring.withParts(reference) { name, ttlOffsets, sections, _ in
            mirror.store(answer, name: name, ttlOffsets: ttlOffsets, sections: sections)
        }
    }

    /// Has the copy of an entry removed, if there is one.
    mutating func withdraw(_ reference: Int) {
        let entry = ring[reference]
        guard entry.isOffered else { return }
        ring[reference].isOffered = false
        ring.withParts(reference) { name, _, _, _ in
            mirror?.remove(
                name: name,
                type: entry.type,
                variant: AnswerVariant(rawValue: entry.variant)
            )
        }
    }

    /// The copied entry that `hits` were made of.
    private func mirrored(_ hits: MirroredHits) -> Int? {
        var probe = index.probe(hits.hash)
        while let reference = index.next(&probe) {
            let entry = ring[reference]
            if entry.hash == hits.hash, entry.variant == hits.variant.rawValue, !entry.isFailure {
                return reference
            }
        }
        return nil
    }

    /// Counts what copies were asked for as if it had been seen here.
    ///
    /// - Returns: the name in wire form, if the entry is still here, or its successor.
    mutating func note(_ hits: MirroredHits) -> [UInt8]? {
        if Int(hits.server) < hitsByServer.count { hitsByServer[Int(hits.server)] &+= hits.times }
        guard let reference = mirrored(hits) else { return nil }
        ring[reference].demand.noteHits(hits.times)
        return name(reference)?.octets
    }

    /// Removes a copy that nobody asks for.
    mutating func drop(_ idle: MirroredHits) {
        if let reference = mirrored(idle) { withdraw(reference) }
    }
}

// MARK: - The cache's side

extension AnswerCache {
    /// Has copies kept by `mirror` from now on, or no more by anybody.
    ///
    /// Of entries that are copied already nothing is known to `mirror`: they are copied anew when
    /// they are hit.
    package func setMirror(_ mirror: (any AnswerMirror)?) {
        withTable { $0.acceptsOffers = false }
        walk { table, reference in table.ring[reference].isOffered ? .withdraw : .keep }
        withTable { table in
            table.mirror = mirror
            table.offers.reserveCapacity(AnswerTable.mostOffers)
            table.acceptsOffers = mirror != nil
        }
    }

    /// Copies the entries that wait for it.
    package func writeOffers(now: ContinuousClock.Instant) {
        withTable(now: now) { table, now in table.writeOffers(now: now) }
    }

    /// Counts what was answered from copies, and tells it with names where they are known.
    ///
    /// To be called now and then: until it is, these answers are in no count, no demand.
    package func collectMirroredHits() -> [(hits: MirroredHits, name: [UInt8]?)] {
        guard let mirror = withTable({ $0.mirror }) else { return [] }
        let (hits, idle) = mirror.newHits()
        var noted: [(hits: MirroredHits, name: [UInt8]?)] = []
        noted.reserveCapacity(hits.count)
        // In strides, as nobody is to wait for the lock for long.
        for start in Swift.stride(from: 0, to: hits.count, by: 128) {
            withTable { table in
                for hit in hits[start..<min(start + 128, hits.count)] {
                    noted.append((hit, table.note(hit)))
                }
            }
        }
        for start in Swift.stride(from: 0, to: idle.count, by: 32) {
            withTable { table in
                for copy in idle[start..<min(start + 32, idle.count)] { table.drop(copy) }
            }
        }
        // Whether there is room now is found out by the next answer.
        withTable { table in table.acceptsOffers = table.mirror != nil }
        return noted
    }
}
