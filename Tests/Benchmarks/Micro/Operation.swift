// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire

enum Operation: String, CaseIterable {
    case parse

    case parseEDNS = "parse-edns"

    case miss

    case hit

    case hitEDNS = "hit-edns"

    /// Looks up 100,000 cached answers in an order that the processor cannot predict.
    case hitMany = "hit-many"

    /// Patches four TTLs.
    case patch

    case build

    case read

    case decompress

    case store

    func prepared() -> (Int) -> Int {
        switch self {
        case .parse: parsing(hasEDNS: false)
        case .parseEDNS: parsing(hasEDNS: true)
        case .miss: answering(names: 1000, hasEDNS: false, isHit: false)
        case .hit: answering(names: 1000, hasEDNS: false, isHit: true)
        case .hitEDNS: answering(names: 1000, hasEDNS: true, isHit: true)
        case .hitMany: answering(names: 100_000, hasEDNS: false, isHit: true)
        case .patch: patching()
        case .build: building()
        case .read: reading()
        case .decompress: decompressing()
        case .store: storing()
        }
    }
}

private let bufferOctets = 4096

private let batchCount = 32

private func parsing(hasEDNS: Bool) -> (Int) -> Int {
    let query = Samples.query(Samples.name(7), hasEDNS: hasEDNS)
    return { count in
        var sum = 0
        for _ in 0..<count {
            guard let facts = try? QueryFacts(checking: query.rawSpan) else { return -1 }
            sum &+= facts.nameEnd
        }
        return sum
    }
}

private func answering(names: Int, hasEDNS: Bool, isHit: Bool) -> (Int) -> Int {
    let now = Instant(nanoseconds: 1 << 50)
    let cache = AnswerCache(limit: AnswerCache.sizes.standard, origin: now, seed: 42)
    for number in 0..<names { cache.insert(Samples.answer(to: Samples.name(number)), now: now) }
    // This prime divides none of the values of `names`, so the loop visits all names.
    let stride = 611_953
    let queries = (0..<names).map { number in
        Samples.query(
            Samples.name(number * stride % names + (isHit ? 0 : names)),
            hasEDNS: hasEDNS
        )
    }
    var buffers = [[UInt8]](
        repeating: [UInt8](repeating: 0, count: bufferOctets),
        count: batchCount
    )
    var facts = [QueryFacts?](repeating: nil, count: batchCount)
    var hashes = [UInt64](repeating: 0, count: batchCount)
    return { count in
        var sum = 0
        var next = 0
        for first in Swift.stride(from: 0, to: count, by: batchCount) {
            let slots = min(batchCount, count - first)
            for slot in 0..<slots {
                buffers[slot].withUnsafeMutableBytes { $0.copyBytes(from: queries[next]) }
                next = next + 1 == names ? 0 : next + 1
            }
            let octets = queries[0].count
            for slot in 0..<slots {
                buffers[slot].withMutableRawSpan { buffer in
                    guard
                        let found = try? QueryFacts(
                            checking: buffer.bytes.extracting(0..<octets)
                        )
                    else { return }
                    facts[slot] = found
                    hashes[slot] = cache.hash(found, in: buffer.bytes)
                }
            }
            cache.withTable(now: now) { table, now in
                for slot in 0..<slots { table.prefetchPlace(hashes[slot]) }
                for slot in 0..<slots { table.prefetchAnswer(hashes[slot]) }
                for slot in 0..<slots {
                    guard let facts = facts[slot] else { continue }
                    let hash = hashes[slot]
                    buffers[slot].withMutableRawSpan { buffer in
                        let hit = table.answer(
                            facts,
                            hash: hash,
                            in: &buffer,
                            limit: 1232,
                            now: now
                        )
                        sum &+= hit?.length ?? 1
                    }
                }
            }
        }
        return sum
    }
}

private func patching() -> (Int) -> Int {
    let query = Samples.query(Samples.name(7), hasEDNS: false)
    let sections = Samples.answer(to: Samples.name(7)).sections
    var buffer = query + [UInt8](repeating: 0, count: bufferOctets)
    return { count in
        guard let facts = try? QueryFacts(checking: query.rawSpan) else { return -1 }
        var sum = 0
        for turn in 0..<count {
            sum &+= buffer.withMutableRawSpan { buffer in
                let answer = ReadyAnswer(
                    rcode: 0,
                    flags: 0,
                    answerCount: sections.answerCount,
                    authorityCount: 0,
                    additionalCount: 0,
                    sections: sections.octets.rawSpan,
                    ttlOffsets: sections.ttlOffsets.rawSpan,
                    options: RawSpan(),
                    age: UInt32(turn & 31)
                )
                return facts.reply(with: answer, in: &buffer, limit: 1232)
            }
        }
        return sum
    }
}

private func building() -> (Int) -> Int {
    let message = Samples.message
    return { count in
        var sum = 0
        for _ in 0..<count { sum &+= message.encoded().count }
        return sum
    }
}

private func reading() -> (Int) -> Int {
    let octets = Samples.message.encoded()
    return { count in
        var sum = 0
        for _ in 0..<count { sum &+= (try? Message(parsing: octets))?.answers.count ?? -1 }
        return sum
    }
}

private func decompressing() -> (Int) -> Int {
    // `site.example.com` begins at octet 12; `www` and a pointer to octet 12 follow the name.
    let octets = [UInt8](repeating: 0, count: 12) + Samples.name(7).octets
    let message = octets + [3, 119, 119, 119, 0xC0, 12]
    return { count in
        var sum = 0
        for _ in 0..<count {
            var reader = WireReader(message.span, at: octets.count)
            guard let name = try? reader.name() else { return -1 }
            sum &+= name.octets.count
        }
        return sum
    }
}

private func storing() -> (Int) -> Int {
    let now = Instant(nanoseconds: 1 << 50)
    let cache = AnswerCache(limit: AnswerCache.sizes.standard, origin: now, seed: 42)
    let answers = (0..<1000).map { Samples.answer(to: Samples.name($0)) }
    return { count in
        for turn in 0..<count { cache.insert(answers[turn % answers.count], now: now) }
        return Int(cache.numbers.entries)
    }
}
