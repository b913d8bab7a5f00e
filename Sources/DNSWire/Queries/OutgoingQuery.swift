// SPDX-License-Identifier: Apache-2.0

/// Queries of our own, written at once: a header, a question, and an OPT record (RFC 6891 §6.1.1).
package enum OutgoingQuery {
    /// The message.
    ///
    /// - Parameters:
    ///   - header: ID and flags; the counts in it are not looked at.
    ///   - payload: how many octets we take over UDP.
    ///   - hasEDNS: whether to append an OPT record; if not, the three parameters around this one count
    ///     for nothing (RFC 6891 §6.2.2).
    ///   - block: what the message's length shall be a multiple of, for which it is padded
    ///     (RFC 7830); nil for no padding.
    package static func octets(
        _ header: Header,
        _ question: Question,
        payload: UInt16,
        dnssecOK: Bool,
        hasEDNS: Bool = true,
        block: Int? = nil
    ) -> [UInt8] {
        let bare = WireLimits.headerOctets + question.octetCount + optOctets
        // Code and length of the option are four octets.
        let padding = block.map { ($0 - (bare + 4) % $0) % $0 }
        var octets: [UInt8] = []
        octets.reserveCapacity(bare + (padding.map { $0 + 4 } ?? 0))
        octets.append(bigEndian: header.id)
        octets.append(bigEndian: header.flags)
        // One question; one record in the additional section, OPT.
        octets.append(bigEndian: UInt64(0x0001_0000_0000_0000) + (hasEDNS ? 1 : 0))
        octets.append(contentsOf: question.name.octets)
        octets.append(bigEndian: question.type.rawValue)
        octets.append(bigEndian: question.recordClass.rawValue)
        guard hasEDNS else { return octets }
        // The name of OPT is the root; RCODE and version are 0.
        octets.append(0)
        octets.append(bigEndian: RecordType.opt.rawValue)
        octets.append(bigEndian: payload)
        octets.append(bigEndian: UInt16(0))
        octets.append(bigEndian: dnssecOK ? UInt16(0x8000) : 0)
        guard let padding else {
            octets.append(bigEndian: UInt16(0))
            return octets
        }
        octets.append(bigEndian: UInt16(padding + 4))
        octets.append(bigEndian: EDNSOption.Code.padding)
        octets.append(bigEndian: UInt16(padding))
        octets.append(contentsOf: repeatElement(0, count: padding))
        return octets
    }

    /// Octets of an OPT record without options.
    private static let optOctets = 11
}
