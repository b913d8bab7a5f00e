// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// One query to one upstream and the validation of replies, without I/O.
package struct UpstreamExchange {
    let id: UInt16

    private let query: OutgoingQuery

    private let letterCase: LetterCase?

    package enum Transport {
        /// UDP; off-path attackers must guess a random ID and letter case (0x20; RFC 5452 §9.2).
        case datagram

        /// TCP: the query has ID 0, which ``PipelinedConnection`` replaces by a random ID.
        case stream

        /// DoT and DoH: like TCP, but with padding that hides the length of the name (RFC 8467).
        ///
        /// In DoH the ID stays 0 (RFC 8484 §4.1).
        case encrypted
    }

    /// Builds the query with ID and letter case from `random`.
    ///
    /// - Parameter validates: true to request the AD flag (RFC 6840 §5.7).
    package init(
        _ query: Query,
        over transport: Transport = .datagram,
        usesEDNS: Bool = true,
        validates: Bool = false,
        random: inout some RandomNumberGenerator
    ) {
        var header = Header()
        header.recursionDesired = true
        header.checkingDisabled = query.checkingDisabled
        header.authenticData = validates
        if transport == .datagram {
            header.id = UInt16(truncatingIfNeeded: random.next())
            letterCase = LetterCase(of: query.question.name, using: &random)
        } else {
            letterCase = nil
        }
        id = header.id
        self.query = OutgoingQuery(
            header,
            query.question,
            payload: usesEDNS ? UInt16(QueryFacts.largestPayload) : nil,
            dnssecOK: query.dnssecOK,
            block: transport == .encrypted ? UpstreamLimits.padding : nil
        )
    }

    package var message: [UInt8] {
        var octets = query.octets
        octets.withMutableRawSpan { letterCase?.apply(to: &$0, name) }
        return octets
    }

    var count: Int { query.count }

    /// Writes the query, as sent over UDP, to the first ``count`` octets of `buffer`.
    func write(to buffer: inout MutableRawSpan) {
        query.write(to: &buffer)
        letterCase?.apply(to: &buffer, name)
    }

    private static let nameStart = QueryFacts.headerCount

    private var name: Range<Int> { Self.nameStart..<query.questionEnd - 4 }

    package enum Validation {
        /// Not a reply to this query; ignored.
        ///
        /// A forged reply must not end the exchange (RFC 5452 §9.1).
        case foreign

        /// The query must be repeated over TCP (RFC 7766 §5).
        case truncated

        /// Unreadable records, or only an error header; the query must be repeated over TCP.
        ///
        /// Not ``foreign``: a client can cause such replies with records of its own domain.
        case doubtful

        /// Complete reply with changed letter case, and therefore possibly forged.
        case otherCase(Message)

        case reply(UpstreamReply)
    }

    package func validate(_ octets: [UInt8]) -> Validation { validate(octets.span) }

    /// Validates octets in a borrowed buffer.
    ///
    /// The question is compared without decoding: the first name of a message is not compressed.
    func validate(_ octets: Span<UInt8>) -> Validation {
        let (received, question, end) = (octets.rawSpan, query.question, query.questionEnd)
        if received.byteCount == Self.nameStart, isBareError(received) { return .doubtful }
        guard received.byteCount >= end, received.uint16(at: 0) == id,
            // QR set, OPCODE 0, QDCOUNT 1.
            received.uint8(at: 2) & 0xF8 == 0x80, received.uint16(at: 4) == 1,
            received.uint16(at: end - 4) == question.type.rawValue,
            received.uint16(at: end - 2) == question.recordClass.rawValue
        else { return .foreign }
        let (name, asked) = (received.extracting(name), question.name.octets.rawSpan)
        guard name.isSameName(as: asked) else { return .foreign }
        let keepsCase =
            letterCase?.isKept(in: received, self.name) ?? name.hasSameCase(as: asked)
        if keepsCase,
            let reply = PlainReply(copying: octets, asked: question.type, questionEnd: end)
        {
            return .reply(.plain(reply))
        }
        guard let reply = try? Message(parsing: octets) else { return .doubtful }
        if reply.header.isTruncated { return .truncated }
        return keepsCase ? .reply(.message(reply)) : .otherCase(reply)
    }

    /// True for a header with an error RCODE, the ID of the query, and all section counts 0.
    private func isBareError(_ header: RawSpan) -> Bool {
        let rcode = RCode(rawValue: UInt16(header.uint8(at: 3) & 0x0F))
        return header.uint16(at: 0) == id && header.uint8(at: 2) & 0xF8 == 0x80
            && header.octets8(at: 4) == 0 && rcode != .noError && rcode != .nxDomain
    }

    /// Returns the reply in a message from a stream; nil if the message does not answer the query.
    ///
    /// The letter case does not matter: an off-path attacker cannot send messages on a connection.
    package func judgeStream(_ octets: [UInt8]) -> UpstreamReply? {
        switch validate(octets) {
        case .reply(let reply): return reply
        case .otherCase(let message): return .message(message)
        case .doubtful:
            guard let message = try? Message(parsing: octets), !message.header.isTruncated else {
                return nil
            }
            return .message(message)
        case .foreign, .truncated: return nil
        }
    }
}

/// Random letter case of a name: one bit for each octet (0x20).
private struct LetterCase {
    private var bits = InlineArray<4, UInt64>(repeating: 0)

    init(of name: Name, using random: inout some RandomNumberGenerator) {
        for index in 0..<(name.octets.count + 63) / 64 { bits[index] = random.next() }
    }

    /// Sets the case of each letter of a name.
    ///
    /// The name must start at offset 7 or later, because eight octets are read at a time: for a
    /// short name, these octets begin before the name.
    func apply(to buffer: inout MutableRawSpan, _ name: Range<Int>) {
        for offset in stride(from: 0, to: name.count, by: 8) {
            let octets = octets(offset, of: name, in: buffer.bytes)
            let drawn = octets.value & ~octets.letters | bits(offset) & octets.letters
            buffer.storeBytes(of: drawn.littleEndian, toByteOffset: octets.start, as: UInt64.self)
        }
    }

    /// True if each letter of a received name has the case that `bits` prescribes.
    func isKept(in message: RawSpan, _ name: Range<Int>) -> Bool {
        for offset in stride(from: 0, to: name.count, by: 8) {
            let octets = octets(offset, of: name, in: message)
            guard (octets.value ^ bits(offset)) & octets.letters == 0 else { return false }
        }
        return true
    }

    @inline(__always)
    private func bits(_ offset: Int) -> UInt64 {
        let (bits, turn) = (self.bits[offset &>> 6], UInt64(truncatingIfNeeded: offset &>> 3 & 7))
        return bits &<< turn | bits &>> (64 &- turn)
    }

    /// Returns eight octets of a name, and the case bits of the letters from `offset` on.
    ///
    /// If fewer than eight octets of the name remain at `offset`, the eight octets begin earlier,
    /// and end at the end of the name. Length octets of labels are at most 63, and therefore not
    /// letters.
    @inline(__always)
    private func octets(
        _ offset: Int,
        of name: Range<Int>,
        in message: RawSpan
    ) -> (start: Int, value: UInt64, letters: UInt64) {
        let (wanted, last) = (name.lowerBound &+ offset, name.upperBound &- 8)
        let start = min(wanted, last)
        let value = message.octets8(at: start)
        let skipped = UInt64(truncatingIfNeeded: 8 &* (wanted &- start))
        return (start, value, value.caseBits & (~0 &<< skipped))
    }
}

extension UInt64 {
    /// Bits that distinguish upper and lower case, for each octet that is an ASCII letter.
    fileprivate var caseBits: UInt64 {
        let lower = self & 0x7F7F_7F7F_7F7F_7F7F | 0x2020_2020_2020_2020
        let atLeastA = lower &+ 0x1F1F_1F1F_1F1F_1F1F
        let aboveZ = lower &+ 0x0505_0505_0505_0505
        return (~self & (atLeastA ^ aboveZ) & 0x8080_8080_8080_8080) >> 2
    }
}
