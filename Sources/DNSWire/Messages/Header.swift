// SPDX-License-Identifier: Apache-2.0

/// Message header without its counts (RFC 1035 §4.1.1; AD and CD: RFC 4035 §3.2).
package struct Header: Hashable, Sendable {
    package var id: UInt16

    package var flags: UInt16

    package init(id: UInt16 = 0, flags: UInt16 = 0) {
        self.id = id
        self.flags = flags
    }
}

// MARK: - Reading and changing the flags

extension Header {
    package var isResponse: Bool {
        get { flag(0x8000) }
        set { set(0x8000, newValue) }
    }

    /// OPCODE, 0 to 15.
    package var opcode: UInt8 {
        get { UInt8(flags >> 11 & 0xF) }
        set { flags = flags & ~0x7800 | UInt16(newValue) << 11 }
    }

    package var isAuthoritative: Bool {
        get { flag(0x0400) }
        set { set(0x0400, newValue) }
    }

    package var isTruncated: Bool {
        get { flag(0x0200) }
        set { set(0x0200, newValue) }
    }

    package var recursionDesired: Bool {
        get { flag(0x0100) }
        set { set(0x0100, newValue) }
    }

    package var recursionAvailable: Bool {
        get { flag(0x0080) }
        set { set(0x0080, newValue) }
    }

    /// In a query: the client understands AD (RFC 6840 §5.7).
    package var authenticData: Bool {
        get { flag(0x0020) }
        set { set(0x0020, newValue) }
    }

    /// The client validates DNSSEC (RFC 4035 §3.2.2).
    package var checkingDisabled: Bool {
        get { flag(0x0010) }
        set { set(0x0010, newValue) }
    }

    /// Low four bits of ``Message/rcode``.
    package var rcode: RCode {
        get { RCode(rawValue: flags & 0xF) }
        set { flags = flags & ~0xF | newValue.rawValue & 0xF }
    }

    private func flag(_ mask: UInt16) -> Bool { flags & mask != 0 }

    private mutating func set(_ mask: UInt16, _ value: Bool) {
        flags = value ? flags | mask : flags & ~mask
    }
}
