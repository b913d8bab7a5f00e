// SPDX-License-Identifier: Apache-2.0

/// A validated query in its receive buffer, read in place.
///
/// This is the only parser of the hit path. It fully parses the common form (one question, at most
/// an OPT record) and reports everything else as `unusual`, to be parsed by `Message`. It does not
/// allocate.
package struct QueryView: ~Escapable {
    /// The whole datagram.
    package let octets: RawSpan

    /// The parsed fields; they remain valid after the view.
    package let facts: QueryFacts

    /// Validates `octets`.
    ///
    /// - Throws: The reason why the datagram is no plain query.
    @_lifetime(copy octets)
    package init(checking octets: RawSpan) throws(QueryFault) {
        self.facts = try QueryFacts(checking: octets)
        self.octets = octets
    }

    /// Creates a view of the octets from which `facts` were parsed.
    @_lifetime(copy octets)
    package init(_ facts: QueryFacts, in octets: RawSpan) {
        self.facts = facts
        self.octets = octets
    }

    /// QNAME in wire form, in the letter case of the client.
    package var name: RawSpan {
        @_lifetime(copy self)
        get { octets.extracting(QueryFacts.headerCount..<facts.nameEnd) }
    }
}

/// Reason why a datagram is not a plain query, and the resulting reply.
package enum QueryFault: Error, Equatable {
    /// No reply: shorter than a header, or a response (RFC 1035 §7.3). Replying to responses could
    /// start an endless exchange between two servers.
    case ignored

    /// FORMERR with a header only: the query cannot be parsed (RFC 1035 §4.1, RFC 9619 §4).
    case malformed

    /// NOTIMP without a question: an opcode other than QUERY (RFC 8906 §3.1.4).
    case otherOpcode

    /// Possibly valid, but in an uncommon form: to be parsed by `Message`.
    case unusual
}

/// Parsed fields of a plain query, independent of the datagram.
package struct QueryFacts: Sendable, Equatable {
    /// Size of a message header in octets (RFC 1035 §4.1.1).
    package static let headerCount = 12

    /// Maximum UDP payload size in octets (DNS flag day 2020; RFC 9715 §3.2 allows 1400).
    package static let largestPayload = 1232

    /// The second 16 bits of the header as received.
    package let flags: UInt16

    /// Offset of QTYPE, after the name.
    package let nameEnd: Int

    package let type: RecordType
    package let recordClass: RecordClass

    /// Fields of the OPT record, if any.
    package var edns: EDNSFacts?

    /// Client-specific EDNS options for the reply, sent if the client uses EDNS.
    package var replyOptions = ReplyOptions()

    /// Offset of the end of the question, at which the answer begins in the reply.
    package var questionEnd: Int { nameEnd + 4 }

    /// True if the client requests DNSSEC records (RFC 3225).
    package var dnssecOK: Bool { edns?.dnssecOK ?? false }

    /// True if the client validates itself (RFC 4035 §3.2.2).
    package var checkingDisabled: Bool { flags & HeaderFlags.checkingDisabled != 0 }

    /// Maximum size of a UDP reply in octets: 512 without EDNS, else the size of the client within
    /// 512...1232 (RFC 6891 §6.2.3).
    package var replyLimit: Int {
        guard let edns else { return 512 }
        return min(max(Int(edns.payloadSize), 512), Self.largestPayload)
    }
}

/// Fields of the OPT record of the client that affect a plain reply.
package struct EDNSFacts: Sendable, Equatable {
    package let payloadSize: UInt16
    package let version: UInt8
    package let dnssecOK: Bool

    /// Offset of the content of the first cookie option; 0 if there is none (RFC 7873 §4).
    fileprivate var cookieStart: UInt16 = 0

    /// Size of this content in octets.
    fileprivate var cookieCount: UInt16 = 0

    /// True if the client asks for the idle timeout of the connection (RFC 7828 §3.1).
    package fileprivate(set) var asksKeepalive = false

    /// True if the query has a cookie option.
    package var hasCookie: Bool { cookieStart > 0 }
}

/// Bits of the second 16-bit word of the header (RFC 1035 §4.1.1, RFC 4035 §3.2).
package enum HeaderFlags {
    package static let response: UInt16 = 0x8000
    package static let opcode: UInt16 = 0x7800
    package static let authoritative: UInt16 = 0x0400
    package static let truncated: UInt16 = 0x0200
    package static let recursionDesired: UInt16 = 0x0100
    package static let recursionAvailable: UInt16 = 0x0080
    package static let authenticData: UInt16 = 0x0020
    package static let checkingDisabled: UInt16 = 0x0010
}

// MARK: - Checking

extension QueryFacts {
    /// Parses a datagram.
    ///
    /// - Throws: The reason why the datagram is no plain query.
    package init(checking octets: RawSpan) throws(QueryFault) {
        let count = octets.byteCount
        guard count >= Self.headerCount else { throw .ignored }
        let flags = octets.uint16(at: 2)
        guard flags & HeaderFlags.response == 0 else { throw .ignored }
        guard flags & HeaderFlags.opcode == 0 else { throw .otherOpcode }
        guard octets.uint16(at: 4) == 1 else {
            // Without a question, only a cookie may be requested (RFC 7873 §5.4).
            throw octets.uint16(at: 4) == 0 && octets.uint16(at: 10) > 0 ? .unusual : .malformed
        }
        guard octets.uint32(at: 6) == 0, octets.uint16(at: 10) <= 1 else { throw .unusual }

        // A name in a question has no earlier name to point at, so it has only labels.
        var position = Self.headerCount
        while true {
            guard position < count else { throw .malformed }
            let length = Int(octets.uint8(at: position))
            position += 1
            if length == 0 { break }
            guard length <= 63 else { throw .malformed }
            position += length
        }
        guard position - Self.headerCount <= 255, position + 4 <= count else { throw .malformed }
        self.flags = flags
        nameEnd = position
        type = RecordType(rawValue: octets.uint16(at: position))
        recordClass = RecordClass(rawValue: octets.uint16(at: position + 2))
        edns = nil

        position += 4
        if octets.uint16(at: 10) == 1 {
            edns = try EDNSFacts(checking: octets, at: &position)
        }
        guard position == count else { throw .malformed }
    }
}

extension EDNSFacts {
    /// Parses the OPT record at `position` and moves `position` after it (RFC 6891 §6.1.2).
    ///
    /// The page of the module has the rules for options.
    fileprivate init(checking octets: RawSpan, at position: inout Int) throws(QueryFault) {
        let start = position
        guard start + 11 <= octets.byteCount else { throw .malformed }
        guard octets.uint8(at: start) == 0, octets.uint16(at: start + 1) == RecordType.opt.rawValue
        else { throw .unusual }
        payloadSize = octets.uint16(at: start + 3)
        version = octets.uint8(at: start + 6)
        dnssecOK = octets.uint8(at: start + 7) & 0x80 != 0

        var option = start + 11
        let end = option + Int(octets.uint16(at: start + 9))
        guard end <= octets.byteCount else { throw .malformed }
        while option < end {
            guard option + 4 <= end else { throw .malformed }
            let code = octets.uint16(at: option)
            let length = octets.uint16(at: option + 2)
            if code == EDNSOption.Code.cookie, cookieStart == 0 {
                // Only the first cookie option counts (RFC 7873 §5.2).
                cookieStart = UInt16(truncatingIfNeeded: option + 4)
                cookieCount = length
            } else if code == EDNSOption.Code.keepalive {
                asksKeepalive = true
            }
            option += 4 + Int(length)
            guard option <= end else { throw .malformed }
        }
        position = end
    }
}

// MARK: - Cookies

extension EDNSFacts {
    /// The cookies of a client (RFC 7873 §4).
    package struct Cookies: Sendable, Equatable {
        /// The client cookie in network order.
        package let client: UInt64

        /// The server cookie, if it has the size of the cookies that this server creates.
        package let server: ServerCookie?
    }

    /// Returns the first cookie option of the message in `octets`, from which these fields were
    /// parsed.
    ///
    /// - Returns: nil if the length is invalid, which is FORMERR (RFC 7873 §5.2.2).
    package func cookies(in octets: RawSpan) -> Cookies? {
        let start = Int(cookieStart)
        let count = Int(cookieCount)
        guard count == 8 || 16...40 ~= count else { return nil }
        return Cookies(
            client: octets.octets8(at: start).byteSwapped,
            server: count != 8 + ServerCookie.octetCount
                ? nil
                : ServerCookie(
                    head: octets.octets8(at: start + 8).byteSwapped,
                    hash: octets.octets8(at: start + 16).byteSwapped
                )
        )
    }
}

// MARK: - Octets

extension RawSpan {
    /// Returns the octet at `offset`.
    @inlinable
    package func uint8(at offset: Int) -> UInt8 {
        // SAFETY: bounds are checked by the span; every bit pattern is a UInt8.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// Returns the 16-bit number in network order at `offset`.
    @inlinable
    package func uint16(at offset: Int) -> UInt16 {
        // SAFETY: bounds are checked by the span; every bit pattern is a UInt16.
        UInt16(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    /// Returns the 32-bit number in network order at `offset`.
    @inlinable
    package func uint32(at offset: Int) -> UInt32 {
        // SAFETY: bounds are checked by the span; every bit pattern is a UInt32.
        UInt32(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// Returns the eight octets at `offset` as a little-endian number.
    @inlinable
    package func octets8(at offset: Int) -> UInt64 {
        // SAFETY: bounds are checked by the span; every bit pattern is a UInt64.
        UInt64(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

extension Array where Element: FixedWidthInteger & BitwiseCopyable {
    /// The octets of these numbers in memory order.
    package var rawSpan: RawSpan {
        @_lifetime(borrow self)
        get {
            // SAFETY: integers have no uninitialised octets.
            unsafe span.bytes
        }
    }
}

extension [UInt8] {
    /// Calls `body` with a mutable span of the octets from `start` on.
    package mutating func withMutableRawSpan<Result>(
        from start: Int = 0,
        _ body: (inout MutableRawSpan) -> Result
    ) -> Result {
        var span = mutableSpan
        // SAFETY: any octets may be read and written as octets.
        var raw = unsafe span.mutableBytes
        var part = raw._mutatingExtracting(start..<raw.byteCount)
        return body(&part)
    }
}
