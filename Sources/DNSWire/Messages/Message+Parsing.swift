// SPDX-License-Identifier: Apache-2.0

// MARK: - Making

extension Message {
    /// Reads a message that takes all of `octets`.
    ///
    /// The work is bounded by the octets: a record needs eleven of them and a name costs at most
    /// 255 octets and 127 pointers.  Nothing is set aside on the word of a count.
    ///
    /// - Throws: the first fault, in the order of the octets.
    package init(parsing octets: [UInt8]) throws(WireError) {
        try self.init(parsing: octets.span)
    }

    /// Reads a message that takes all of `octets`, which are in somebody's buffer.
    package init(parsing octets: Span<UInt8>) throws(WireError) {
        var reader = WireReader(octets)
        let header = try Header(parsing: &reader)
        self.init(header: header)
        for _ in 0..<header.questionCount {
            questions.append(try Question(parsing: &reader))
        }
        answers = try Self.records(header.answerCount, from: &reader)
        authorities = try Self.records(header.authorityCount, from: &reader)
        for _ in 0..<header.additionalCount {
            let start = reader.offset
            let prologue = try Record.Prologue(parsing: &reader)
            guard prologue.type == .opt else {
                additionals.append(try Record(prologue, dataFrom: &reader))
                continue
            }
            guard edns == nil else { throw .secondOPT(at: start) }
            guard prologue.name.isRoot else { throw .namedOPT(at: start) }
            edns = try EDNS(prologue, dataFrom: &reader)
        }
        guard reader.isAtEnd else { throw .trailingOctets(at: reader.offset) }
    }

    /// Reads a section in which no OPT record may be.
    private static func records(
        _ count: UInt16,
        from reader: inout WireReader
    ) throws(WireError) -> [Record] {
        var records: [Record] = []
        for _ in 0..<count {
            let start = reader.offset
            let prologue = try Record.Prologue(parsing: &reader)
            guard prologue.type != .opt else { throw .misplacedOPT(at: start) }
            records.append(try Record(prologue, dataFrom: &reader))
        }
        return records
    }
}
