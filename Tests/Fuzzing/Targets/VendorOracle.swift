// SPDX-License-Identifier: Apache-2.0
import DNSWire
import HTTPDNS
import Net

struct VendorOracle {
    let vendor: any Vendor

    let namesItsAnswers: Bool

    static let names = ["www.example.com", "example.org"].compactMap { try? Name($0) }

    private static let server = SocketAddress("192.0.2.1:80")

    func judge(_ body: [UInt8]) throws {
        let reply = HTTPReply(status: 200, body: body)
        for families in [Families.both, .v4, .v6] {
            let lookup = VendorQuery(names: [Self.names[0]], families: families)
            let answers = try judge(reply, to: lookup)
            if namesItsAnswers { try judgeNaming(answers, in: body) }
        }
        if vendor.facts.maximumNames > 1 {
            _ = try judge(reply, to: VendorQuery(names: Self.names, families: .both))
        }
        try judgeRefusal(body)
        try judgeSchedule(reply)
    }

    /// Property: the answers are for the requested names and within the limits, or the reply is
    /// rejected.
    private func judge(_ reply: HTTPReply, to lookup: VendorQuery) throws -> [VendorAnswer] {
        let answers: [VendorAnswer]
        do throws(VendorError) {
            answers = try vendor.answers(to: lookup, in: reply)
        } catch {
            if case .cipher = error { throw Finding(description: "\(error)") }
            return []
        }
        try promise(answers.map(\.name) == lookup.names, "answers for other names")
        for answer in answers {
            try promise(lookup.families.includesV4 || answer.v4 == nil, "IPv4 without a request")
            try promise(lookup.families.includesV6 || answer.v6 == nil, "IPv6 without a request")
            try judge(answer.v4, octets: 4)
            try judge(answer.v6, octets: 16)
            try promise(answer.denial == nil || answer.isEmpty, "a denial with addresses")
        }
        return answers
    }

    private func judge(_ set: AddressSet?, octets: Int) throws {
        guard let set else { return }
        try promise(set.addresses.count <= VendorLimits.maximumAddresses, "too many addresses")
        try promise(set.ttl <= VendorLimits.maximumTTL && set.dropped >= 0, "TTL \(set.ttl)")
        try promise(set.addresses.allSatisfy { $0.octets.count == octets }, "wrong family")
        try promise(set.addresses.allSatisfy(\.canBeServer), "an unusable address")
        try promise((set.reason?.text.utf8.count ?? 0) <= VendorLimits.maximumCode, "a long reason")
    }

    /// Property: addresses are accepted only from a reply that contains the queried name.
    private func judgeNaming(_ answers: [VendorAnswer], in body: [UInt8]) throws {
        guard let answer = answers.first, !answer.isEmpty,
            // With JSON escapes, a reply can write the name in many forms.
            !body.contains(UInt8(ascii: "\\"))
        else { return }
        let small = body.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
        try promise(small.has(answer.name.text.utf8), "a reply for another name is accepted")
    }

    private func judgeRefusal(_ body: [UInt8]) throws {
        let lookup = VendorQuery(names: [Self.names[0]], families: .v4)
        for status in [204, 401, 429, 500] {
            var refusal = HTTPReply(status: status, body: body)
            refusal.retryAfter = String(validating: body.prefix(24), as: UTF8.self)
            refusal.date = refusal.retryAfter
            guard (try? vendor.answers(to: lookup, in: refusal)) == nil else {
                throw Finding(description: "an answer with status \(status)")
            }
        }
    }

    /// Property: the servers in an accepted reply of the scheduling service are valid.
    private func judgeSchedule(_ reply: HTTPReply) throws {
        guard let scheduling = vendor.scheduling, let server = Self.server,
            let found = try? scheduling.servers(in: reply, from: server)
        else { return }
        try promise(!found.servers.isEmpty, "no server at all")
        try promise(found.servers.count <= VendorLimits.maximumServers, "too many servers")
        try promise(Set(found.servers).count == found.servers.count, "a server twice")
        for server in found.servers {
            try promise(server.port != 0, "port 0")
            try promise(
                IPAddress(octets: server.octets)?.canBeServer ?? false,
                "an address that cannot be a server"
            )
        }
        try promise(found.validFor.map { $0 > .zero } ?? true, "servers with a validity of zero")
    }

    /// Property: the encrypted body gives the same answers as the plain body, or is rejected.
    func judgeSame(_ body: [UInt8], as other: VendorOracle, _ plain: [UInt8]) throws {
        let lookup = VendorQuery(names: [Self.names[0]], families: .both)
        let left = try? vendor.answers(to: lookup, in: HTTPReply(status: 200, body: body))
        let right = try? other.vendor.answers(to: lookup, in: HTTPReply(status: 200, body: plain))
        try promise(
            left == nil || left == right,
            "sealed \(left, default: "none"), plain \(right, default: "none")"
        )
    }
}

extension IPAddress {
    fileprivate var canBeServer: Bool { reach != .none }
}
