// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// The names that lead from a question to its answer by CNAME records (RFC 1034 §3.6.2).
struct AliasChain: Equatable {
    /// The name of the question, then the target of each alias.
    var names: [Name]

    /// The last name.
    var end: Name { names[names.count - 1] }

    /// Why the chain has no more names.
    var ending = Ending.target

    /// Reasons for the end of a chain.
    enum Ending {
        /// The last name has no alias.
        case target

        /// The last alias leads to a name of the chain.
        case loop

        /// There are more aliases than `ResolverLimits.longestChain`.
        case tooLong
    }
}

extension Message {
    /// The chain of aliases that begins at the question.
    func aliasChain(from question: Question) -> AliasChain {
        // Too few names to be worth hashing.
        var chain = AliasChain(names: [question.name])
        guard question.type != .cname else { return chain }
        while true {
            let end = chain.end
            let alias = answers.first { $0.type == .cname && $0.name == end }
            guard case .cname(let target)? = alias?.data else { return chain }
            guard !chain.names.contains(target) else {
                chain.ending = .loop
                return chain
            }
            guard chain.names.count <= ResolverLimits.longestChain else {
                chain.ending = .tooLong
                return chain
            }
            chain.names.append(target)
        }
    }

    /// Whether the target of the aliases must be queried.
    ///
    /// That is so if the message has no record of the type and no SOA: an SOA makes it a
    /// negative answer (RFC 2308 §2.2).
    func lacksTarget(of chain: AliasChain, _ question: Question) -> Bool {
        rcode == .noError && chain.names.count > 1
            && !answers.contains { $0.name == chain.end && $0.type == question.type }
            && !authorities.contains { $0.type == .soa }
    }

    /// Takes over what another message says about the target of the aliases in this one.
    mutating func join(_ target: Message) {
        answers += target.answers
        authorities = target.authorities
        rcode = target.rcode
        header.authenticData = header.authenticData && target.header.authenticData
    }
}

extension [Record] {
    /// The records, each once, with the lowest of its TTLs (RFC 2181 §5, §5.2).
    var withoutDuplicates: [Record] {
        guard count > 1 else { return self }
        var places: [Record: Int] = [:]
        var records: [Record] = []
        for record in self {
            var key = record
            key.ttl = 0
            if let place = places[key] {
                records[place].ttl = Swift.min(records[place].ttl, record.ttl)
            } else {
                places[key] = records.count
                records.append(record)
            }
        }
        return records
    }
}
