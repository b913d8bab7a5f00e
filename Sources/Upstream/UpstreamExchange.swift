// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// One query to one upstream and the validation of replies, without I/O.
///
/// EDNS options of the client are not forwarded, because they are hop-by-hop (RFC 6891 §6.1.1).
package struct UpstreamExchange {
    package private(set) var message: [UInt8]

    let id: UInt16

    private let type: RecordType

    /// Offset of the end of the question in the query and in each reply.
    private let questionEnd: Int

    package enum Transport {
        /// UDP: off-path attackers must guess random ID and letter case (0x20; RFC 5452 §9.2).
        case datagram

        /// TCP: ID 0, which the connection replaces.
        case stream

        /// DoT and DoH: like TCP, with padding that hides the length of the name (RFC 8467).
        ///
        /// In DoH the ID stays 0 (RFC 8484 §4.1).
        case encrypted
    }

    /// Builds the query with ID and letter case from `random`.
    ///
    /// - Parameters:
    ///   - usesEDNS: false to omit the OPT record.
    ///   - validates: true to request the AD flag (RFC 6840 §5.7).
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
        }
        id = header.id
        type = query.question.type
        let name = query.question.name.octets
        questionEnd = Self.nameStart + name.count + 4
        message = OutgoingQuery.octets(
            header,
            query.question,
            payload: UInt16(QueryFacts.largestPayload),
            dnssecOK: query.dnssecOK,
            hasEDNS: usesEDNS,
            block: transport == .encrypted ? UpstreamLimits.padding : nil
        )
        if transport == .datagram {
            message.drawCase(in: Self.nameStart..<questionEnd - 4, using: &random)
        }
    }

    /// Offset of the name in a message (RFC 1035 §4.1.1).
    private static let nameStart = QueryFacts.headerCount

    package enum Validation {
        /// Not a reply to this query; ignored, so that a forged reply cannot end the exchange
        /// (RFC 5452 §9.1).
        case foreign

        /// Truncated reply: the query must be repeated over TCP (RFC 7766 §5).
        case truncated

        /// Reply with unreadable records, or only an error header; repeat the query over TCP.
        ///
        /// The reply may be forged. It is not ``foreign``, because a client can cause such replies
        /// with records in a domain of its own.
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
        if isBareError(octets) { return .doubtful }
        guard octets.count >= questionEnd, octets[0] == message[0], octets[1] == message[1],
            // QR set, OPCODE 0, QDCOUNT 1.
            octets[2] & 0xF8 == 0x80, octets[4] == 0, octets[5] == 1
        else { return .foreign }
        let name = Self.nameStart..<questionEnd - 4
        let (sent, received) = (message.rawSpan, octets.rawSpan)
        guard received.extracting(name).isSameName(as: sent.extracting(name)),
            received.uint32(at: name.upperBound) == sent.uint32(at: name.upperBound)
        else { return .foreign }
        let keepsCase = received.extracting(name).hasSameCase(as: sent.extracting(name))
        if keepsCase, let reply = plain(octets) { return .reply(.plain(reply)) }
        guard let reply = try? Message(parsing: octets) else { return .doubtful }
        if reply.header.isTruncated { return .truncated }
        return keepsCase ? .reply(.message(reply)) : .otherCase(reply)
    }

    private func plain(_ octets: Span<UInt8>) -> PlainReply? {
        PlainReply(copying: octets, asked: type, questionEnd: questionEnd)
    }

    /// True for a bare header with FORMERR or NOTIMP and the ID of the query.
    ///
    /// A server that cannot parse a query may send such a header. Over UDP the header could be
    /// forged, so the query is repeated over TCP.
    private func isBareError(_ octets: Span<UInt8>) -> Bool {
        octets.count == Self.nameStart && octets[0] == message[0] && octets[1] == message[1]
            && octets[2] & 0xF8 == 0x80 && (4..<Self.nameStart).allSatisfy { octets[$0] == 0 }
            && [RCode.formErr.rawValue, RCode.notImp.rawValue].contains(UInt16(octets[3] & 0x0F))
    }

    /// Returns a reply received over a stream, where letter case is irrelevant; nil if unmatched.
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

extension [UInt8] {
    /// Randomizes the case of each letter.
    ///
    /// Length octets of labels are at most 63, and therefore not letters.
    ///
    /// - Parameter name: the range of the name, which starts at offset 7 or later.
    fileprivate mutating func drawCase(
        in name: Range<Int>,
        using random: inout some RandomNumberGenerator
    ) {
        withMutableRawSpan { buffer in
            var bits: UInt64 = 0
            let offsets = stride(from: name.lowerBound, to: name.upperBound, by: 8)
            for (word, offset) in offsets.enumerated() {
                // One random number has 64 bits: one bit for each of 64 octets.
                bits = word % 8 == 0 ? random.next() : bits << 1 | bits >> 63
                // The last eight octets end with the name; octets before `offset` are not changed
                // again.
                let start = Swift.min(offset, name.upperBound - 8)
                let octets = buffer.bytes.octets8(at: start)
                let letters = octets.caseBits & ~0 << UInt64(8 * (offset - start))
                let drawn = octets & ~letters | bits & letters
                buffer.storeBytes(of: drawn.littleEndian, toByteOffset: start, as: UInt64.self)
            }
        }
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
