// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
package import DNSWire

extension Resolution {
    /// What of an upstream's reply answers the query.
    ///
    /// Only the chain of CNAMEs that begins at the question, and what it ends in, is taken; records
    /// of other names are somebody's mistake or somebody's attack (RFC 2181 §5.4.1).  Of the
    /// authority section a denial's proof is kept, of the additional section nothing.  The data
    /// itself passes as it is (RFC 3597 §5, RFC 5625 §4), TTLs within the settings' bounds.
    ///
    /// It is authentic if whoever said it validated it (AD) and is believed: all that is taken was in
    /// that reply.  Such an answer lives no longer than its TTLs say, which whoever validated it
    /// bounded by its signatures (RFC 4035 §5.3.3): the settings' lower bounds are for others.
    ///
    /// - Parameter isBelieved: whether AD in the reply means anything.
    /// - Throws: `BuildError` if it does not fit a message.
    package init(
        _ message: Message,
        to query: Query,
        _ policy: TTLPolicy,
        _ provenance: Provenance,
        isBelieved: Bool = false
    ) throws(BuildError) {
        let question = query.question
        let isProven = isBelieved && message.header.authenticData
        let policy = isProven ? policy.withoutLowerBounds : policy
        let aliases = message.aliasChain(from: question)
        let (chain, end) = (aliases.names, aliases.end)
        let answers = policy.clamped(
            message.answers.withoutDuplicates.filter { record in
                guard record.recordClass == question.recordClass else { return false }
                switch record.type {
                // Before the type that was asked for, which may be this one.
                case .dname: return chain.contains { $0.isEqualOrBelow(record.name) }
                case question.type, .cname: return chain.contains(record.name)
                case .rrsig where query.dnssecOK: return chain.contains(record.name)
                default: return false
                }
            }
        )
        let isAnswered = answers.contains { record in
            record.name == end && record.type == question.type
        }
        guard message.rcode != .noError || !isAnswered else {
            try self.init(
                question,
                answers: answers,
                lifetime: policy.lifetime(answers),
                variant: query.variant,
                provenance: provenance
            )
            isAuthentic = isProven
            return
        }

        let authorities = message.authorities.withoutDuplicates
        let soa = authorities.first { record in
            record.type == .soa && end.isEqualOrBelow(record.name)
        }
        var lifetime = soa.map(policy.lifetime) ?? policy.negative.lowerBound
        let proof = authorities.filter { record in
            switch record.type {
            case .soa: record == soa
            case .nsec, .nsec3, .rrsig: query.dnssecOK
            default: false
            }
        }.map { record in
            var record = record
            record.ttl = min(record.ttl, lifetime)
            return record
        }
        if !answers.isEmpty { lifetime = min(lifetime, policy.lifetime(answers)) }
        try self.init(
            question,
            rcode: message.rcode,
            answers: answers,
            authorities: proof,
            lifetime: lifetime,
            variant: query.variant,
            provenance: provenance
        )
        isAuthentic = isProven
    }
}
