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

    /// Writes addresses of the question's own name: the octets that their records have, without
    /// looking for names to point at.
    ///
    /// - Throws: `messageFull` as for records.
    package init(
        addresses: [IPAddress],
        of question: Question,
        ttl: UInt32
    ) throws(BuildError) {
        var octets: [UInt8] = []
        octets.reserveCapacity(addresses.count * Self.addressOctets)
        var ttlOffsets: [UInt16] = []
        ttlOffsets.reserveCapacity(addresses.count)
        let start = WireLimits.headerOctets + question.octetCount
        guard start + addresses.count * Self.addressOctets <= WireLimits.messageOctets else {
            throw .messageFull
        }
        for address in addresses {
            if question.name.isRoot {
                octets.append(0)
            } else {
                octets.append(bigEndian: 0xC000 | UInt16(WireLimits.headerOctets))
            }
            let type: RecordType =
                switch address {
                case .v4: .a
                case .v6: .aaaa
                }
            octets.append(bigEndian: type.rawValue)
            octets.append(bigEndian: RecordClass.in.rawValue)
            ttlOffsets.append(UInt16(start + octets.count))
            octets.append(bigEndian: ttl)
            let data = address.octets
            octets.append(bigEndian: UInt16(data.count))
            octets += data
        }
        self.octets = octets
        self.ttlOffsets = ttlOffsets
        answerCount = UInt16(addresses.count)
        authorityCount = 0
        additionalCount = 0
    }

    /// Octets of an address record whose name is a pointer, at most.
    private static let addressOctets = 2 + 10 + 16
}
