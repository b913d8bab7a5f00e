// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Names and types that the daemon answers locally, and never forwards.
///
/// A route for a special name has precedence, because networks can have their own `home.arpa`. A
/// route for `.` has no precedence, because its vendors must not get names below `localhost` or
/// `onion`.
package enum SpecialNames {
    // MARK: - Types

    /// Returns the local answer if the type is never forwarded.
    static func refusal(_ question: Question) -> Resolution? {
        // Most queries are for addresses, and the code below takes 130 instructions.
        guard !question.type.isAddress else { return nil }
        switch question.type {
        case .any:
            // A minimal answer to ANY (RFC 8482 §4.2).
            let hinfo = Record(
                name: question.name,
                type: .hinfo,
                ttl: ResolverLimits.localLifetime,
                data: .opaque([7] + Array("RFC8482".utf8) + [0])
            )
            return local(question, answers: [hinfo])
        case .axfr, .ixfr:
            return Resolution(
                rcode: .refused,
                explanation: Explanation(
                    code: .notSupported,
                    text: "zone transfers are not supported"
                ),
                provenance: .local
            )
        case RecordType(rawValue: 0), .opt:
            return Resolution(rcode: .formErr, provenance: .local)
        case RecordType(rawValue: 249), .tsig, RecordType(rawValue: 253), RecordType(rawValue: 254):
            // TKEY, TSIG, MAILB and MAILA are not valid in a question.
            return Resolution(rcode: .notImp, provenance: .local)
        default:
            return nil
        }
    }

    // MARK: - Names

    static func answer(_ question: Question, _ match: RouteTable.Match?) -> Resolution? {
        match?.claimsSpecialNames ?? false ? nil : answer(question)
    }

    static func answer(_ question: Question) -> Resolution? {
        let name = question.name
        guard topLabels.contains(name.topLabel) || name.labelCount == 1 else { return nil }
        if name.isEqualOrBelow(.localhost) { return localhost(question) }
        if let zone = neverForwarded.first(where: { name.isEqualOrBelow($0) }) {
            return denial(question, zone: zone)
        }
        if name.isEqualOrBelow(homeZone) {
            // Only DS of `home.arpa` itself is forwarded (RFC 8375 §4).
            return name == homeZone && question.type == .ds
                ? nil : emptyZone(question, zone: homeZone)
        }
        if name.isEqualOrBelow(arpa),
            let zone = privateReverse.first(where: { name.isEqualOrBelow($0) })
        {
            if question.type == .ptr, name == loopbackPointer || name == loopbackPointer6 {
                return local(question, .ptr(.localhost))
            }
            // `1.0.0.127.in-addr.arpa` exists, so the names above it also exist (RFC 8020 §2).
            let leadsToPointer = name != zone && loopbackPointer.isEqualOrBelow(name)
            return leadsToPointer
                ? denial(question, zone: zone, rcode: .noError) : emptyZone(question, zone: zone)
        }
        if name.isEqualOrBelow(resolverZone) {
            // An upstream's records would designate the upstream instead of this server
            // (RFC 9462 §6.4).
            return denial(question, zone: resolverZone, rcode: .noError)
        }
        if name.labelCount == 1, question.type.isAddress || question.type.isServiceBinding {
            // Names with one label belong to hosts files and search lists.
            return denial(question, zone: .root)
        }
        return nil
    }

    /// Returns the answer from `zone`, a zone that contains only its SOA (RFC 6303 §3).
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

    /// Returns the answer for `localhost`: loopback addresses only (RFC 6761 §6.3).
    private static func localhost(_ question: Question) -> Resolution {
        switch question.type {
        case .a: local(question, .a(IPv4Address(value: 0x7F00_0001)))
        case .aaaa: local(question, .aaaa(IPv6Address(high: 0, low: 1)))
        default: denial(question, zone: .localhost, rcode: .noError)
        }
    }

    private static func local(_ question: Question, _ data: RecordData) -> Resolution {
        let seconds = ResolverLimits.localLifetime
        return local(question, answers: [Record(name: question.name, ttl: seconds, data: data)])
    }

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
        // Cannot fail, because two small records fit into a message.
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
    /// `ipv4only.arpa` is not listed, because clients detect NAT64 with this name (RFC 8880).
    private static let neverForwarded = [
        Name(literal: "invalid"), Name(literal: "test"), Name(literal: "onion"),
        Name(literal: "local"), Name(literal: "alt"),
    ]

    /// Top-level labels of the special names that have more than one label.
    private static let topLabels = ([.localhost, arpa] + neverForwarded).map(\.topLabel)

    /// Reverse zones of addresses that are not used on the Internet.
    ///
    /// RFC 6303 §4, RFC 7793 §2 (100.64.0.0/10) and RFC 4193 §4.4 (fc00::/7).
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
