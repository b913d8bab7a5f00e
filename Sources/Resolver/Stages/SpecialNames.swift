// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Names and types that are answered here and are nobody else's business.
///
/// What a route claims is not special: a network may well have its own `home.arpa`.  A route for `.`
/// claims none of them, or `localhost` and hidden services would be told to whoever it names.
package enum SpecialNames {
    // MARK: - Types

    /// What is said to types that ask for something other than records of a name.
    static func refusal(_ question: Question) -> Resolution? {
        switch question.type {
        case .any:
            // RFC 8482 §4.2: a short answer in place of all that there is.
            let hinfo = Record(
                name: question.name,
                type: .hinfo,
                recordClass: .in,
                ttl: ResolverLimits.localLifetime,
                data: .opaque([7] + Array("RFC8482".utf8) + [0])
            )
            return local(question, answers: [hinfo])
        case .axfr, .ixfr:
            return Resolution(
                rcode: .refused,
                explanation: Explanation(code: .notSupported, text: "no zone is transferred here"),
                provenance: .local
            )
        case RecordType(rawValue: 0), .opt:
            return Resolution(rcode: .formErr, provenance: .local)
        case RecordType(rawValue: 249), .tsig, RecordType(rawValue: 253), RecordType(rawValue: 254):
            // TKEY, TSIG, MAILB, MAILA: nothing that a question may be about.
            return Resolution(rcode: .notImp, provenance: .local)
        default:
            return nil
        }
    }

    // MARK: - Names

    /// The answer to a question that never leaves the machine, unless a route claims the name.
    static func answer(_ question: Question, _ match: RouteTable.Match?) -> Resolution? {
        match?.claimsSpecialNames ?? false ? nil : answer(question)
    }

    /// The answer to a name that never leaves the machine, or nil for all others.
    static func answer(_ question: Question) -> Resolution? {
        let name = question.name
        if name.isEqualOrBelow(.localhost) { return localhost(question) }
        if let zone = neverForwarded.first(where: { name.isEqualOrBelow($0) }) {
            return denial(question, zone: zone)
        }
        if name.isEqualOrBelow(homeZone) {
            // RFC 8375 §4: only the delegation's proof is the global DNS's to tell.
            return name == homeZone && question.type == .ds
                ? nil : emptyZone(question, zone: homeZone)
        }
        if name.isEqualOrBelow(arpa),
            let zone = privateReverse.first(where: { name.isEqualOrBelow($0) })
        {
            if question.type == .ptr, name == loopbackPointer || name == loopbackPointer6 {
                return local(
                    question,
                    answers: [
                        Record(
                            name: name,
                            type: .ptr,
                            recordClass: .in,
                            ttl: ResolverLimits.localLifetime,
                            data: .ptr(.localhost)
                        )
                    ]
                )
            }
            // What lies on the way to a name that exists does so, too (RFC 8020 §2).
            let leadsToPointer = name != zone && loopbackPointer.isEqualOrBelow(name)
            return leadsToPointer
                ? denial(question, zone: zone, rcode: .noError) : emptyZone(question, zone: zone)
        }
        if name.isEqualOrBelow(resolverZone) {
            // RFC 9462 §6.4: what an upstream says of itself is not true of us.
            return denial(question, zone: resolverZone, rcode: .noError)
        }
        if name.labelCount == 1, question.type.isAddress || question.type.isServiceBinding {
            // A single label is for hosts files and search lists; the root has no addresses for it.
            return denial(question, zone: .root)
        }
        return nil
    }

    /// A zone that has nothing but its SOA (RFC 6303 §3).
    private static func emptyZone(_ question: Question, zone: Name) -> Resolution {
        guard question.name == zone else { return denial(question, zone: zone) }
        guard question.type == .soa else {
            return denial(question, zone: zone, rcode: .noError)
        }
        return local(
            question,
            answers: [.syntheticSOA(zone, seconds: ResolverLimits.localLifetime)]
        )
    }

    /// RFC 6761 §6.3: loopback addresses, and nothing else.
    private static func localhost(_ question: Question) -> Resolution {
        let data: RecordData
        switch question.type {
        case .a: data = .a(IPv4Address(value: 0x7F00_0001))
        case .aaaa: data = .aaaa(IPv6Address(high: 0, low: 1))
        default: return denial(question, zone: .localhost, rcode: .noError)
        }
        return local(
            question,
            answers: [
                Record(
                    name: question.name,
                    type: question.type,
                    recordClass: .in,
                    ttl: ResolverLimits.localLifetime,
                    data: data
                )
            ]
        )
    }

    /// "There is no such name", or no such type of it, on our own authority.
    private static func denial(
        _ question: Question,
        zone: Name,
        rcode: RCode = .nxDomain
    ) -> Resolution {
        local(
            question,
            rcode: rcode,
            authorities: [.syntheticSOA(zone, seconds: ResolverLimits.localLifetime)]
        )
    }

    private static func local(
        _ question: Question,
        rcode: RCode = .noError,
        answers: [Record] = [],
        authorities: [Record] = []
    ) -> Resolution {
        // Two small records always fit a message, so encoding cannot fail.
        (try? Resolution(
            question,
            rcode: rcode,
            answers: answers,
            authorities: authorities,
            lifetime: ResolverLimits.localLifetime,
            provenance: .local
        ))
            ?? Resolution(rcode: .servFail, provenance: .local)
    }

    // MARK: - Lists

    /// Names that do not exist in the global DNS.
    ///
    /// RFC 6761 (invalid, test), RFC 7686 (onion), RFC 6762 §22.1 (local), RFC 9476 (alt).
    /// `ipv4only.arpa` is none of them: who asks for it wants to hear of the network's own translator
    /// (RFC 8880).
    private static let neverForwarded = [
        Name(literal: "invalid"), Name(literal: "test"), Name(literal: "onion"),
        Name(literal: "local"), Name(literal: "alt"),
    ]

    /// The reverse zones of addresses that mean something else in every network: RFC 6303 §4, for
    /// 100.64.0.0/10 RFC 7793 §2, and all of fc00::/7 (RFC 4193 §4.4).
    private static let privateReverse: [Name] = {
        var texts = [
            "0.in-addr.arpa", "10.in-addr.arpa", "127.in-addr.arpa", "254.169.in-addr.arpa",
            "2.0.192.in-addr.arpa", "100.51.198.in-addr.arpa", "113.0.203.in-addr.arpa",
            "255.255.255.255.in-addr.arpa", "168.192.in-addr.arpa",
            "c.f.ip6.arpa", "d.f.ip6.arpa", "8.e.f.ip6.arpa", "9.e.f.ip6.arpa", "a.e.f.ip6.arpa",
            "b.e.f.ip6.arpa", "8.b.d.0.1.0.0.2.ip6.arpa",
        ]
        texts += (16...31).map { "\($0).172.in-addr.arpa" }
        texts += (64...127).map { "\($0).100.in-addr.arpa" }
        texts += [zeros(32) + "ip6.arpa", "1." + zeros(31) + "ip6.arpa"]
        return texts.compactMap { try? Name($0) }
    }()

    private static let loopbackPointer = Name(literal: "1.0.0.127.in-addr.arpa")
    private static let loopbackPointer6 =
        (try? Name("1." + zeros(31) + "ip6.arpa")) ?? .localhost
    private static let arpa = Name(literal: "arpa")
    private static let homeZone = Name(literal: "home.arpa")
    private static let resolverZone = Name(literal: "resolver.arpa")

    private static func zeros(_ count: Int) -> String { String(repeating: "0.", count: count) }
}
