// SPDX-License-Identifier: Apache-2.0

package enum BuildError: Error, Hashable {
    /// The data exceeds the limit minus the reserved octets.
    case messageFull

    /// The data belongs before data that is already in the message.
    case misplaced

    case secondOPT
}

/// Message section, in order (RFC 1035 §4.1).
package enum Section: Int, Comparable, Sendable, CaseIterable {
    case question
    case answer
    case authority
    case additional
    package static func < (left: Section, right: Section) -> Bool { left.rawValue < right.rawValue }
}

/// Encoder with a size limit and name compression.
///
/// A failed operation leaves the message unchanged.
package struct MessageBuilder {
    /// Header; its counts are ignored.
    package var header: Header

    /// Maximum octets of the message, 12...65535.
    package let limit: Int

    /// Message; ``finish()`` writes its header.
    package private(set) var octets: [UInt8]

    /// Offsets of all TTLs; OPT has none.
    package private(set) var ttlOffsets: [UInt16] = []

    private var reserved = 0
    private var compressor = NameCompressor()
    private var counts: InlineArray<4, UInt16> = [0, 0, 0, 0]
    private var section = Section.question
    private var hasOPT = false

    /// Starts a message in the memory of `buffer`.
    package init(
        header: Header,
        limit: Int = WireLimits.messageOctets,
        reusing buffer: consuming [UInt8] = []
    ) {
        precondition(
            WireLimits.headerOctets...WireLimits.messageOctets ~= limit,
            "a message has 12 to 65535 octets"
        )
        self.header = header
        self.limit = limit
        octets = buffer
        octets.removeAll(keepingCapacity: true)
        octets.append(contentsOf: repeatElement(0, count: WireLimits.headerOctets))
    }
}

// MARK: - Reading

extension MessageBuilder {
    package var remaining: Int { limit - reserved - octets.count }
    package func count(of section: Section) -> UInt16 { counts[section.rawValue] }
}

// MARK: - Changing

extension MessageBuilder {
    package mutating func reserve(_ count: Int) throws(BuildError) {
        guard remaining >= count else { throw .messageFull }
        reserved += count
    }

    /// Appends a question without compression, because some servers reject a pointer in a question.
    package mutating func append(_ question: Question) throws(BuildError) {
        guard section == .question else { throw .misplaced }
        guard remaining >= question.octetCount else { throw .messageFull }
        let start = octets.count
        let name = question.name.octets
        octets.append(contentsOf: name)
        compressor.remember(name, prefix: name.count, at: start)
        octets.append(bigEndian: question.type.rawValue)
        octets.append(bigEndian: question.recordClass.rawValue)
        counts[Section.question.rawValue] += 1
    }

    package mutating func append(_ record: Record, to section: Section) throws(BuildError) {
        guard section != .question, self.section <= section else { throw .misplaced }
        let start = mark
        append(record.name)
        octets.append(bigEndian: record.type.rawValue)
        octets.append(bigEndian: record.recordClass.rawValue)
        let ttlAt = octets.count
        octets.append(bigEndian: record.ttl)
        let lengthAt = octets.count
        octets.append(bigEndian: UInt16(0))
        append(record.data)
        guard remaining >= 0 else {
            rewind(to: start)
            throw .messageFull
        }
        octets.patch(UInt16(octets.count - lengthAt - 2), at: lengthAt)
        ttlOffsets.append(UInt16(ttlAt))
        counts[section.rawValue] += 1
        self.section = section
    }

    package mutating func append(_ edns: EDNS) throws(BuildError) {
        guard !hasOPT else { throw .secondOPT }
        let record = edns.octets
        guard octets.count + record.count <= limit else { throw .messageFull }
        octets.append(contentsOf: record)
        counts[Section.additional.rawValue] += 1
        section = .additional
        hasOPT = true
        reserved = 0
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

    /// Appends record data; compresses names only in the types of RFC 1035 (RFC 3597 §4).
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

// MARK: - Rewinding

extension MessageBuilder {
    package struct Mark: Sendable {
        fileprivate let octets: Int
        fileprivate let ttls: Int
        fileprivate let targets: Int
        fileprivate let counts: InlineArray<4, UInt16>
        fileprivate let section: Section
        fileprivate let reserved: Int
        fileprivate let hasOPT: Bool
    }

    package var mark: Mark {
        Mark(
            octets: octets.count,
            ttls: ttlOffsets.count,
            targets: compressor.count,
            counts: counts,
            section: section,
            reserved: reserved,
            hasOPT: hasOPT
        )
    }

    /// Restores the state that the builder had when `mark` was read.
    package mutating func rewind(to mark: Mark) {
        precondition(mark.octets <= octets.count, "the builder was rewound to before this mark")
        octets.removeLast(octets.count - mark.octets)
        ttlOffsets.removeLast(ttlOffsets.count - mark.ttls)
        compressor.forget(keeping: mark.targets)
        counts = mark.counts
        section = mark.section
        reserved = mark.reserved
        hasOPT = mark.hasOPT
    }
}
