// SPDX-License-Identifier: Apache-2.0

/// Encoder of queries to upstreams.
package enum OutgoingQuery {
    /// Encodes header, question and OPT record (RFC 6891 §6.1.1).
    ///
    /// - Parameters:
    ///   - payload: UDP payload size for OPT, in octets.
    ///   - hasEDNS: If false, `payload`, `dnssecOK` and `block` are ignored (RFC 6891 §6.2.2).
    ///   - block: The message is padded to a multiple of this number of octets (RFC 7830).
    package static func octets(
        _ header: Header,
        _ question: Question,
        payload: UInt16,
        dnssecOK: Bool,
        hasEDNS: Bool = true,
        block: Int? = nil
    ) -> [UInt8] {
        let bare = WireLimits.headerOctets + question.octetCount + optOctets
        // The option's code and length have four octets.
        let padding = block.map { ($0 - (bare + 4) % $0) % $0 }
        var octets: [UInt8] = []
        octets.reserveCapacity(bare + (padding.map { $0 + 4 } ?? 0))
        octets.append(bigEndian: header.id)
        octets.append(bigEndian: header.flags)
        // QDCOUNT 1, and ARCOUNT.
        octets.append(bigEndian: UInt64(0x0001_0000_0000_0000) + (hasEDNS ? 1 : 0))
        octets.append(contentsOf: question.name.octets)
        octets.append(bigEndian: question.type.rawValue)
        octets.append(bigEndian: question.recordClass.rawValue)
        guard hasEDNS else { return octets }
        // Owner: root; extended RCODE and version: 0.
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

    /// Octets of OPT without options.
    private static let optOctets = 11
}
