// SPDX-License-Identifier: Apache-2.0
import Foundation

extension Alibaba {
    /// TTL of an address family without addresses (Alibaba Cloud document 2978980 §6).
    private static let emptySeconds = 60

    private static func isAsked(_ name: String) -> Bool {
        ["dn", "q", "cip", "tags"].contains(name) || name.hasPrefix("sdns-")
    }

    private enum Mode: String {
        case plain = "0"
        case cbc = "1"
        case gcm = "2"

        var cipher: Cipher? {
            switch self {
            case .plain: nil
            case .cbc: .aes
            case .gcm: .gcm
            }
        }
    }

    func v2(_ parameters: Parameters, _ peer: String, at time: Date) throws(Code) -> Call {
        guard let id = parameters.text("id"),
            let mode = parameters["m"].flatMap(Mode.init(rawValue:)),
            parameters["v"] == nil || parameters["v"] == "1.0"
        else { throw .missingArgument }
        guard id == account[.alibabaID] else { throw .invalidAccount }
        let isSigned = try checkSignature(parameters, at: time)
        let question = try question(
            try asked(parameters, mode),
            names: "dn",
            families: "q",
            client: "cip",
            peer: peer
        )
        guard question.names.count <= Self.batchNames else { throw .tooManyHosts }
        guard question.clients.count == 1 else { throw .missingArgument }
        return Call(
            channel: "alibaba-v2-m\(mode.rawValue)" + (isSigned ? "-signed" : ""),
            names: question.names.map(\.asKey),
            isLookup: true,
            charge: question.charge(mode.cipher == nil ? .alibaba : .alibabaEncrypted)
        ) { zone, distortion in
            // In the documents, this error also means "no domain is configured".
            guard zone.count > 0 else { return failure(Code.invalidAccount.rawValue) }
            let data = data(question, zone, distortion)
            return Response(
                json: [
                    "code": "success",
                    "mode": .string(mode.rawValue),
                    "data": try sealed(data, mode, distortion),
                ]
            )
        }
    }

    private func checkSignature(_ parameters: Parameters, at time: Date) throws(Code) -> Bool {
        switch (parameters.text("exp"), parameters.text("s")) {
        case (nil, nil):
            guard !manner.requiresSignature else { throw .unsignedInterfaceDisabled }
            return false
        case (let expiry?, let signature?):
            guard let key = Hex.decode(account[.alibabaSecret]) else { throw .invalidSignature }
            let content = parameters.sorted { name in
                ["id", "m", "enc", "exp", "v"].contains(name) || Self.isAsked(name)
            }
            .filter { !$0.value.isEmpty }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
            let honest = Digest.hmacSHA256(content, key: key)
            try check(signature, honest, expiry, at: time)
            return true
        default: throw .missingArgument
        }
    }

    private func asked(_ parameters: Parameters, _ mode: Mode) throws(Code) -> Parameters {
        guard let cipher = mode.cipher else {
            guard parameters["enc"] == nil else { throw .missingArgument }
            return parameters
        }
        guard let hex = parameters.text("enc"), hex == hex.lowercased(),
            let message = Hex.decode(hex), parameters.sorted(where: Self.isAsked).isEmpty,
            let plain = try? cipher.open(message, key: key),
            let values = try? JSONDecoder().decode([String: String].self, from: Data(plain)),
            values.keys.allSatisfy(Self.isAsked)
        else { throw .missingArgument }
        return Parameters(values)
    }

    private var key: [UInt8] { Hex.decode(account[.alibabaAES]) ?? [] }

    // MARK: - Answers

    private func data(_ question: Question, _ zone: Zone, _ distortion: Distortion) -> JSONText {
        let answers = question.names.map { name in
            var members: [(String, JSONText)] = [("dn", .string(distortion.wrongName ?? name))]
            for family in question.families {
                let answer = zone.answer(name, family, for: Address(question.clients[0]))
                let isEmpty = answer.addresses.isEmpty
                var entry: [(String, JSONText)] = [
                    ("ips", .strings(distortion.addresses(answer, family))),
                    ("ttl", distortion.json(ttl: isEmpty ? Self.emptySeconds : answer.ttl)),
                ]
                if let extra = question.extra { entry.append(("extra", .string(extra))) }
                let code = zone.isRegistered(name) ? "RRNotExist" : manner.unlistedCode
                if isEmpty, !code.isEmpty { entry.append(("no_ip_code", .string(code))) }
                members.append((family == .v4 ? "v4" : "v6", .object(entry)))
            }
            return JSONText.object(members)
        }
        return ["cip": .string(question.clients[0]), "answers": .array(answers)]
    }

    private func sealed(
        _ data: JSONText,
        _ mode: Mode,
        _ distortion: Distortion
    ) throws(Cipher.Failure) -> JSONText {
        guard let cipher = mode.cipher else { return data }
        let octets = try distortion.seal(Array(data.text.utf8), cipher, key: key)
        return .string(Data(octets).base64EncodedString())
    }
}
