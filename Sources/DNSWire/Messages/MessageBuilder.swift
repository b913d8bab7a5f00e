// SPDX-License-Identifier: Apache-2.0

/// Why something was not written; the message is as it was before.
package enum BuildError: Error, Hashable {
    /// It does not fit into the limit, less what is reserved.
    case messageFull

    /// Its section comes before one that was begun already.
    case misplaced

    /// A message has one OPT record.
    case secondOPT
}

/// Where a record goes; the sections are written in this order (RFC 1035 §4.1).
package enum Section: Int, Comparable, Sendable, CaseIterable {
    /// What is asked.
    case question
    /// What answers it.
    case answer
    /// Who says so, or the SOA of a denial.
    case authority
    /// What may help.
    case additional

    package static func < (left: Section, right: Section) -> Bool { left.rawValue < right.rawValue }
}

/// Writes a message from front to back, compressing names, within a limit.
///
/// What fails leaves no trace, and what was written after a ``Mark`` can be taken back: so a reply
/// is filled record set by record set until the limit, with the room for OPT kept aside.
package struct MessageBuilder {
    /// ID and flags, written by ``finish()``; the counts in it are not looked at.
    package var header: Header

    /// Most octets the message may have, 12...65535.
    package let limit: Int

    /// The message so far; its first twelve octets are filled in at the end.
    package private(set) var octets: [UInt8]

    /// Where each TTL written is, counted from the start of the message; OPT has none.
    package private(set) var ttlOffsets: [UInt16] = []

    /// How many octets of the limit are kept aside.
    private var reserved = 0

    /// What the next name can point at.
    private var compressor = NameCompressor()

    /// How many records each section has.
    private var counts: InlineArray<4, UInt16> = [0, 0, 0, 0]

    /// The section that was last written to.
    private var section = Section.question

    /// Whether there is an OPT record.
    private var hasOPT = false

    /// Starts a message of at most `limit` octets, in the memory of `buffer` if there is one.
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
    /// How many more octets there is room for.
    package var remaining: Int { limit - reserved - octets.count }

    /// How many records (or questions) `section` has so far.
    package func count(of section: Section) -> UInt16 { counts[section.rawValue] }
}

// MARK: - Changing

extension MessageBuilder {
    /// Keeps `count` octets aside for ``append(_:)-(EDNS)``, in addition to those kept already.
    ///
    /// - Throws: `messageFull` if there is no such room.
    package mutating func reserve(_ count: Int) throws(BuildError) {
        guard remaining >= count else { throw .messageFull }
        reserved += count
    }

    /// Writes a question; its name is written out, as some take a pointer there for an attack.
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

    /// Writes a record into `section`, which must not come before one that was begun.
    package mutating func append(
        _ record: Record,
        to section: Section
    ) throws(BuildError) {
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

    /// Writes the OPT record, into the room that was reserved and beyond if there is more.
    ///
    /// After it, nothing is reserved.
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

    /// Fills in the header and hands the message over.
    package consuming func finish() -> [UInt8] {
        for (index, value) in [header.id, header.flags, counts[0], counts[1], counts[2], counts[3]]
            .enumerated()
        {
            octets.patch(value, at: 2 * index)
        }
        return octets
    }

    /// Writes a name, its end as a pointer if it was written before, and remembers it.
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

    /// Writes data, compressing names only in types of RFC 1035 (RFC 3597 §4).
    private mutating func append(_ data: RecordData) {
        switch data {
        case .cname(let name), .ns(let name), .ptr(let name):
            append(name)
        case .mx(let preference, let exchange):
            octets.append(bigEndian: preference)
            append(exchange)
        case .soa(let soa):
            append(soa.primary)
            append(soa.mailbox)
            soa.appendNumbers(to: &octets)
        case .a, .aaaa, .txt, .srv, .svcb, .opaque:
            data.append(to: &octets)
        }
    }
}

// MARK: - Taking back

extension MessageBuilder {
    /// A state of a builder that it can go back to.
    package struct Mark: Sendable {
        /// How many octets were written.
        fileprivate let octets: Int
        /// How many TTLs were written.
        fileprivate let ttls: Int
        /// How many names could be pointed at.
        fileprivate let targets: Int
        /// How many records each section had.
        fileprivate let counts: InlineArray<4, UInt16>
        /// The section that was last written to.
        fileprivate let section: Section
        /// How many octets were kept aside.
        fileprivate let reserved: Int
        /// Whether there was an OPT record.
        fileprivate let hasOPT: Bool
    }

    /// The state now.
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

    /// Takes back all that was written after `mark`, names to point at included.
    ///
    /// - Precondition: nothing from before the mark was taken back since.
    package mutating func rewind(to mark: Mark) {
        precondition(mark.octets <= octets.count, "a mark is of what is still written")
        octets.removeLast(octets.count - mark.octets)
        ttlOffsets.removeLast(ttlOffsets.count - mark.ttls)
        compressor.forget(keeping: mark.targets)
        counts = mark.counts
        section = mark.section
        reserved = mark.reserved
        hasOPT = mark.hasOPT
    }
}
