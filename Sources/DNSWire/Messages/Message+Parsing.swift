// SPDX-License-Identifier: Apache-2.0

// MARK: - Making

extension Message {
    /// Parses all `octets`; throws the first error in wire order.
    package init(parsing octets: [UInt8]) throws(WireError) { try self.init(parsing: octets.span) }

    package init(parsing octets: Span<UInt8>) throws(WireError) {
        var reader = WireReader(octets)
        self.init(header: Header(id: try reader.uint16(), flags: try reader.uint16()))
        let questionCount = try reader.uint16()
        let answerCount = try reader.uint16()
        let authorityCount = try reader.uint16()
        let additionalCount = try reader.uint16()
        for _ in 0..<questionCount {
            questions.append(try Question(parsing: &reader))
        }
        let question = questions.first?.name
        answers = try Self.records(answerCount, question, from: &reader)
        authorities = try Self.records(authorityCount, question, from: &reader)
        for _ in 0..<additionalCount {
            let start = reader.offset
            let prologue = try Record.Prologue(parsing: &reader, question: question)
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

    private static func records(
        _ count: UInt16,
        _ question: Name?,
        from reader: inout WireReader
    ) throws(WireError) -> [Record] {
        var records: [Record] = []
        for _ in 0..<count {
            let start = reader.offset
            let prologue = try Record.Prologue(parsing: &reader, question: question)
            guard prologue.type != .opt else { throw .misplacedOPT(at: start) }
            records.append(try Record(prologue, dataFrom: &reader))
        }
        return records
    }
}
