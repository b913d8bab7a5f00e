// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Consecutive address records of equal size in a reply.
///
///     header | question | CNAME … | A  A  A  A | RRSIG … | OPT
///                                 ^ start        4 records of `size` octets
///
/// The records can swap places, because their owner names are compression pointers.
struct AddressBlock {
    let start: Int

    let size: Int

    /// At least 2.
    let count: Int

    /// Finds the address records.
    ///
    /// Returns nil if there are fewer than two of them, if their sizes differ, or if an owner name
    /// is not a compression pointer.
    init?(in reply: RawSpan, from questionEnd: Int, answerCount: Int, type: RecordType) {
        var position = questionEnd
        var start = questionEnd
        var size = 0
        var count = 0
        for _ in 0..<answerCount {
            let begin = position
            let isPointer = reply.uint8(at: position) >= 0xC0
            while 1...63 ~= reply.uint8(at: position) {
                position += Int(reply.uint8(at: position)) + 1
            }
            position += reply.uint8(at: position) == 0 ? 1 : 2
            let isAddress = reply.uint16(at: position) == type.rawValue
            position += 10 + Int(reply.uint16(at: position + 8))
            guard isAddress else {
                if count > 0 { break }
                continue
            }
            guard isPointer, count == 0 || position - begin == size else { return nil }
            if count == 0 { start = begin }
            size = position - begin
            count += 1
        }
        guard count > 1 else { return nil }
        self.start = start
        self.size = size
        self.count = count
    }

    func rotate(_ reply: inout MutableRawSpan, to first: Int) {
        guard first > 0 else { return }
        reverse(&reply, 0..<first)
        reverse(&reply, first..<count)
        reverse(&reply, 0..<count)
    }

    func sort(_ reply: inout MutableRawSpan, by addresses: [IPAddress]) {
        var place = 0
        for address in addresses where place < count {
            let octets = address.octets
            let found = (place..<count).first { index in
                let begin = start + (index + 1) * size - octets.count
                return octets.indices.allSatisfy { reply.bytes.uint8(at: begin + $0) == octets[$0] }
            }
            guard let found else { continue }
            if found > place { swap(&reply, start + place * size, start + found * size) }
            place += 1
        }
    }

    private func reverse(_ reply: inout MutableRawSpan, _ records: Range<Int>) {
        var low = start + records.lowerBound * size
        var high = start + (records.upperBound - 1) * size
        while low < high {
            swap(&reply, low, high)
            low += size
            high -= size
        }
    }

    func swap(_ reply: inout MutableRawSpan, _ left: Int, _ right: Int) {
        var offset = 0
        while offset + 8 <= size {
            let octets = reply.bytes.octets8(at: left + offset).littleEndian
            let others = reply.bytes.octets8(at: right + offset).littleEndian
            reply.storeBytes(of: others, toByteOffset: left + offset, as: UInt64.self)
            reply.storeBytes(of: octets, toByteOffset: right + offset, as: UInt64.self)
            offset += 8
        }
        guard offset < size else { return }
        let octets = reply.bytes.uint32(at: left + offset).bigEndian
        let others = reply.bytes.uint32(at: right + offset).bigEndian
        reply.storeBytes(of: others, toByteOffset: left + offset, as: UInt32.self)
        reply.storeBytes(of: octets, toByteOffset: right + offset, as: UInt32.self)
    }
}

extension AnswerTable {
    mutating func reorder(
        _ question: Question,
        variant: AnswerVariant,
        _ addresses: [IPAddress],
        now: UInt64
    ) {
        let name = question.name.octets
        let hash = hash(name.rawSpan, type: question.type.rawValue)
        var probe = index.probe(hash)
        while let reference = index.next(&probe) {
            let entry = ring[reference]
            guard entry.isFresh(now), !entry.isFailure, entry.variant == variant.rawValue,
                isEntry(reference, hash, name.rawSpan, question.type.rawValue)
            else { continue }
            withdraw(reference)
            ring.withMutableSections(reference) { sections in
                let block = AddressBlock(
                    in: sections.bytes,
                    from: 0,
                    answerCount: Int(entry.answerCount),
                    type: question.type
                )
                block?.sort(&sections, by: addresses)
            }
        }
    }
}
