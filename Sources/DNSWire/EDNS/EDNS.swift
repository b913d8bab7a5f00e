// SPDX-License-Identifier: Apache-2.0

/// Content of an OPT record (RFC 6891 §6).
package struct EDNS: Hashable, Sendable {
    /// UDP payload size in octets; values below 512 mean 512 (RFC 6891 §6.2.3).
    package var udpPayloadSize: UInt16

    package var extendedRCode: UInt8

    package var version: UInt8

    /// Flags, including DO (RFC 6891 §6.1.4).
    package var flags: UInt16

    package var options: [EDNSOption]

    package init(
        udpPayloadSize: UInt16 = 1232,
        version: UInt8 = 0,
        dnssecOK: Bool = false,
        options: [EDNSOption] = []
    ) {
        self.udpPayloadSize = udpPayloadSize
        self.version = version
        self.options = options
        extendedRCode = 0
        flags = 0
        self.dnssecOK = dnssecOK
    }
}

// MARK: - Reading and changing

extension EDNS {
    /// DO flag (RFC 3225 §3).
    package var dnssecOK: Bool {
        get { flags & 0x8000 != 0 }
        set { flags = newValue ? flags | 0x8000 : flags & ~0x8000 }
    }

    package var cookie: (client: [UInt8], server: [UInt8])? {
        for case .cookie(let client, let server) in options { return (client, server) }
        return nil
    }

    package var extendedErrors: [(code: ExtendedError, text: String)] {
        options.compactMap {
            guard case .extendedError(let code, let text) = $0 else { return nil }
            return (code, text)
        }
    }
}

// MARK: - Wire

extension EDNS {
    init(_ prologue: Record.Prologue, dataFrom reader: inout WireReader) throws(WireError) {
        udpPayloadSize = prologue.recordClass.rawValue
        extendedRCode = UInt8(truncatingIfNeeded: prologue.ttl >> 24)
        version = UInt8(truncatingIfNeeded: prologue.ttl >> 16)
        flags = UInt16(truncatingIfNeeded: prologue.ttl)
        options = []
        let outer = try reader.enterField(prologue.dataCount)
        while !reader.isAtEnd { options.append(try EDNSOption(parsing: &reader)) }
        reader.leaveField(outer)
    }

    package var octets: [UInt8] {
        var octets: [UInt8] = [0]
        octets.append(bigEndian: RecordType.opt.rawValue)
        octets.append(bigEndian: udpPayloadSize)
        octets.append(extendedRCode)
        octets.append(version)
        octets.append(bigEndian: flags)
        let lengthAt = octets.count
        octets.append(bigEndian: UInt16(0))
        for option in options { option.append(to: &octets) }
        let count = octets.count - lengthAt - 2
        precondition(count <= Int(UInt16.max), "an OPT record has a 16-bit length")
        octets.patch(UInt16(count), at: lengthAt)
        return octets
    }
}
