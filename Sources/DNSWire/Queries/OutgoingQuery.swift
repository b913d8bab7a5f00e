// SPDX-License-Identifier: Apache-2.0

/// Direct encoding of a query to an upstream: header, question and OPT record (RFC 6891 §6.1.1).
package enum OutgoingQuery {
    /// Encodes the query.
    ///
    /// - Parameters:
    ///   - header: ID and flags; the counts are ignored.
    ///   - payload: The UDP payload size to advertise, in octets.
    ///   - hasEDNS: True to append an OPT record; otherwise `payload`, `dnssecOK` and `block` are
    ///     ignored (RFC 6891 §6.2.2).
    ///   - block: Pad the message to a multiple of this size in octets (RFC 7830); nil for no
    ///     padding.
    package static func octets(
        _ header: Header,
        _ question: Question,
        payload: UInt16,
        dnssecOK: Bool,
        hasEDNS: Bool = true,
        block: Int? = nil
    ) -> [UInt8] {
        let bare = WireLimits.headerOctets + question.octetCount + optOctets
        // Code and length of the option take four octets.
        let padding = block.map { ($0 - (bare + 4) % $0) % $0 }
        var octets: [UInt8] = []
        octets.reserveCapacity(bare + (padding.map { $0 + 4 } ?? 0))
        octets.append(bigEndian: header.id)
        octets.append(bigEndian: header.flags)
        // QDCOUNT is 1; ARCOUNT is 1 with an OPT record.
        octets.append(bigEndian: UInt64(0x0001_0000_0000_0000) + (hasEDNS ? 1 : 0))
        octets.append(contentsOf: question.name.octets)
        octets.append(bigEndian: question.type.rawValue)
        octets.append(bigEndian: question.recordClass.rawValue)
        guard hasEDNS else { return octets }
        // The owner of OPT is the root; extended RCODE and version are 0.
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

    /// Size of an OPT record without options, in octets.
    private static let optOctets = 11
}
