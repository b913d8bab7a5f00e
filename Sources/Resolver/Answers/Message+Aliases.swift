// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Upstream

extension Message {
    /// True if the answer ends with an alias, and the target of this alias must be queried.
    ///
    /// A message with an SOA is a negative answer, which is complete (RFC 2308 §2.2).
    func lacksTarget(of chain: AliasChain, _ question: Question) -> Bool {
        rcode == .noError && chain.names.count > 1
            && !answers.contains { $0.name == chain.end && $0.type == question.type }
            && !authorities.contains { $0.type == .soa }
    }

    /// Returns the CNAMEs and DNAMEs of `chain`, with their signatures if the client set DO.
    ///
    /// Of several CNAMEs of one name, only the first is returned, because a name can have only one
    /// CNAME (RFC 2181 §10.1).
    func records(of chain: AliasChain, for query: Query) -> [Record] {
        var aliases = Set<Name>()
        return answers.filter { record in
            guard record.recordClass == query.question.recordClass else { return false }
            switch record.type {
            case .cname:
                return chain.names.contains(record.name) && aliases.insert(record.name).inserted
            case .dname: return chain.names.contains { $0.isEqualOrBelow(record.name) }
            case .rrsig: return query.dnssecOK && chain.names.contains(record.name)
            default: return false
            }
        }
    }

    mutating func join(_ target: Message) {
        answers += target.answers
        authorities = target.authorities
        rcode = target.rcode
        header.authenticData = header.authenticData && target.header.authenticData
    }
}

extension [Record] {
    /// Copy without duplicate records; each record has the lowest TTL of its RRset (RFC 2181 §5,
    /// §5.2).
    var consolidated: [Record] {
        guard count > 1 else { return self }
        var sets: [RecordSetKey: Int] = [:]
        var lowest: [UInt32] = []
        var known = Set<Content>(minimumCapacity: count)
        var records: [Record] = []
        var numbers: [Int] = []
        records.reserveCapacity(count)
        numbers.reserveCapacity(count)
        var number = 0
        for index in indices {
            if index == 0 || !self[index].isInSet(of: self[index - 1]) {
                let key = self[index].setKey
                number = sets[key] ?? lowest.count
                if number == lowest.count {
                    sets[key] = number
                    lowest.append(.max)
                }
            }
            lowest[number] = Swift.min(lowest[number], self[index].ttl)
            guard known.insert(Content(number: number, data: self[index].data)).inserted else {
                continue
            }
            records.append(self[index])
            numbers.append(number)
        }
        for index in records.indices { records[index].ttl = lowest[numbers[index]] }
        return records
    }

    private struct Content: Hashable {
        let number: Int
        let data: RecordData
    }
}

extension Record {
    /// True if this record is in the RRset of `other`; always false for RRSIG records, for which
    /// the caller must compare `setKey`.
    fileprivate func isInSet(of other: Record) -> Bool {
        type == other.type && type != .rrsig && recordClass == other.recordClass
            && name == other.name
    }
}
