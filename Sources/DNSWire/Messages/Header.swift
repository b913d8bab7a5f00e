// SPDX-License-Identifier: Apache-2.0

/// The first twelve octets of a message (RFC 1035 §4.1.1, RFC 4035 §3.2 for AD and CD).
package struct Header: Hashable, Sendable {
    /// Chosen by who asks and copied by who answers.
    package var id: UInt16

    /// The second two octets as they are on the wire: QR, opcode, bits and RCODE.
    package var flags: UInt16

    /// QDCOUNT: how many questions follow.
    package var questionCount: UInt16

    /// ANCOUNT: how many records the answer section has.
    package var answerCount: UInt16

    /// NSCOUNT: how many records the authority section has.
    package var authorityCount: UInt16

    /// ARCOUNT: how many records the additional section has, OPT included.
    package var additionalCount: UInt16

    /// Makes a header; of a standard query without flags unless told otherwise.
    package init(
        id: UInt16 = 0,
        flags: UInt16 = 0,
        questionCount: UInt16 = 0,
        answerCount: UInt16 = 0,
        authorityCount: UInt16 = 0,
        additionalCount: UInt16 = 0
    ) {
        self.id = id
        self.flags = flags
        self.questionCount = questionCount
        self.answerCount = answerCount
        self.authorityCount = authorityCount
        self.additionalCount = additionalCount
    }
}

// MARK: - Reading and changing the flags

extension Header {
    /// QR: this is an answer.
    package var isResponse: Bool {
        get { flag(0x8000) }
        set { set(0x8000, newValue) }
    }

    /// OPCODE.
    package var opcode: Opcode {
        get { Opcode(rawValue: UInt8(flags >> 11 & 0xF)) }
        set { flags = flags & ~0x7800 | UInt16(newValue.rawValue) << 11 }
    }

    /// AA: the server is an authority for the name.
    package var isAuthoritative: Bool {
        get { flag(0x0400) }
        set { set(0x0400, newValue) }
    }

    /// TC: the answer did not fit.
    package var isTruncated: Bool {
        get { flag(0x0200) }
        set { set(0x0200, newValue) }
    }

    /// RD: who asks wants the server to go and find out.
    package var recursionDesired: Bool {
        get { flag(0x0100) }
        set { set(0x0100, newValue) }
    }

    /// RA: the server does go and find out.
    package var recursionAvailable: Bool {
        get { flag(0x0080) }
        set { set(0x0080, newValue) }
    }

    /// Z: the bit that must be zero.
    package var zero: Bool {
        get { flag(0x0040) }
        set { set(0x0040, newValue) }
    }

    /// AD: the data was proven by DNSSEC, or (in a query) the bit is understood (RFC 6840 §5.7).
    package var authenticData: Bool {
        get { flag(0x0020) }
        set { set(0x0020, newValue) }
    }

    /// CD: who asks will check by itself (RFC 4035 §3.2.2).
    package var checkingDisabled: Bool {
        get { flag(0x0010) }
        set { set(0x0010, newValue) }
    }

    /// The low four bits of the RCODE; ``Message/rcode`` has all twelve.
    package var rcode: RCode {
        get { RCode(rawValue: flags & 0xF) }
        set { flags = flags & ~0xF | newValue.rawValue & 0xF }
    }

    /// Reads the bits of `mask`.
    private func flag(_ mask: UInt16) -> Bool { flags & mask != 0 }

    /// Sets or clears the bits of `mask`.
    private mutating func set(_ mask: UInt16, _ value: Bool) {
        flags = value ? flags | mask : flags & ~mask
    }
}

// MARK: - Wire

extension Header {
    /// Reads the twelve octets at the reader's place.
    init(parsing reader: inout WireReader) throws(WireError) {
        id = try reader.uint16()
        flags = try reader.uint16()
        questionCount = try reader.uint16()
        answerCount = try reader.uint16()
        authorityCount = try reader.uint16()
        additionalCount = try reader.uint16()
    }
}
