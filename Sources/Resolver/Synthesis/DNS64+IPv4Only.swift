// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire

// MARK: - ipv4only.arpa

extension DNS64 {
    /// Returns the local answer for `ipv4only.arpa` and its reverse names (RFC 8880 §7).
    ///
    /// Nil if the query is for another name, if there is no prefix, or if a route overrides these
    /// names.
    func ownAnswer(_ question: Question, _ match: RouteTable.Match?) -> Resolution? {
        guard question.recordClass == .in, match?.claimsSpecialNames != true, let prefix else {
            return nil
        }
        let name = question.name
        if Self.reverseNames.contains(name) {
            return local(question, question.type == .ptr ? [.ptr(.ipv4only)] : [], zone: name)
        }
        guard name.isEqualOrBelow(.ipv4only) else { return nil }
        guard name == .ipv4only else {
            var denial = local(question, [], zone: .ipv4only)
            denial.rcode = .nxDomain
            return denial
        }
        switch question.type {
        case .a:
            return local(question, NAT64Prefix.wellKnownAddresses.map { .a($0) }, zone: name)
        case .aaaa:
            let addresses = NAT64Prefix.wellKnownAddresses.map(prefix.embed)
            var answer = local(question, addresses.map { .aaaa($0) }, zone: name)
            answer.explanation = .synthesized("well-known IPv4 addresses in the NAT64 prefix")
            return answer
        default:
            return local(question, [], zone: name)
        }
    }

    private static let reverseNames = NAT64Prefix.wellKnownAddresses.map {
        Name(reverseOf: .v4($0))
    }

    private func local(_ question: Question, _ data: [RecordData], zone: Name) -> Resolution {
        // The TTL is short, because the prefix changes when the network changes.
        let ttl = ResolverLimits.hostsLifetime
        let denial = Resolution.noData(question, zone: zone, seconds: ttl, provenance: .local)
        guard !data.isEmpty else { return denial }
        let records = data.map { Record(name: question.name, ttl: ttl, data: $0) }
        let answer = try? Resolution(
            question,
            answers: records,
            lifetime: ttl,
            provenance: .local
        )
        return answer ?? denial
    }
}
