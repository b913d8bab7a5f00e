// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

extension AnswerTable {
    enum Verdict {
        case keep, remove

        case withdraw

        case stop

        case expire(now: UInt64)
    }

    /// Returns the next position, nil at the end.
    mutating func walk(
        from position: Int,
        count: Int,
        _ classify: (borrowing AnswerTable, Int) -> Verdict
    ) -> Int? {
        var position = max(position, ring.tail)
        var left = count
        while position < ring.head {
            guard left > 0 else { return position }
            left -= 1
            let reference = ring.reference(at: position)
            position += ring.length(reference)
            guard ring.isLive(reference) else { continue }
            switch classify(self, reference) {
            case .keep: break
            case .stop: left = 0
            case .remove: remove(reference)
            case .withdraw: withdraw(reference)
            case .expire(let now): expire(reference, now: now)
            }
        }
        return nil
    }

    func matches(
        _ reference: Int,
        _ selection: AnswerCache.Selection,
        now: UInt64
    ) -> Bool {
        switch selection {
        case .all: true
        case .negative: ring[reference].isNegative
        case .stale: !isFresh(reference, now: now)
        case .source(let source): ring[reference].source == source.rawValue
        case .servers(let servers): servers.contains(ring[reference].server)
        case .tree(let top):
            ring.withParts(reference) { name, _, _, _ in
                name.isNameEqualOrBelow(top.octets.rawSpan)
            }
        case .name(let name, let type):
            (type == nil || type?.rawValue == ring[reference].type)
                && ring.withParts(reference) { stored, _, _, _ in
                    stored.isSameName(as: name.octets.rawSpan)
                }
        }
    }

    func isFresh(_ reference: Int, now: UInt64) -> Bool { ring[reference].isFresh(now) }

    func name(_ reference: Int) -> Name? {
        ring.withParts(reference) { name, _, _, _ in
            // SAFETY: the octets are copied while the ring is borrowed.
            unsafe name.withUnsafeBytes { unsafe try? Name(wire: $0) }
        }
    }

    func type(_ reference: Int) -> RecordType { RecordType(rawValue: ring[reference].type) }

    func source(_ reference: Int) -> (kind: AnswerSource, server: UInt16) {
        (AnswerSource(rawValue: ring[reference].source) ?? .local, ring[reference].server)
    }

    func entry(_ reference: Int, now: UInt64) -> CacheEntry? {
        let header = ring[reference]
        guard let name = name(reference) else { return nil }
        let remaining = header.remaining(now)
        let question = Question(name: name, type: RecordType(rawValue: header.type))
        let age = UInt32(clamping: header.age(now))
        return CacheEntry(
            name: name,
            type: question.type,
            variant: AnswerVariant(rawValue: header.variant),
            rcode: RCode(rawValue: UInt16(header.rcode)),
            source: AnswerSource(rawValue: header.source) ?? .local,
            server: header.server,
            age: header.age(now),
            remaining: remaining.fresh,
            staleRemaining: remaining.stale,
            refreshIn: header.refreshIn(now),
            hits: header.demand.hits,
            isNegative: header.isNegative,
            isAuthentic: header.isAuthentic && header.isFresh(now),
            sections: sections(reference).mappingTTLs(of: question) { $0 - min($0, age) }
        )
    }
}

extension RawSpan {
    fileprivate func isNameEqualOrBelow(_ top: RawSpan) -> Bool {
        var start = 0
        while byteCount - start > top.byteCount { start += 1 + Int(uint8(at: start)) }
        return extracting(start..<byteCount).isSameName(as: top)
    }
}
