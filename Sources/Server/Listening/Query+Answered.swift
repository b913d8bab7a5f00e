// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Resolver

extension Query {
    /// What was asked in a buffer that has become its reply; nil if that was no query.
    ///
    /// The question stays where it was, and the reply's header has the client's CD.
    ///
    /// - Parameter octets: the first octets of the buffer, no fewer than the query had.
    init?(answeredIn octets: [UInt8], dnssecOK: Bool) {
        var reader = WireReader(octets.span, at: QueryFacts.headerCount)
        guard let name = try? reader.name(), let type = try? reader.uint16() else { return nil }
        self.init(
            question: Question(name: name, type: RecordType(rawValue: type)),
            dnssecOK: dnssecOK,
            checkingDisabled: UInt16(octets[3]) & HeaderFlags.checkingDisabled != 0
        )
    }
}
