// SPDX-License-Identifier: Apache-2.0
import Foundation

extension Alibaba {
    /// TTL of an answer without addresses (Alibaba Cloud document 52679).
    private static let emptySeconds = 300

    func v1(
        _ interface: String,
        _ parameters: Parameters,
        _ peer: String,
        at time: Date
    ) throws(Code) -> Call {
        let isBatch = interface.hasSuffix("resolve")
        let isSigned = interface.hasPrefix("sign_")
        guard isSigned || !manner.requiresSignature else { throw .unsignedInterfaceDisabled }
        if isSigned {
            guard let host = parameters.text("host"), let expiry = parameters.text("t"),
                let signature = parameters.text("s")
            else { throw .missingArgument }
            let honest = Digest.md5("\(host)-\(account[.alibabaSecret])-\(expiry)")
            try check(signature, honest, expiry, at: time)
        }
        let question = try question(
            parameters,
            names: "host",
            families: "query",
            client: "ip",
            peer: peer
        )
        guard isBatch || (question.names.count == 1 && question.clients.count == 1) else {
            throw .tooManyHosts
        }
        guard question.names.count <= Self.batchNames else { throw .limitExceeded }
        return Call(
            channel: isSigned ? "alibaba-v1-signed" : "alibaba-v1",
            names: question.names.map(\.asKey),
            isLookup: true,
            charge: question.charge(.alibaba)
        ) { zone, distortion in
            Response(
                json: isBatch
                    ? batch(question, zone, distortion) : single(question, zone, distortion)
            )
        }
    }

    private func single(_ question: Question, _ zone: Zone, _ distortion: Distortion) -> JSONText {
        let (name, client) = (question.names[0], question.clients[0])
        let answers = question.families.map { ($0, zone.answer(name, $0, for: Address(client))) }
        var members: [(String, JSONText)] = [("host", .string(distortion.wrongName ?? name))]
        for (family, answer) in answers {
            let addresses = distortion.addresses(answer, family)
            members.append((family == .v4 ? "ips" : "ipsv6", .strings(addresses)))
        }
        let ttl = answers.filter { !$0.1.addresses.isEmpty }.map(\.1.ttl).min()
        members.append(("ttl", distortion.json(ttl: ttl ?? Self.emptySeconds)))
        if let ttl { members.append(("origin_ttl", .number(ttl))) }
        members.append(("client_ip", .string(client)))
        return .object(members + Self.extra(question))
    }

    private func batch(_ question: Question, _ zone: Zone, _ distortion: Distortion) -> JSONText {
        var entries: [JSONText] = []
        for name in question.names where zone.isRegistered(name) {
            for client in question.clients {
                for family in question.families {
                    let answer = zone.answer(name, family, for: Address(client))
                    let ttl = answer.addresses.isEmpty ? Self.emptySeconds : answer.ttl
                    let members: [(String, JSONText)] = [
                        ("host", .string(distortion.wrongName ?? name)),
                        ("client_ip", .string(client)),
                        ("ips", .strings(distortion.addresses(answer, family))),
                        ("type", .number(family == .v4 ? 1 : 28)),
                        ("ttl", distortion.json(ttl: ttl)),
                        ("origin_ttl", .number(ttl)),
                    ]
                    entries.append(.object(members + Self.extra(question)))
                }
            }
        }
        return ["dns": .array(entries)]
    }

    /// Returns the `extra` member with HTML entities, which the SDKs decode.
    private static func extra(_ question: Question) -> [(String, JSONText)] {
        guard let extra = question.extra else { return [] }
        return [("extra", .string(extra.replacing("\"", with: "&quot;")))]
    }
}
