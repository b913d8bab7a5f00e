// SPDX-License-Identifier: Apache-2.0

/// The part of a reply after its question, ready to be pasted after any spelling of that question.
///
/// The cache keeps replies so.  Pointers count from the start of the message, where there is always
/// a header of 12 octets and then the question, written out: so they lead to the right place for
/// whoever asks, and what they lead to there is in the client's own spelling (RFC 4343, 0x20).
package struct AnswerSections: Hashable, Sendable {
    /// The records, answer, authority and additional, as they follow the question.
    package let octets: [UInt8]

    /// ANCOUNT.
    package let answerCount: UInt16

    /// NSCOUNT.
    package let authorityCount: UInt16

    /// ARCOUNT, without an OPT record: that one is made for each reply.
    package let additionalCount: UInt16

    /// Where each TTL is, counted from the start of the message, by rising offset.
    package let ttlOffsets: [UInt16]

    /// No records: what there is to say is in the header.
    package static let empty = AnswerSections()

    /// What nearly all answers fit into, so that no array grows.
    private static let usualOctets = 512

    private init() {
        octets = []
        answerCount = 0
        authorityCount = 0
        additionalCount = 0
        ttlOffsets = []
    }

    /// Writes the records that answer `question`.
    ///
    /// - Throws: `messageFull` if header, question and records are over 65535 octets.
    package init(
        question: Question,
        answers: [Record] = [],
        authorities: [Record] = [],
        additionals: [Record] = []
    ) throws(BuildError) {
        var room: [UInt8] = []
        room.reserveCapacity(Self.usualOctets)
        var builder = MessageBuilder(header: Header(), reusing: room)
        try builder.append(question)
        for record in answers { try builder.append(record, to: .answer) }
        for record in authorities { try builder.append(record, to: .authority) }
        for record in additionals { try builder.append(record, to: .additional) }
        answerCount = builder.count(of: .answer)
        authorityCount = builder.count(of: .authority)
        additionalCount = builder.count(of: .additional)
        ttlOffsets = builder.ttlOffsets
        let start = WireLimits.headerOctets + question.octetCount
        octets = Array(builder.octets[start...])
    }
}
