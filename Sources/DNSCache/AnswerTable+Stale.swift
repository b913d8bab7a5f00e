// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

extension AnswerTable {
    mutating func staleAnswer(
        for question: Question,
        hash: UInt64? = nil,
        variant: AnswerVariant,
        ttl: UInt32,
        now: UInt64
    ) -> StaleAnswer? {
        let found = newest(for: question, hash: hash, variant: variant, now: now)
        guard let (newest, isHeld) = found else { return nil }
        let entry = ring.noteHit(newest)
        let age = entry.age(now)
        let isFresh = entry.isFresh(now)
        var answer = answer(newest, to: question) { old in
            isFresh ? old - min(old, UInt32(clamping: age)) : ttl
        }
        // The signatures may have expired (RFC 4035 §5.3.3).
        if !isFresh { answer.isAuthentic = false }
        return StaleAnswer(
            answer: answer,
            age: age,
            expiredFor: isFresh ? nil : age - UInt64(entry.lifetime),
            isHeld: isHeld
        )
    }

    func newest(
        for question: Question,
        hash: UInt64? = nil,
        variant: AnswerVariant,
        now: UInt64
    ) -> (reference: Int, isHeld: Bool)? {
        let name = question.name.octets
        let hash = hash ?? self.hash(name.rawSpan, type: question.type.rawValue)
        var probe = index.probe(hash)
        var newest: Int?
        var isHeld = false
        while let reference = index.next(&probe) {
            let entry = ring[reference]
            guard entry.isFresh(now) || entry.isStale(now),
                AnswerVariant(rawValue: entry.variant).suits(variant),
                isEntry(reference, hash, name.rawSpan, question.type.rawValue)
            else { continue }
            if entry.isFailure {
                isHeld = true
            } else if newest.map({ ring[$0].storedAt < entry.storedAt }) ?? true {
                newest = reference
            }
        }
        return newest.map { ($0, isHeld) }
    }

    func freshAnswer(
        for question: Question,
        variant: AnswerVariant,
        now: UInt64
    ) -> FreshAnswer? {
        let name = question.name.octets
        let hash = hash(name.rawSpan, type: question.type.rawValue)
        var probe = index.probe(hash)
        while let reference = index.next(&probe) {
            let entry = ring[reference]
            guard entry.isFresh(now), !entry.isFailure,
                AnswerVariant(rawValue: entry.variant).suits(variant),
                isEntry(reference, hash, name.rawSpan, question.type.rawValue)
            else { continue }
            let age = UInt32(clamping: entry.age(now))
            return FreshAnswer(
                answer: answer(reference, to: question, lifetime: entry.lifetime - age) { old in
                    old - min(old, age)
                },
                age: age
            )
        }
        return nil
    }

    mutating func bypassedAnswer(
        for question: Question,
        variant: AnswerVariant,
        now: UInt64
    ) -> CachedAnswer? {
        guard isBypassed else { return nil }
        let (name, type) = (question.name.octets, question.type.rawValue)
        let hash = hash(name.rawSpan, type: type)
        guard let reference = find(name.rawSpan, type, variant, hash, now: now) else { return nil }
        let entry = ring.noteHit(reference)
        let age = UInt32(clamping: entry.age(now))
        return answer(reference, to: question, lifetime: entry.lifetime - age) { old in
            old - min(old, age)
        }
    }

    private func answer(
        _ reference: Int,
        to question: Question,
        lifetime: UInt32 = 0,
        ttl: (UInt32) -> UInt32
    ) -> CachedAnswer {
        let entry = ring[reference]
        var answer = CachedAnswer(
            question: question,
            variant: AnswerVariant(rawValue: entry.variant),
            rcode: RCode(rawValue: UInt16(entry.rcode)),
            sections: sections(reference).mappingTTLs(of: question, ttl),
            lifetime: lifetime,
            source: AnswerSource(rawValue: entry.source) ?? .local,
            server: entry.server,
            staleWindow: entry.staleWindow,
            refreshAfter: entry.refreshAfter
        )
        answer.isAuthentic = entry.isAuthentic
        return answer
    }

    func sections(_ reference: Int) -> AnswerSections {
        let entry = ring[reference]
        return ring.withParts(reference) { _, ttlOffsets, sections, _ in
            AnswerSections(
                copying: sections,
                answerCount: entry.answerCount,
                authorityCount: entry.authorityCount,
                additionalCount: entry.additionalCount,
                ttlOffsets: ttlOffsets
            )
        }
    }
}
