// SPDX-License-Identifier: Apache-2.0

/// Validated query in its receive buffer: one question, and no record except OPT.
package struct QueryView: ~Escapable {
    package let octets: RawSpan

    package let facts: QueryFacts

    @_lifetime(copy octets)
    package init(_ facts: QueryFacts, in octets: RawSpan) {
        self.facts = facts
        self.octets = octets
    }

    package var name: RawSpan {
        @_lifetime(copy self)
        get { octets.extracting(QueryFacts.headerCount..<facts.nameEnd) }
    }
}

/// Reason why ``QueryFacts`` does not accept a message.
package enum QueryFault: Error, Equatable {
    /// The message is too short, or is a response; a reply could cause a loop (RFC 1035 §7.3).
    case ignored

    /// The reply is FORMERR without a question (RFC 1035 §4.1, RFC 9619 §4).
    case malformed

    /// The reply is NOTIMP, because the opcode is not QUERY (RFC 8906 §3.1.4).
    case otherOpcode

    /// The query may be valid, but only `Message` can parse it.
    case unusual
}

package struct QueryFacts: Sendable, Equatable {
    package static let headerCount = 12

    /// Maximum octets of a UDP reply (DNS flag day 2020; RFC 9715 §3.2 allows 1400).
    package static let largestPayload = 1232

    package let flags: UInt16

    package let nameEnd: Int

    package let type: RecordType
    package let recordClass: RecordClass
    package var edns: EDNSFacts?

    package var replyOptions = ReplyOptions()

    package var questionEnd: Int { nameEnd + 4 }
    package var dnssecOK: Bool { edns?.dnssecOK ?? false }
    package var checkingDisabled: Bool { flags & HeaderFlags.checkingDisabled != 0 }

    /// Maximum octets of a UDP reply to this query, 512...1232 (RFC 6891 §6.2.3).
    package var replyLimit: Int {
        guard let edns else { return 512 }
        return min(max(Int(edns.payloadSize), 512), Self.largestPayload)
    }
}

package struct EDNSFacts: Sendable, Equatable {
    package let payloadSize: UInt16
    package let version: UInt8
    package let dnssecOK: Bool

    /// Offset of the first cookie option; 0 for none (RFC 7873 §4).
    fileprivate var cookieStart: UInt16 = 0

    fileprivate var cookieCount: UInt16 = 0

    package fileprivate(set) var asksKeepalive = false

    package var hasCookie: Bool { cookieStart > 0 }
}

package enum HeaderFlags {
    package static let response: UInt16 = 0x8000
    package static let opcode: UInt16 = 0x7800
    package static let truncated: UInt16 = 0x0200
    package static let recursionDesired: UInt16 = 0x0100
    package static let recursionAvailable: UInt16 = 0x0080
    package static let authenticData: UInt16 = 0x0020
    package static let checkingDisabled: UInt16 = 0x0010
}

// MARK: - Checking

extension QueryFacts {
    package init(checking octets: RawSpan) throws(QueryFault) {
        let count = octets.byteCount
        guard count >= Self.headerCount else { throw .ignored }
        let flags = octets.uint16(at: 2)
        guard flags & HeaderFlags.response == 0 else { throw .ignored }
        guard flags & HeaderFlags.opcode == 0 else { throw .otherOpcode }
        guard octets.uint16(at: 4) == 1 else {
            // Only a cookie request may have no question (RFC 7873 §5.4).
            throw octets.uint16(at: 4) == 0 && octets.uint16(at: 10) > 0 ? .unusual : .malformed
        }
        guard octets.uint32(at: 6) == 0, octets.uint16(at: 10) <= 1 else { throw .unusual }

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
        if octets.uint16(at: 10) == 1 { edns = try EDNSFacts(checking: octets, at: &position) }
        guard position == count else { throw .malformed }
    }
}

extension EDNSFacts {
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
                // Later cookie options are ignored (RFC 7873 §5.2).
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
    /// Client and server cookie of a query (RFC 7873 §4).
    package struct Cookies: Sendable, Equatable {
        /// Network order.
        package let client: UInt64

        /// Nil if missing, or if its length shows that another server created it.
        package let server: ServerCookie?
    }

    /// Returns the first cookie option; nil if the length requires FORMERR (RFC 7873 §5.2.2).
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
    /// Reads an octet.
    @inlinable
    public func uint8(at offset: Int) -> UInt8 {
        // SAFETY: bounds are checked by the span; every bit pattern is a UInt8.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// Reads two octets.
    @inlinable
    public func uint16(at offset: Int) -> UInt16 {
        // SAFETY: bounds are checked by the span; every bit pattern is a UInt16.
        UInt16(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    /// Reads four octets.
    @inlinable
    public func uint32(at offset: Int) -> UInt32 {
        // SAFETY: bounds are checked by the span; every bit pattern is a UInt32.
        UInt32(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// Reads eight octets as a little-endian number.
    @inlinable
    public func octets8(at offset: Int) -> UInt64 {
        // SAFETY: bounds are checked by the span; every bit pattern is a UInt64.
        UInt64(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

extension Array where Element: FixedWidthInteger & BitwiseCopyable {
    /// Octets in native byte order.
    @inlinable
    public var rawSpan: RawSpan {
        @_lifetime(borrow self)
        get { span.rawSpan }
    }
}

extension Span where Element: FixedWidthInteger & BitwiseCopyable {
    /// Octets in native byte order.
    @inlinable
    public var rawSpan: RawSpan {
        @_lifetime(copy self)
        get {
            // SAFETY: integers have no uninitialised octets.
            unsafe bytes
        }
    }
}

extension [UInt8] {
    init(_ octets: RawSpan) {
        self.init(zeros: octets.byteCount)
        withMutableRawSpan { $0.copy(octets, to: 0) }
    }

    /// Needs 400 instructions fewer than `init(repeating:count:)` (Swift 6.3).
    init(zeros count: Int) { self.init(repeatElement(0, count: count)) }

    /// Calls `body` with all octets from index `start` on.
    @inlinable
    public mutating func withMutableRawSpan<Result>(
        from start: Int = 0,
        _ body: (inout MutableRawSpan) -> Result
    ) -> Result {
        var span = mutableSpan
        // SAFETY: each value of an octet is valid, so `body` can write any values.
        var raw = unsafe span.mutableBytes
        var part = raw._mutatingExtracting(start..<raw.byteCount)
        return body(&part)
    }
}
