// SPDX-License-Identifier: Apache-2.0

extension DNSJSON {
    private static let types = [
        "A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28,
        "SRV": 33, "NAPTR": 35, "DS": 43, "RRSIG": 46, "DNSKEY": 48, "TLSA": 52, "SVCB": 64,
        "HTTPS": 65, "ANY": 255, "CAA": 257,
    ]

    /// Mnemonics of the RCODEs by number (RFC 1035 §4.1.1, RFC 2136 §2.2).
    static let rcodes = [
        "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET",
        "NXRRSET", "NOTAUTH", "NOTZONE",
    ]

    /// TTL and MINIMUM of the SOA record (RFC 2308 §5).
    private static let negativeSeconds = 60

    /// Parses a number, a mnemonic, or `TYPE64` (RFC 3597 §5).
    static func type(_ text: String) -> Int? {
        let upper = text.uppercased()
        if let known = types[upper] { return known }
        let digits = upper.hasPrefix("TYPE") ? upper.dropFirst(4) : upper[...]
        guard digits.isDigits, let number = Int(digits), (1...65535).contains(number) else {
            return nil
        }
        return number
    }

    static func flags(_ status: Int, _ checkingDisabled: Bool) -> [(String, JSONText)] {
        [
            ("Status", .number(status)), ("TC", .bool(false)), ("RD", .bool(true)),
            ("RA", .bool(true)), ("AD", .bool(false)), ("CD", .bool(checkingDisabled)),
        ]
    }

    /// Returns the reply: first the aliases, then the records of the last target.
    ///
    /// If there are no such records, the reply has an SOA record.
    ///
    /// The RCODE of the reply is the RCODE for the last target (RFC 6604 §3).
    func answer(_ question: Question, _ zone: Zone, _ distortion: Distortion) -> JSONText {
        var chain = zone.chain(question.name)
        // A CNAME query does not follow the alias (RFC 1034 §3.6.2).
        if question.type == 5 {
            chain.links = Array(chain.links.prefix(1))
            chain.end = chain.links.first?.owner ?? chain.end
        }
        let client = Address(question.client)
        var records = chain.links.map { link in
            record(link.owner, 5, link.ttl, written(link.target), distortion)
        }
        var found = question.type == 5 && !records.isEmpty
        var addresses: [String] = []
        for family in question.families {
            guard let end = chain.end else { break }
            let answer = zone.answer(end, family, for: client)
            let texts = distortion.addresses(answer, family)
            addresses += texts
            found = found || !texts.isEmpty
            records += texts.map { record(end, family == .v4 ? 1 : 28, answer.ttl, $0, distortion) }
        }
        if question.isShort { return .strings(addresses) }

        let status = chain.end.map { zone.exists($0) ? 0 : 3 } ?? 2
        var members = Self.flags(status, question.checkingDisabled)
        let asked: JSONText = [
            "name": .string(written(distortion.wrongName ?? question.name)),
            "type": .number(question.type),
        ]
        members.append(("Question", manner.question == .array ? .array([asked]) : asked))
        if !records.isEmpty { members.append(("Answer", .array(records))) }
        if !found, let end = chain.end {
            members.append(("Authority", .array([authority(end, distortion)])))
        }
        if let subnet = question.subnet { members.append(("edns_client_subnet", .string(subnet))) }
        return .object(members)
    }

    private func record(
        _ owner: String,
        _ type: Int,
        _ ttl: Int,
        _ data: String,
        _ distortion: Distortion
    ) -> JSONText {
        [
            "name": .string(written(distortion.wrongName ?? owner)), "type": .number(type),
            "TTL": distortion.json(ttl: ttl), "data": .string(data),
        ]
    }

    /// Returns an SOA record for the last two labels; the zone file has none.
    private func authority(_ name: String, _ distortion: Distortion) -> JSONText {
        let apex = name.split(separator: ".").suffix(2).joined(separator: ".")
        let negative = Self.negativeSeconds
        let data = "ns.\(apex). hostmaster.\(apex). 1 3600 600 86400 \(negative)"
        return [
            "name": .string(written(apex)), "type": .number(6),
            "TTL": distortion.json(ttl: negative), "data": .string(data),
        ]
    }

    private func written(_ name: String) -> String {
        let bare = name.hasSuffix(".") ? String(name.dropLast()) : name
        return manner.names == .dotted || bare.isEmpty ? bare + "." : bare
    }
}
