// SPDX-License-Identifier: Apache-2.0

/// A ready-made answer: everything that follows the question, for any spelling of the question.
///
/// Compression pointers in `sections` count from the start of a message whose question has the
/// length of the asked one, so the octets fit behind the client's own question as they are.
package struct ReadyAnswer: ~Escapable {
    package let rcode: UInt16

    /// AD where the records were validated, for clients that understand it (RFC 6840 §5.8); else 0.
    package let flags: UInt16
    package let answerCount: UInt16
    package let authorityCount: UInt16
    package let additionalCount: UInt16

    /// The encoded answer, authority and additional sections.
    package let sections: RawSpan

    /// Where TTLs lie, counted from the start of the message: UInt16 after UInt16, native order.
    package let ttlOffsets: RawSpan

    /// For a client that speaks EDNS: encoded extended errors, or nothing (RFC 8914 §2); the first is
    /// the one that counts where there is no room for all.
    package let options: RawSpan

    /// Seconds that have passed since the TTLs were right.
    package let age: UInt32

    /// Puts the parts together without looking at them.
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
    /// Turns the query at the start of `buffer` into its reply and returns the reply's length.
    ///
    /// The question stays where and as it is, so a client that varies the case of its names (0x20)
    /// sees its own spelling; ID, RD and CD are kept, QR and RA set, AD as the answer has it and the
    /// client wants it (RFC 6840 §5.8), everything else clear.  An
    /// answer beyond `limit` octets becomes an empty one with TC set: whole RRsets or none
    /// (RFC 2181 §9); before that, of extended errors only the first one's code is left, and then none (RFC 8914 §3).
    /// `buffer` holds at least `limit` octets, and `limit` is at least 512.
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

    /// Turns the query at the start of `buffer` into a reply without records.
    ///
    /// - Parameters:
    ///   - rcode: up to 12 bits; what exceeds 4 is lost without EDNS.
    ///   - explanation: encoded extended errors, or nothing.
    ///   - limit: octets that the reply may have; at least 512, as then all but a text fits.
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

    /// Turns the query at the start of `buffer` into a reply that says why it has no records.
    package func reply(
        rcode: RCode,
        because error: ExtendedError,
        in buffer: inout MutableRawSpan
    ) -> Int {
        let option: InlineArray<3, UInt16> = [
            EDNSOption.Code.extendedError.bigEndian, UInt16(2).bigEndian, error.rawValue.bigEndian,
        ]
        // SAFETY: integers have no octets that may not be read.
        return unsafe reply(rcode: rcode.rawValue, explanation: option.span.bytes, in: &buffer)
    }

    /// AD in a client's query, or DO, says that it knows what AD in a reply means (RFC 6840 §5.7).
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

    /// Octets of our OPT without an extended error.
    private var bareOPTCount: Int { edns == nil ? 0 : 11 + replyOptions.octetCount }

    /// Octets of an extended error without text: code, length and INFO-CODE.
    private static var bareErrorCount: Int { 6 }

    /// Appends our OPT, as the client sent one (RFC 6891 §6.1.1), and returns the message's length.
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
    /// Writes a number in network order.
    mutating func store<Number: FixedWidthInteger & BitwiseCopyable>(
        _ number: Number,
        at offset: Int
    ) {
        storeBytes(of: number.bigEndian, toByteOffset: offset, as: Number.self)
    }

    /// Takes `age` seconds from the TTL at `offset`, down to zero.
    fileprivate mutating func age(at offset: Int, by age: UInt32) {
        let ttl = bytes.uint32(at: offset)
        store(ttl > age ? ttl - age : 0, at: offset)
    }

    /// Copies `octets` to `offset`.
    package mutating func copy(_ octets: RawSpan, to offset: Int) {
        precondition(offset >= 0 && octets.byteCount <= byteCount - offset, "copy within bounds")
        // SAFETY: the precondition bounds the write; a span never overlaps a mutable one.
        unsafe withUnsafeMutableBytes { target in
            unsafe octets.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: target[offset...])
                    .copyMemory(from: source)
            }
        }
    }
}
