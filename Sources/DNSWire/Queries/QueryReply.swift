// SPDX-License-Identifier: Apache-2.0

/// Cached answer in wire form; see ``AnswerSections``.
package struct ReadyAnswer: ~Escapable {
    package let rcode: UInt16

    package let flags: UInt16
    package let answerCount: UInt16
    package let authorityCount: UInt16
    package let additionalCount: UInt16
    package let sections: RawSpan

    /// `UInt16` in native byte order.
    package let ttlOffsets: RawSpan

    /// Encoded extended errors (RFC 8914 §2).
    package let options: RawSpan

    /// Seconds to subtract from each TTL.
    package let age: UInt32

    @_lifetime(copy sections, copy ttlOffsets, copy options)
    package init(
        rcode: UInt16,
        flags: UInt16,
        answerCount: UInt16,
        authorityCount: UInt16,
        additionalCount: UInt16,
        sections: RawSpan,
        ttlOffsets: RawSpan,
        options: RawSpan,
        age: UInt32
    ) {
        self.rcode = rcode
        self.flags = flags
        self.answerCount = answerCount
        self.authorityCount = authorityCount
        self.additionalCount = additionalCount
        self.sections = sections
        self.ttlOffsets = ttlOffsets
        self.options = options
        self.age = age
    }
}

extension QueryFacts {
    /// Converts the query in `buffer` into its reply and returns the size of the reply.
    ///
    /// The reply keeps ID, RD, CD and the letter case of the question (0x20). It has AD only if the
    /// client understands AD (RFC 6840 §5.8). If the extended errors exceed `limit`, the reply has
    /// the first error code or no error (RFC 8914 §3). If the records alone exceed `limit`, the
    /// reply has TC and no records (RFC 2181 §9).
    ///
    /// - Precondition: `limit` is at least 512 and at most the size of `buffer`.
    package func reply(
        with answer: borrowing ReadyAnswer,
        in buffer: inout MutableRawSpan,
        limit: Int
    ) -> Int {
        let end = questionEnd + answer.sections.byteCount
        guard end + bareOPTCount <= limit else {
            return reply(
                rcode: answer.rcode,
                moreFlags: HeaderFlags.truncated,
                explanation: answer.options,
                in: &buffer,
                limit: limit
            )
        }
        buffer.copy(answer.sections, to: questionEnd)
        var offset = 0
        while offset < answer.ttlOffsets.byteCount {
            // SAFETY: bounds are checked by the span; every bit pattern is a UInt16.
            let position = Int(
                unsafe answer.ttlOffsets.unsafeLoad(fromByteOffset: offset, as: UInt16.self)
            )
            buffer.age(at: position, by: answer.age)
            offset += 2
        }
        writeHeader(rcode: answer.rcode, moreFlags: answer.flags & wantedFlags, in: &buffer)
        buffer.store(answer.answerCount, at: 6)
        buffer.store(answer.authorityCount, at: 8)
        buffer.store(answer.additionalCount + (edns == nil ? 0 : 1), at: 10)
        guard let edns else { return end }
        return writeOPT(
            edns,
            rcode: answer.rcode,
            explanation: answer.options,
            at: end,
            in: &buffer,
            limit: limit
        )
    }

    /// Converts the query in `buffer` into a reply without records.
    ///
    /// - Parameters:
    ///   - rcode: 12-bit code; without EDNS, the reply has only the low 4 bits.
    ///   - limit: at least 512 octets; a long extended error is shortened.
    package func reply(
        rcode: UInt16,
        moreFlags: UInt16 = 0,
        explanation: RawSpan = RawSpan(),
        in buffer: inout MutableRawSpan,
        limit: Int = 512
    ) -> Int {
        writeHeader(rcode: rcode, moreFlags: moreFlags, in: &buffer)
        buffer.store(UInt16(0), at: 6)
        buffer.store(UInt16(0), at: 8)
        buffer.store(UInt16(edns == nil ? 0 : 1), at: 10)
        guard let edns else { return questionEnd }
        return writeOPT(
            edns,
            rcode: rcode,
            explanation: explanation,
            at: questionEnd,
            in: &buffer,
            limit: limit
        )
    }

    package func reply(
        rcode: RCode,
        because error: ExtendedError,
        in buffer: inout MutableRawSpan
    ) -> Int {
        let option: InlineArray<3, UInt16> = [
            EDNSOption.Code.extendedError.bigEndian, UInt16(2).bigEndian, error.rawValue.bigEndian,
        ]
        // SAFETY: integers have no uninitialised octets.
        return unsafe reply(rcode: rcode.rawValue, explanation: option.span.bytes, in: &buffer)
    }

    package func write(id: UInt16, _ name: Name, to buffer: inout MutableRawSpan) {
        buffer.store(id, at: 0)
        buffer.store(flags, at: 2)
        buffer.store(UInt64(1) << 48, at: 4)
        buffer.copy(name.octets.rawSpan, to: Self.headerCount)
        buffer.store(type.rawValue, at: nameEnd)
        buffer.store(recordClass.rawValue, at: nameEnd + 2)
    }

    /// AD flag if the query has AD or DO (RFC 6840 §5.7), otherwise 0.
    private var wantedFlags: UInt16 {
        flags & HeaderFlags.authenticData | (dnssecOK ? HeaderFlags.authenticData : 0)
    }

    private func writeHeader(rcode: UInt16, moreFlags: UInt16, in buffer: inout MutableRawSpan) {
        let kept = flags & (HeaderFlags.recursionDesired | HeaderFlags.checkingDisabled)
        buffer.store(
            HeaderFlags.response | HeaderFlags.recursionAvailable | kept | moreFlags | rcode & 0xF,
            at: 2
        )
    }

    private var bareOPTCount: Int { edns == nil ? 0 : 11 + replyOptions.octetCount }
    private static var bareErrorCount: Int { 6 }

    private func writeOPT(
        _ edns: EDNSFacts,
        rcode: UInt16,
        explanation: RawSpan,
        at end: Int,
        in buffer: inout MutableRawSpan,
        limit: Int
    ) -> Int {
        buffer.store(UInt8(0), at: end)
        buffer.store(RecordType.opt.rawValue, at: end + 1)
        buffer.store(UInt16(Self.largestPayload), at: end + 3)
        buffer.store(UInt8(truncatingIfNeeded: rcode >> 4), at: end + 5)
        buffer.store(UInt8(0), at: end + 6)
        buffer.store(UInt16(edns.dnssecOK ? 0x8000 : 0), at: end + 7)
        var option = end + 11
        if !replyOptions.isEmpty { replyOptions.write(in: &buffer, at: &option) }
        if !explanation.isEmpty {
            if option + explanation.byteCount <= limit {
                buffer.copy(explanation, to: option)
                option += explanation.byteCount
            } else if option + Self.bareErrorCount <= limit {
                buffer.copy(explanation.extracting(0..<Self.bareErrorCount), to: option)
                buffer.store(UInt16(2), at: option + 2)
                option += Self.bareErrorCount
            }
        }
        buffer.store(UInt16(truncatingIfNeeded: option - end - 11), at: end + 9)
        return option
    }
}

// MARK: - Octets

extension MutableRawSpan {
    mutating func store<Number: FixedWidthInteger & BitwiseCopyable>(
        _ number: Number,
        at offset: Int
    ) { storeBytes(of: number.bigEndian, toByteOffset: offset, as: Number.self) }

    fileprivate mutating func age(at offset: Int, by age: UInt32) {
        let ttl = bytes.uint32(at: offset)
        store(ttl > age ? ttl - age : 0, at: offset)
    }

    /// Copies `octets` to this span, from `offset` on.
    @inlinable
    public mutating func copy(_ octets: RawSpan, to offset: Int) {
        precondition(offset >= 0 && octets.byteCount <= byteCount - offset, "copy out of bounds")
        // SAFETY: the precondition bounds the write; a span never overlaps a mutable one.
        unsafe withUnsafeMutableBytes { target in
            unsafe octets.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: target[offset...])
                    .copyMemory(from: source)
            }
        }
    }
}
