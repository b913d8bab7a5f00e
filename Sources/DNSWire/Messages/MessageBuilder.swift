// SPDX-License-Identifier: Apache-2.0

package enum BuildError: Error, Hashable {
    case messageFull
}

/// Message section, in order (RFC 1035 §4.1).
package enum Section: Int, Sendable {
    case question
    case answer
    case authority
    case additional
}

/// Encoder with name compression; after an error, the message is incomplete.
package struct MessageBuilder {
    private static let usualOctets = 512

    private let header: Header

    package private(set) var octets: [UInt8] = []

    package private(set) var ttlOffsets: [UInt16] = []

    private var compressor = NameCompressor()
    private var counts: InlineArray<4, UInt16> = [0, 0, 0, 0]

    package init(header: Header) {
        self.header = header
        octets.reserveCapacity(Self.usualOctets)
        octets.append(contentsOf: repeatElement(0, count: WireLimits.headerOctets))
    }
}

// MARK: - Changing

extension MessageBuilder {
    /// Appends a question without compression, because some servers reject a pointer in a question.
    package mutating func append(_ question: Question) throws(BuildError) {
        let name = question.name.octets
        compressor.remember(name, prefix: name.count, at: octets.count)
        octets.append(contentsOf: name)
        octets.append(bigEndian: question.type.rawValue)
        octets.append(bigEndian: question.recordClass.rawValue)
        try count(in: .question)
    }

    /// Appends a record; the sections must be appended in order.
    package mutating func append(_ record: Record, to section: Section) throws(BuildError) {
        append(record.name)
        octets.append(bigEndian: record.type.rawValue)
        octets.append(bigEndian: record.recordClass.rawValue)
        let ttlAt = octets.count
        octets.append(bigEndian: record.ttl)
        let lengthAt = octets.count
        octets.append(bigEndian: UInt16(0))
        append(record.data)
        try count(in: section)
        octets.patch(UInt16(octets.count - lengthAt - 2), at: lengthAt)
        ttlOffsets.append(UInt16(ttlAt))
    }

    package mutating func append(_ edns: EDNS) throws(BuildError) {
        octets.append(contentsOf: edns.octets)
        try count(in: .additional)
    }

    private mutating func count(in section: Section) throws(BuildError) {
        guard octets.count <= WireLimits.messageOctets else { throw .messageFull }
        counts[section.rawValue] += 1
    }

    package consuming func finish() -> [UInt8] {
        for (index, value) in [header.id, header.flags, counts[0], counts[1], counts[2], counts[3]]
            .enumerated()
        { octets.patch(value, at: 2 * index) }
        return octets
    }

    private mutating func append(_ name: Name) {
        let start = octets.count
        let wire = name.octets
        guard let match = compressor.match(wire, in: octets) else {
            octets.append(contentsOf: wire)
            compressor.remember(wire, prefix: wire.count, at: start)
            return
        }
        octets.append(contentsOf: wire[..<match.prefix])
        octets.append(bigEndian: 0xC000 | match.offset)
        compressor.remember(wire, prefix: match.prefix, at: start)
    }

    private mutating func append(_ data: RecordData) {
        switch data {
        case .cname(let name), .ns(let name), .ptr(let name): append(name)
        case .mx(let preference, let exchange):
            octets.append(bigEndian: preference)
            append(exchange)
        case .soa(let soa):
            append(soa.primary)
            append(soa.mailbox)
            soa.appendNumbers(to: &octets)
        case .a, .aaaa, .txt, .srv, .svcb, .opaque: data.append(to: &octets)
        }
    }
}
