// SPDX-License-Identifier: Apache-2.0

/// What the records of one set have in common: owner, type and class (RFC 2181 §5).
///
/// Signatures make a set with those of the same covered type only, as their TTLs follow the data
/// they sign (RFC 4034 §3).
package struct RecordSetKey: Hashable, Sendable {
    /// Owner, type and class.
    package let question: Question

    /// The type an RRSIG record signs, else nil.
    package let covered: RecordType?
}

extension Record {
    /// The set this record is in.
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

    /// The records set by set, the sets in the order of their first records.
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

    /// The records in their order, each with the lowest TTL of its set (RFC 2181 §5.2).
    package func withUniformTTLs() -> [Record] {
        var lowest: [RecordSetKey: UInt32] = [:]
        for record in self {
            lowest[record.setKey] = Swift.min(record.ttl, lowest[record.setKey] ?? record.ttl)
        }
        return map { record in
            var record = record
            record.ttl = lowest[record.setKey] ?? record.ttl
            return record
        }
    }
}
