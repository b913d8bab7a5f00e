// SPDX-License-Identifier: Apache-2.0

extension AnswerSections {
    /// Copies sections without validation; `ttlOffsets` are `UInt16` in native byte order.
    package init(
        copying octets: RawSpan,
        answerCount: UInt16,
        authorityCount: UInt16,
        additionalCount: UInt16,
        ttlOffsets: RawSpan
    ) {
        self.init(
            octets: (0..<octets.byteCount).map { octets.uint8(at: $0) },
            answerCount: answerCount,
            authorityCount: authorityCount,
            additionalCount: additionalCount,
            ttlOffsets: TTLOffsets(
                stride(from: 0, to: ttlOffsets.byteCount, by: 2).map { offset in
                    ttlOffsets.uint16(at: offset).bigEndian
                }
            )
        )
    }

    /// Validates sections that were read from an untrusted file.
    ///
    /// - Throws: for example `reservedLabel` if a compression pointer leads into a TTL.
    package init(
        checking octets: [UInt8],
        of question: Question,
        answerCount: UInt16,
        authorityCount: UInt16,
        additionalCount: UInt16
    ) throws(WireError) {
        let start = WireLimits.headerOctets + question.octetCount
        var message = [UInt8](repeating: 0, count: WireLimits.headerOctets)
        message.reserveCapacity(start + octets.count)
        message += question.name.octets
        message.append(bigEndian: question.type.rawValue)
        message.append(bigEndian: question.recordClass.rawValue)
        message += octets
        guard message.count <= WireLimits.messageOctets else {
            throw .trailingOctets(at: WireLimits.messageOctets)
        }
        var offsets = TTLOffsets()
        var position = start
        let count = Int(answerCount) + Int(authorityCount) + Int(additionalCount)
        for _ in 0..<count {
            var reader = WireReader(message.span, at: position)
            let prologue = try Record.Prologue(parsing: &reader)
            guard prologue.type != .opt else { throw .misplacedOPT(at: position) }
            position = reader.offset
            let place = position - 6
            offsets.append(UInt16(place))
            // 0x80 is not a valid label type, so the parser rejects a pointer that leads into the
            // TTL.
            message.patch(0x8080, at: place)
            message.patch(0x8080, at: place + 2)
            reader = WireReader(message.span, at: position)
            _ = try Record(prologue, dataFrom: &reader)
            position = reader.offset
        }
        guard position == message.count else { throw .trailingOctets(at: position) }
        self.init(
            octets: octets,
            answerCount: answerCount,
            authorityCount: authorityCount,
            additionalCount: additionalCount,
            ttlOffsets: offsets
        )
    }

    package func mappingTTLs(
        of question: Question,
        _ transform: (UInt32) -> UInt32
    ) -> AnswerSections {
        mappingTTLs(questionEnd: WireLimits.headerOctets + question.octetCount, transform)
    }

    func mappingTTLs(questionEnd start: Int, _ transform: (UInt32) -> UInt32) -> AnswerSections {
        var octets = octets
        for offset in ttlOffsets {
            let place = Int(offset) - start
            let old = octets[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
            let new = transform(old)
            octets.patch(UInt16(new >> 16), at: place)
            octets.patch(UInt16(truncatingIfNeeded: new), at: place + 2)
        }
        return AnswerSections(
            octets: octets,
            answerCount: answerCount,
            authorityCount: authorityCount,
            additionalCount: additionalCount,
            ttlOffsets: ttlOffsets
        )
    }

    init(
        octets: [UInt8],
        answerCount: UInt16,
        authorityCount: UInt16,
        additionalCount: UInt16,
        ttlOffsets: TTLOffsets
    ) {
        self.octets = octets
        self.answerCount = answerCount
        self.authorityCount = authorityCount
        self.additionalCount = additionalCount
        self.ttlOffsets = ttlOffsets
    }

    /// Decodes the sections; nil if they are malformed.
    package func message(to question: Question) -> Message? {
        var header = Header()
        header.isResponse = true
        var octets = Message(header: header, questions: [question]).encoded()
        for (index, count) in [answerCount, authorityCount, additionalCount].enumerated() {
            octets.patch(count, at: 6 + 2 * index)
        }
        return try? Message(parsing: octets + self.octets)
    }
}
