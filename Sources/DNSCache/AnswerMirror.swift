// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Store with copies of cache entries, for example in the kernel.
///
/// The second hit on an entry stores a copy. The cache removes the copy before it changes the
/// entry. The cache calls `store`, `remove` and `change` with its lock held: these functions must
/// be fast, and must not call the cache.
package protocol AnswerMirror: AnyObject, Sendable {
    /// Stores a copy; returns false if the mirror has no space or is suspended.
    ///
    /// `ttlOffsets` are `UInt16` in native byte order.
    func store(
        _ answer: MirroredAnswer,
        name: RawSpan,
        ttlOffsets: RawSpan,
        sections: RawSpan
    ) -> Bool

    /// Removes a copy; after this call, the mirror sends no reply from it.
    func remove(name: RawSpan, type: UInt16, variant: AnswerVariant)

    /// Calls `changes`; the `store` and `remove` calls in it take effect together.
    func change(_ changes: () -> Void)

    func suspend()

    func resume()

    /// Returns the hits that the next `count` copies had since the previous pass over all copies.
    ///
    /// - Parameter position: 0 for the first call of a pass, then `next` of the previous result.
    func newHits(from position: Int, count: Int) -> MirroredHitStride
}

package struct MirroredHitStride: Sendable {
    package var hits: [MirroredHits] = []

    /// Copies without hits, which the cache removes from a full mirror.
    package var idle: [MirroredHits] = []

    package var next: Int?

    package init() {}
}

/// Fields of a copied entry.
package struct MirroredAnswer: Sendable {
    package static let mostOctets = 500
    package static let mostTTLs = 16

    package let hash: UInt64
    package let type: UInt16
    package let variant: AnswerVariant
    package let rcode: UInt8

    package let flags: UInt16
    package let answerCount: UInt16
    package let authorityCount: UInt16
    package let additionalCount: UInt16

    package let server: UInt16

    /// Time at which the TTLs start, in milliseconds since `AnswerCache.origin`; can be negative.
    package let storedAt: Int64

    /// Expiry or refresh, whichever is earlier, in milliseconds since `AnswerCache.origin`.
    package let endsAt: Int64
}

/// Hits on one copied entry that the cache has not counted.
package struct MirroredHits: Sendable, Equatable {
    package var hash: UInt64 = 0
    package var variant = AnswerVariant.any
    package var type: UInt16 = 0
    package var rcode: UInt8 = 0
    package var isEmpty = false
    package var server: UInt16 = 0
    package var times: UInt64 = 0

    package init() {}

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

// MARK: - Table

extension AnswerTable {
    static var mostOffers: Int { 32 }

    package var hasOffers: Bool { !offers.isEmpty }

    func wantsOffer(_ entry: EntryHeader) -> Bool {
        entry.isOfferable && acceptsOffers && entry.demand.isAgain
            && !(rotates && entry.answerCount > 1)
    }

    @inline(never)
    mutating func noteOffer(_ hash: UInt64) {
        guard offers.count < Self.mostOffers else { return }
        offers.append(hash)
    }

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

    /// Returns true if a query can match both this answer and another cached answer.
    ///
    /// The mirror cannot choose between two answers, so the table offers neither of them.
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

    mutating func note(_ hits: MirroredHits) {
        if Int(hits.server) < hitsByServer.count { hitsByServer[Int(hits.server)] &+= hits.times }
        guard let reference = mirrored(hits) else { return }
        ring[reference].demand.noteHits(hits.times)
    }

    func name(of hits: MirroredHits) -> [UInt8]? {
        mirrored(hits).flatMap { name($0)?.octets }
    }

    mutating func drop(_ idle: MirroredHits) {
        if let reference = mirrored(idle) { withdraw(reference) }
    }
}

// MARK: - Cache

extension AnswerCache {
    package func setMirror(_ mirror: (any AnswerMirror)?) {
        withTable { $0.acceptsOffers = false }
        walk { table, reference in table.ring[reference].isOffered ? .withdraw : .keep }
        withTable { table in
            table.mirror = mirror
            table.offers.reserveCapacity(AnswerTable.mostOffers)
            table.acceptsOffers = mirror != nil
        }
    }

    package func writeOffers(now: Instant) {
        withTable(now: now) { table, now in table.writeOffers(now: now) }
    }

    /// Counts the new hits on the next 256 copies as cache hits; `position` as in `newHits`.
    package func collectMirroredHits(
        from position: Int
    ) -> (hits: [MirroredHits], next: Int?) {
        guard let mirror = withTable({ $0.mirror }) else { return ([], nil) }
        let stride = mirror.newHits(from: position, count: Self.stride)
        stride.hits.inParts(of: 128) { hits in
            withTable { table in for hit in hits { table.note(hit) } }
        }
        stride.idle.inParts(of: 32) { copies in
            withTable { table in for copy in copies { table.drop(copy) } }
        }
        if stride.next == nil {
            // The next call of `store` shows if the mirror now has space.
            withTable { table in table.acceptsOffers = table.mirror != nil }
        }
        return (stride.hits, stride.next)
    }

    /// Returns the names in wire form; nil for an entry that the cache has removed.
    package func names(of copies: [MirroredHits]) -> [[UInt8]?] {
        var names: [[UInt8]?] = []
        copies.inParts(of: 64) { copies in
            names += withTable { table in copies.map { table.name(of: $0) } }
        }
        return names
    }
}

extension Array {
    fileprivate func inParts(of count: Int, _ body: (ArraySlice<Element>) -> Void) {
        for start in Swift.stride(from: 0, to: self.count, by: count) {
            body(self[start..<Swift.min(start + count, self.count)])
        }
    }
}
