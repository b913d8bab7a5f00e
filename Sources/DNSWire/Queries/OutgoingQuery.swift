// SPDX-License-Identifier: Apache-2.0

/// Encoder of queries to upstreams.
package enum OutgoingQuery {
    /// Encodes header, question and OPT record (RFC 6891 §6.1.1).
    ///
    /// - Parameters:
    ///   - payload: UDP payload size for OPT, in octets.
    ///   - hasEDNS: if false, `payload`, `dnssecOK` and `block` are ignored (RFC 6891 §6.2.2).
    ///   - block: the message is padded to a multiple of this number of octets (RFC 7830).
    package static func octets(
        _ header: Header,
        _ question: Question,
        payload: UInt16,
        dnssecOK: Bool,
        hasEDNS: Bool = true,
        block: Int? = nil
    ) -> [UInt8] {
        let questionEnd = WireLimits.headerOctets + question.octetCount
        let bare = questionEnd + optOctets
        let padding = block.map { ($0 - (bare + 4) % $0) % $0 }
        let count = hasEDNS ? bare + (padding.map { $0 + 4 } ?? 0) : questionEnd
        var octets = [UInt8](zeros: count)
        octets.withMutableRawSpan { buffer in
            buffer.store(header.id, at: 0)
            buffer.store(header.flags, at: 2)
            // QDCOUNT is 1; ARCOUNT counts OPT.
            buffer.store(UInt64(0x0001_0000_0000_0000) + (hasEDNS ? 1 : 0), at: 4)
            buffer.copy(question.name.octets.rawSpan, to: WireLimits.headerOctets)
            buffer.store(question.type.rawValue, at: questionEnd - 4)
            buffer.store(question.recordClass.rawValue, at: questionEnd - 2)
            guard hasEDNS else { return }
            buffer.store(RecordType.opt.rawValue, at: questionEnd + 1)
            buffer.store(payload, at: questionEnd + 3)
            buffer.store(dnssecOK ? UInt16(0x8000) : 0, at: questionEnd + 7)
            guard let padding else { return }
            buffer.store(UInt16(padding + 4), at: questionEnd + 9)
            buffer.store(EDNSOption.Code.padding, at: questionEnd + 11)
            buffer.store(UInt16(padding), at: questionEnd + 13)
        }
        return octets
    }

    private static let optOctets = 11
}
