// SPDX-License-Identifier: Apache-2.0

/// Key of a record set (RFC 2181 §5); RRSIGs form one set per covered type (RFC 4034 §3).
package struct RecordSetKey: Hashable, Sendable {
    package let question: Question

    package let covered: RecordType?
}

extension Record {
    package var setKey: RecordSetKey {
        var covered: RecordType?
        if type == .rrsig, case .opaque(let octets) = data, octets.count >= 2 {
            covered = RecordType(rawValue: UInt16(octets[0]) << 8 | UInt16(octets[1]))
        }
        return RecordSetKey(question: question, covered: covered)
    }
}
