// SPDX-License-Identifier: Apache-2.0

/// Answer section of a reply, copied without decoding its records.
///
/// The section has CNAMEs, possibly none, and the addresses of the last name. The owner of each
/// record is a pointer to the question or to the target of the previous CNAME (RFC 1035 §4.1.4).
package struct PlainReply: Hashable, Sendable {
    package private(set) var sections: AnswerSections
    package private(set) var ttls: ClosedRange<UInt32>
    package let header: Header
    private let questionEnd: Int

    /// Copies the answer section of `message`; nil if the section has another form.
    ///
    /// The caller must have compared the question with the question of the query.
    package init?(copying message: Span<UInt8>, asked type: RecordType, questionEnd: Int) {
        let message = message.rawSpan
        var walk = Walk(message, type, questionEnd)
        guard walk.run() else { return nil }
        let octets = [UInt8](message.extracting(questionEnd..<walk.end))
        sections = AnswerSections(
            octets: octets,
            answerCount: UInt16(walk.offsets.count),
            authorityCount: 0,
            additionalCount: 0,
            ttlOffsets: walk.offsets
        )
        ttls = walk.lowestTTL...walk.highestTTL
        header = Header(flags: message.uint16(at: 2))
        self.questionEnd = questionEnd
    }

    package mutating func mapTTLs(_ transform: (UInt32) -> UInt32) {
        var (lowest, highest): (UInt32, UInt32) = (.max, 0)
        sections = sections.mappingTTLs(questionEnd: questionEnd) { ttl in
            let new = transform(ttl)
            (lowest, highest) = (min(lowest, new), max(highest, new))
            return new
        }
        ttls = lowest...highest
    }
}

private struct Walk: ~Escapable {
    private let message: RawSpan
    private let type: UInt16
    private let questionEnd: Int

    private(set) var end: Int

    private(set) var offsets = TTLOffsets()
    private(set) var lowestTTL = UInt32.max
    private(set) var highestTTL: UInt32 = 0

    private var names = InlineArray<6, Int>(repeating: WireLimits.headerOctets)
    private var nameCount = 1
    private var addresses: (start: Int, ttl: UInt32)?

    private static let prologue = 12

    /// Maximum number of answer records; the search for duplicates takes quadratic time.
    private static let mostRecords = 24

    private static let mostOthers = 48

    @_lifetime(copy message)
    init(_ message: RawSpan, _ type: RecordType, _ questionEnd: Int) {
        self.message = message
        self.type = type.rawValue
        self.questionEnd = questionEnd
        end = questionEnd
    }

    mutating func run() -> Bool {
        let count = Int(message.uint16(at: 6))
        guard message.byteCount >= questionEnd, message.uint16(at: 2) & 0x020F == 0,
            type == RecordType.a.rawValue || type == RecordType.aaaa.rawValue,
            (1...Self.mostRecords).contains(count)
        else { return false }
        for _ in 0..<count { guard takeRecord() else { return false } }
        return addresses != nil && skipOthers()
    }

    private mutating func takeRecord() -> Bool {
        let start = end
        guard message.byteCount - start >= Self.prologue,
            message.uint8(at: start) >= 0xC0,
            Int(message.uint16(at: start) & 0x3FFF) == names[nameCount - 1],
            message.uint16(at: start + 4) == RecordClass.in.rawValue
        else { return false }
        let ttl = message.uint32(at: start + 6)
        let data = start + Self.prologue
        end = data + Int(message.uint16(at: start + 10))
        guard ttl <= WireLimits.maximumTTL, end <= message.byteCount else { return false }
        offsets.append(UInt16(start + 6))
        (lowestTTL, highestTTL) = (min(lowestTTL, ttl), max(highestTTL, ttl))
        switch message.uint16(at: start + 2) {
        case type: return takeAddress(start, ttl)
        case RecordType.cname.rawValue where addresses == nil: return takeAlias(data)
        default: return false
        }
    }

    private mutating func takeAddress(_ start: Int, _ ttl: UInt32) -> Bool {
        let size = Self.prologue + (type == RecordType.a.rawValue ? 4 : 16)
        guard end - start == size else { return false }
        guard let first = addresses else {
            addresses = (start, ttl)
            return true
        }
        guard first.ttl == ttl else { return false }
        for other in stride(from: first.start, to: start, by: size) {
            guard
                (Self.prologue..<size).contains(where: {
                    message.uint8(at: other + $0) != message.uint8(at: start + $0)
                })
            else { return false }
        }
        return true
    }

    private mutating func takeAlias(_ start: Int) -> Bool {
        guard let (nameEnd, pointer) = extent(ofNameAt: start), nameEnd == end,
            nameCount < names.count
        else { return false }
        // A pointer must lead to a label, because other octets, such as a TTL, can change later.
        if let pointer {
            guard (0..<nameCount).contains(where: { hasLabel(at: pointer, name: names[$0]) })
            else { return false }
        }
        guard !(0..<nameCount).contains(where: { isSameName(names[$0], start) }) else {
            return false
        }
        names[nameCount] = start
        nameCount += 1
        return true
    }

    private func hasLabel(at offset: Int, name: Int) -> Bool {
        var position = name
        while position < offset, (1...63).contains(message.uint8(at: position)) {
            position += 1 + Int(message.uint8(at: position))
        }
        return position == offset
    }

    private func skipOthers() -> Bool {
        let authorities = Int(message.uint16(at: 8))
        let count = authorities + Int(message.uint16(at: 10))
        guard count <= Self.mostOthers else { return false }
        var position = end
        var hasOPT = false
        for index in 0..<count {
            guard let name = extent(ofNameAt: position), name.end + 10 <= message.byteCount else {
                return false
            }
            let isRoot = message.uint8(at: position) == 0
            let (fields, data) = (name.end, name.end + 10)
            let count = Int(message.uint16(at: fields + 8))
            position = data + count
            guard position <= message.byteCount else { return false }
            guard message.uint16(at: fields) == RecordType.opt.rawValue else { continue }
            // In OPT, the TTL field begins with the upper 8 bits of the RCODE.
            guard isRoot, !hasOPT, index >= authorities, message.uint8(at: fields + 4) == 0 else {
                return false
            }
            let isPadding =
                count >= 4 && message.uint16(at: data) == EDNSOption.Code.padding
                && Int(message.uint16(at: data + 2)) == count - 4
            guard count == 0 || isPadding else { return false }
            hasOPT = true
        }
        return position == message.byteCount
    }

    /// Avoids ``WireReader/name()``, because throwing is slower; returns nil for a malformed name.
    private func extent(ofNameAt start: Int) -> (end: Int, target: Int?)? {
        var (position, runStart) = (start, start)
        var (octets, hops) = (1, 0)
        var first: (end: Int, target: Int)?
        while position < message.byteCount {
            let length = Int(message.uint8(at: position))
            if length == 0 { return (first?.end ?? position + 1, first?.target) }
            if length < 64 {
                octets += length + 1
                position += length + 1
                guard octets <= WireLimits.nameOctets else { return nil }
                continue
            }
            guard length >= 0xC0, position + 2 <= message.byteCount else { return nil }
            let target = Int(message.uint16(at: position) & 0x3FFF)
            hops += 1
            guard target < runStart, target >= WireLimits.headerOctets,
                hops <= WireLimits.pointersPerName
            else { return nil }
            if first == nil { first = (position + 2, target) }
            (position, runStart) = (target, target)
        }
        return nil
    }

    private func isSameName(_ left: Int, _ right: Int) -> Bool {
        var (left, right) = (label(at: left), label(at: right))
        while true {
            let count = Int(message.uint8(at: left))
            guard count == message.uint8(at: right) else { return false }
            if count == 0 { return true }
            for index in 1...count
            where message.uint8(at: left + index).folded != message.uint8(at: right + index).folded
            { return false }
            left = label(at: left + 1 + count)
            right = label(at: right + 1 + count)
        }
    }

    private func label(at offset: Int) -> Int {
        var offset = offset
        while message.uint8(at: offset) >= 0xC0 {
            offset = Int(message.uint16(at: offset) & 0x3FFF)
        }
        return offset
    }
}
