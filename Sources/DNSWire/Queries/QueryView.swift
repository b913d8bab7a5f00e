// SPDX-License-Identifier: Apache-2.0

/// A query as it lies in its receive buffer: checked once, then read in place.
///
/// This is the hot path's only parser.  It knows the one shape that practically all queries have
/// (one question, nothing else but perhaps an OPT) completely, and calls everything else
/// `unusual`, to be read by `Message` where time is not short.  It allocates nothing.
package struct QueryView: ~Escapable {
    /// The whole datagram.
    package let octets: RawSpan

    /// What was read from it; stays valid when the view has ended.
    package let facts: QueryFacts

    /// Checks `octets` and keeps them as they are.
    ///
    /// - Throws: what to do with a datagram that is no plain query.
    @_lifetime(copy octets)
    package init(checking octets: RawSpan) throws(QueryFault) {
        self.facts = try QueryFacts(checking: octets)
        self.octets = octets
    }

    /// A view of octets that `facts` were read from.
    @_lifetime(copy octets)
    package init(_ facts: QueryFacts, in octets: RawSpan) {
        self.facts = facts
        self.octets = octets
    }

    /// The question's name in wire form, as the client spelt it.
    package var name: RawSpan {
        @_lifetime(copy self)
        get { octets.extracting(QueryFacts.headerCount..<facts.nameEnd) }
    }
}

/// Why a datagram is not a plain query, and so what becomes of it.
package enum QueryFault: Error, Equatable {
    /// Nothing is answered: too short for a header, or itself a reply (RFC 1035 §7.3): two servers
    /// that answer replies can be made to talk to each other for ever.
    case ignored

    /// Answered with a bare header: broken beyond reading (RFC 1035 §4.1, RFC 9619 §4).
    case malformed

    /// Answered without a question: an opcode other than QUERY (RFC 8906 §3.1.4).
    case otherOpcode

    /// Perhaps right, but of a rare shape: to be read by `Message`.
    case unusual
}

/// What a plain query asks and where its parts lie; a value that outlives the datagram.
package struct QueryFacts: Sendable, Equatable {
    /// Octets of a message header (RFC 1035 §4.1.1).
    package static let headerCount = 12

    /// The largest UDP payload we send (DNS flag day 2020; RFC 9715 §3.2 allows 1400).
    package static let largestPayload = 1232

    /// The header's second 16 bits as the client sent them.
    package let flags: UInt16

    /// Where the question's name ends: its type follows.
    package let nameEnd: Int

    package let type: RecordType
    package let recordClass: RecordClass

    /// What the client's OPT record says, if there is one.
    package var edns: EDNSFacts?

    /// The options that the reply has on account of who asks, if the client speaks EDNS.
    package var replyOptions = ReplyOptions()

    /// Where the question ends and, in the reply, the answer begins.
    package var questionEnd: Int { nameEnd + 4 }

    /// Whether the client wants DNSSEC records (RFC 3225).
    package var dnssecOK: Bool { edns?.dnssecOK ?? false }

    /// Whether the client checks signatures itself (RFC 4035 §3.2.2).
    package var checkingDisabled: Bool { flags & HeaderFlags.checkingDisabled != 0 }

    /// Octets that a UDP reply may have: 512 without EDNS, else the client's size within 512 and
    /// ours (RFC 6891 §6.2.3).
    package var replyLimit: Int {
        guard let edns else { return 512 }
        return min(max(Int(edns.payloadSize), 512), Self.largestPayload)
    }
}

/// The client's OPT record, as far as a plain answer depends on it.
package struct EDNSFacts: Sendable, Equatable {
    package let payloadSize: UInt16
    package let version: UInt8
    package let dnssecOK: Bool

    /// Where the content of the first cookie option begins; 0 if there is none (RFC 7873 §4).
    fileprivate var cookieStart: UInt16 = 0

    /// Octets of that content.
    fileprivate var cookieCount: UInt16 = 0

    /// Whether the client asks how long the connection may idle (RFC 7828 §3.1).
    package fileprivate(set) var asksKeepalive = false

    /// Whether there is a cookie.
    package var hasCookie: Bool { cookieStart > 0 }
}

/// The bits of the header's second 16-bit word (RFC 1035 §4.1.1, RFC 4035 §3.2).
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
    /// Reads the facts of a datagram, or tells what else it is.
    package init(checking octets: RawSpan) throws(QueryFault) {
        let count = octets.byteCount
        guard count >= Self.headerCount else { throw .ignored }
        let flags = octets.uint16(at: 2)
        guard flags & HeaderFlags.response == 0 else { throw .ignored }
        guard flags & HeaderFlags.opcode == 0 else { throw .otherOpcode }
        guard octets.uint16(at: 4) == 1 else {
            // RFC 7873 §5.4: without a question, only a cookie may be asked for.
            throw octets.uint16(at: 4) == 0 && octets.uint16(at: 10) > 0 ? .unusual : .malformed
        }
        guard octets.uint32(at: 6) == 0, octets.uint16(at: 10) <= 1 else { throw .unusual }

        // The name: labels only, as a pointer in a question has nothing to point at.
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
    /// Reads the OPT record at `position` and leaves `position` behind it (RFC 6891 §6.1.2).
    ///
    /// Options are walked, so that a reply never rests on a record that was not whole.  Two are noted
    /// that a reply may have to answer; no other changes what anybody is answered, so what is in it
    /// is not looked at, and it goes no further (RFC 6891 §6.1.1).
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
                // All but the first are ignored (RFC 7873 §5.2).
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
    /// The cookies that a client sent (RFC 7873 §4).
    package struct Cookies: Sendable, Equatable {
        /// The client cookie, in network order.
        package let client: UInt64

        /// The server cookie, if it may be one of ours.
        package let server: ServerCookie?
    }

    /// Reads the first cookie option of the message in `octets`, which these facts are of.
    ///
    /// - Returns: nil if it does not have the length of one: that is FORMERR (RFC 7873 §5.2.2).
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
    /// The octet at `offset`.
    @inlinable
    package func uint8(at offset: Int) -> UInt8 {
        // SAFETY: bounds are checked by the span; every bit pattern is a UInt8.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// The 16-bit number in network order at `offset`.
    @inlinable
    package func uint16(at offset: Int) -> UInt16 {
        // SAFETY: bounds are checked by the span; every bit pattern is a UInt16.
        UInt16(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    /// The 32-bit number in network order at `offset`.
    @inlinable
    package func uint32(at offset: Int) -> UInt32 {
        // SAFETY: bounds are checked by the span; every bit pattern is a UInt32.
        UInt32(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// Eight octets at `offset`, the first one lowest.
    @inlinable
    package func octets8(at offset: Int) -> UInt64 {
        // SAFETY: bounds are checked by the span; every bit pattern is a UInt64.
        UInt64(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

extension Array where Element: FixedWidthInteger & BitwiseCopyable {
    /// These numbers as the hot path reads them: octet by octet, in memory's order.
    package var rawSpan: RawSpan {
        @_lifetime(borrow self)
        get {
            // SAFETY: integers have no octets that may not be read.
            unsafe span.bytes
        }
    }
}

extension [UInt8] {
    /// Lets `body` change these octets, from `start` on, as the hot path does.
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
