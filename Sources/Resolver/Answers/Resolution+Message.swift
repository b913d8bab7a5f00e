// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
package import DNSWire
internal import Upstream

extension Resolution {
    init(_ answer: CachedAnswer) {
        self.init(
            rcode: answer.rcode,
            lifetime: answer.lifetime,
            variant: answer.variant,
            provenance: Provenance(source: answer.source, origin: answer.server)
        )
        sections = answer.sections
        isAuthentic = answer.isAuthentic
        // A cached substitute has no stale window and no refresh time (`CacheWriter`).
        isSubstitute = answer.staleWindow == 0 && answer.refreshAfter == 0
    }

    package init(
        _ reply: PlainReply,
        to query: Query,
        _ policy: TTLPolicy,
        _ provenance: Provenance,
        isBelieved: Bool = false
    ) {
        let isProven = isBelieved && reply.header.authenticData
        let range = isProven ? 0...policy.positive.upperBound : policy.positive
        rcode = .noError
        if reply.ttls.clamped(to: range) == reply.ttls {
            sections = reply.sections
            lifetime = reply.ttls.lowerBound
        } else {
            var reply = reply
            reply.mapTTLs { policy.clamp($0, to: range) }
            sections = reply.sections
            lifetime = reply.ttls.lowerBound
        }
        variant = query.variant
        self.provenance = provenance
        isAuthentic = isProven
    }

    /// Creates the resolution from an upstream's reply.
    ///
    /// The answer contains only the CNAME chain and the records of the chain's last name, because
    /// other records may be an attack (RFC 2181 §5.4.1). RDATA is unchanged (RFC 3597 §5,
    /// RFC 5625 §4).
    ///
    /// The resolution is authentic if the reply has AD and `isBelieved` is true. The minimum TTLs
    /// of the settings do not apply to an authentic resolution, because the validator has limited
    /// the TTLs to the validity of the signatures (RFC 4035 §5.3.3).
    ///
    /// - Throws: `BuildError` if the records do not fit into a message.
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
        // The filter runs before `clamped`: a reply can have thousands of records, and `clamped`
        // is slower than the filter.
        let answers = policy.clamped(
            message.answers.filter { record in
                guard record.recordClass == question.recordClass else { return false }
                switch record.type {
                // This case is before the case `question.type`, because the queried type can be
                // DNAME.
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

        let soa = message.authorities.first { record in
            record.type == .soa && end.isEqualOrBelow(record.name)
        }
        var lifetime = soa.map(policy.lifetime) ?? policy.negative.lowerBound
        let proof = message.authorities.filter { record in
            switch record.type {
            case .soa: record == soa
            case .nsec, .nsec3, .rrsig: query.dnssecOK
            default: false
            }
        }.consolidated.map { record in
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
