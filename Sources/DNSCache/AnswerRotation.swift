// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// The addresses of a reply, as they lie one behind the other in its answer section.
///
///     header | question | CNAME … | A  A  A  A | RRSIG … | OPT
///                                 ^ start        4 records of `size` octets
///
/// Records of one size can change places: their owners are pointers to what comes before them, nothing
/// points to them, and each takes its TTL along.
struct AddressBlock {
    /// Where the first record begins, counted from the start of the message.
    let start: Int

    /// Octets of each record.
    let size: Int

    /// How many there are, at least two.
    let count: Int

    /// Finds the addresses of `type` in a reply that was made here; nil if fewer than two of one
    /// size lie behind each other.
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
            // The name ends with a pointer, or with the root.
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

    /// Lets the record with the number `first` be the first, and those before it the last.
    func rotate(_ reply: inout MutableRawSpan, to first: Int) {
        guard first > 0 else { return }
        // What is turned round as a whole, and then each part again, has changed places.
        reverse(&reply, 0..<first)
        reverse(&reply, first..<count)
        reverse(&reply, 0..<count)
    }

    /// Puts the records of `addresses`, as far as they are there, first and in that order.
    func sort(_ reply: inout MutableRawSpan, by addresses: [IPAddress]) {
        var place = 0
        for address in addresses where place < count {
            let octets = address.octets
            let found = (place..<count).first { index in
                // The address is the record's end.
                let begin = start + (index + 1) * size - octets.count
                return octets.indices.allSatisfy { reply.bytes.uint8(at: begin + $0) == octets[$0] }
            }
            guard let found else { continue }
            if found > place { swap(&reply, start + place * size, start + found * size) }
            place += 1
        }
    }

    /// Puts records in reverse order.
    private func reverse(_ reply: inout MutableRawSpan, _ records: Range<Int>) {
        var low = start + records.lowerBound * size
        var high = start + (records.upperBound - 1) * size
        while low < high {
            swap(&reply, low, high)
            low += size
            high -= size
        }
    }

    /// Lets two records change places.
    func swap(_ reply: inout MutableRawSpan, _ left: Int, _ right: Int) {
        var offset = 0
        while offset + 8 <= size {
            let octets = reply.bytes.octets8(at: left + offset).littleEndian
            let others = reply.bytes.octets8(at: right + offset).littleEndian
            reply.storeBytes(of: others, toByteOffset: left + offset, as: UInt64.self)
            reply.storeBytes(of: octets, toByteOffset: right + offset, as: UInt64.self)
            offset += 8
        }
        // Records of IPv6 addresses have 28 octets, those of IPv4 addresses 16.
        guard offset < size else { return }
        let octets = reply.bytes.uint32(at: left + offset).bigEndian
        let others = reply.bytes.uint32(at: right + offset).bigEndian
        reply.storeBytes(of: others, toByteOffset: left + offset, as: UInt32.self)
        reply.storeBytes(of: octets, toByteOffset: right + offset, as: UInt32.self)
    }
}

extension AnswerTable {
    /// Puts these addresses of a fresh answer first, in their order; none is added and none lost.
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
