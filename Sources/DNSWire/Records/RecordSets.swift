// SPDX-License-Identifier: Apache-2.0

/// Key of a record set: owner, type and class (RFC 2181 §5).
///
/// RRSIG records are also distinguished by the covered type, because their TTLs follow the records
/// they sign (RFC 4034 §3).
package struct RecordSetKey: Hashable, Sendable {
    /// Owner, type and class.
    package let question: Question

    /// The type that an RRSIG record covers, else nil.
    package let covered: RecordType?
}

extension Record {
    /// The key of the set of this record.
    package var setKey: RecordSetKey {
        var covered: RecordType?
        if type == .rrsig, case .opaque(let octets) = data, octets.count >= 2 {
            covered = RecordType(rawValue: UInt16(octets[0]) << 8 | UInt16(octets[1]))
        }
        return RecordSetKey(question: question, covered: covered)
    }
}

extension Sequence<Record> {
    /// The lowest TTL in seconds; nil if there are no records.
    package var minimumTTL: UInt32? {
        lazy.map(\.ttl).min()
    }

    /// The records grouped into sets, in the order of the first record of each set.
    package var recordSets: [[Record]] {
        var sets: [[Record]] = []
        var places: [RecordSetKey: Int] = [:]
        for record in self {
            if let place = places[record.setKey] {
                sets[place].append(record)
            } else {
                places[record.setKey] = sets.count
                sets.append([record])
            }
        }
        return sets
    }
}
