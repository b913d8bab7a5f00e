// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Resolver

extension Query {
    /// Reads the question of a query or its reply; nil if the question is invalid.
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
