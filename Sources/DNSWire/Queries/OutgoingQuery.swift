// SPDX-License-Identifier: Apache-2.0

/// Query to an upstream: header, question and OPT record (RFC 6891 §6.1.1).
package struct OutgoingQuery: Sendable {
    private let header: Header
    package let question: Question

    private let payload: UInt16?
    private let dnssecOK: Bool

    private let padding: Int?

    package let questionEnd: Int

    package var count: Int {
        guard payload != nil else { return questionEnd }
        return questionEnd + Self.optOctets + (padding.map { $0 + Self.optionOctets } ?? 0)
    }

    /// - Parameters:
    ///   - payload: nil to omit OPT; then `dnssecOK` and `block` are ignored (RFC 6891 §6.2.2).
    ///   - block: the size is padded to a multiple of this number of octets (RFC 7830).
    package init(
        _ header: Header,
        _ question: Question,
        payload: UInt16?,
        dnssecOK: Bool,
        block: Int? = nil
    ) {
        self.header = header
        self.question = question
        self.payload = payload
        self.dnssecOK = dnssecOK
        questionEnd = WireLimits.headerOctets + question.octetCount
        let bare = questionEnd + Self.optOctets + Self.optionOctets
        padding = block.map { ($0 - bare % $0) % $0 }
    }

    package var octets: [UInt8] {
        var octets = [UInt8](zeros: count)
        octets.withMutableRawSpan { write(to: &$0) }
        return octets
    }

    /// Writes the message; the octets of the padding in `buffer` must be zero.
    package func write(to buffer: inout MutableRawSpan) {
        buffer.store(header.id, at: 0)
        buffer.store(header.flags, at: 2)
        buffer.store(UInt64(0x0001_0000_0000_0000) + (payload == nil ? 0 : 1), at: 4)
        buffer.copy(question.name.octets.rawSpan, to: WireLimits.headerOctets)
        buffer.store(question.type.rawValue, at: questionEnd - 4)
        buffer.store(question.recordClass.rawValue, at: questionEnd - 2)
        guard let payload else { return }
        buffer.store(UInt8(0), at: questionEnd)
        buffer.store(RecordType.opt.rawValue, at: questionEnd + 1)
        buffer.store(payload, at: questionEnd + 3)
        buffer.store(dnssecOK ? UInt32(0x8000) : 0, at: questionEnd + 5)
        let option = padding.map { $0 + Self.optionOctets } ?? 0
        buffer.store(UInt16(option), at: questionEnd + 9)
        guard let padding else { return }
        buffer.store(EDNSOption.Code.padding, at: questionEnd + Self.optOctets)
        buffer.store(UInt16(padding), at: questionEnd + Self.optOctets + 2)
    }

    private static let optOctets = 11

    private static let optionOctets = 4
}
