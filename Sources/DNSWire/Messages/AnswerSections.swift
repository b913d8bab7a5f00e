// SPDX-License-Identifier: Apache-2.0

/// Part of a reply after the question, in the form that the cache stores.
///
/// Compression pointers are offsets from the start of a message with an uncompressed question.
package struct AnswerSections: Hashable, Sendable {
    package let octets: [UInt8]
    package let answerCount: UInt16
    package let authorityCount: UInt16

    package let additionalCount: UInt16

    package let ttlOffsets: TTLOffsets
    package static let empty = AnswerSections()

    private init() {
        octets = []
        answerCount = 0
        authorityCount = 0
        additionalCount = 0
        ttlOffsets = TTLOffsets()
    }

    /// Encodes records; throws `messageFull` above 65535 octets.
    package init(
        question: Question,
        answers: [Record] = [],
        authorities: [Record] = [],
        additionals: [Record] = []
    ) throws(BuildError) {
        var builder = MessageBuilder(header: Header())
        try builder.append(question)
        for record in answers { try builder.append(record, to: .answer) }
        for record in authorities { try builder.append(record, to: .authority) }
        for record in additionals { try builder.append(record, to: .additional) }
        answerCount = UInt16(answers.count)
        authorityCount = UInt16(authorities.count)
        additionalCount = UInt16(additionals.count)
        ttlOffsets = TTLOffsets(builder.ttlOffsets)
        let start = WireLimits.headerOctets + question.octetCount
        octets = Array(builder.octets[start...])
    }

    /// Encodes address records; throws `messageFull` above 65535 octets.
    package init(addresses: [IPAddress], of question: Question, ttl: UInt32) throws(BuildError) {
        var octets: [UInt8] = []
        octets.reserveCapacity(addresses.count * Self.addressOctets)
        var ttlOffsets = TTLOffsets()
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

    private static let addressOctets = 2 + 10 + 16
}
