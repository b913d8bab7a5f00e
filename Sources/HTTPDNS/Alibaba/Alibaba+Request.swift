// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

extension Alibaba {
    package func request(
        for lookup: VendorQuery,
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest {
        let names = try lookup.list(for: facts)
        let expiry = String(wallSeconds + VendorLimits.requestLifetime)
        let path =
            switch api {
            case .v2: try v2(names, lookup, expiry, entropy)
            case .v1: try v1(names, lookup, expiry)
            }
        return HTTPRequest(url: origin.url(at: server) + path, server: server)
    }

    private static func type(of families: Families) -> String {
        switch families {
        case .both: "4,6"
        case .v4: "4"
        case .v6: "6"
        }
    }
}

// MARK: - v2

extension Alibaba {
    private func v2(
        _ names: String,
        _ lookup: VendorQuery,
        _ expiry: String,
        _ entropy: Entropy
    ) throws(VendorError) -> String {
        var question = [
            Parameter(name: "dn", value: names),
            Parameter(name: "q", value: Self.type(of: lookup.families)),
        ]
        if let subnet = lookup.clientSubnet {
            question.append(Parameter(name: "cip", value: String(describing: subnet)))
        }
        question += lookup.parameters?.sdns ?? parameters
        if let cipher {
            let vector = try entropy.octets(cipher.vectorOctets)
            let sealed = try cipher.seal(Self.object(of: question), vector: vector)
            question = [Parameter(name: "enc", value: sealed.hexadecimal)]
        }

        var signed = [
            Parameter(name: "id", value: account),
            Parameter(name: "m", value: String(encryption.mode)),
        ]
        signed += question
        if sendsVersion { signed.append(Parameter(name: "v", value: "1.0")) }
        if signingKey != nil { signed.append(Parameter(name: "exp", value: expiry)) }
        var query = QueryWriter()
        for parameter in signed { query.append(parameter.name, parameter.value) }
        if let signingKey {
            let content = Self.content(of: signed)
            let signature = try Digest.hmacSHA256(key: signingKey, [UInt8](content.utf8))
            query.append("s", signature.hexadecimal)
        }
        return "/v2/d?" + query.text
    }

    /// Returns the text to sign: the unescaped parameters, sorted by name.
    static func content(of parameters: [Parameter]) -> String {
        parameters.sorted { $0.name < $1.name }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
    }

    private static func object(of parameters: [Parameter]) -> [UInt8] {
        let members = parameters.map { "\"\($0.name)\":\"\($0.value)\"" }
        return [UInt8]("{\(members.joined(separator: ","))}".utf8)
    }
}

// MARK: - v1

extension Alibaba {
    private func v1(
        _ names: String,
        _ lookup: VendorQuery,
        _ expiry: String
    ) throws(VendorError) -> String {
        let isBatch = lookup.names.count > 1
        var query = QueryWriter()
        query.append("host", names)
        if let secret {
            query.append("t", expiry)
            query.append("s", try Digest.md5(names, secret, expiry))
        }
        query.append("query", Self.type(of: lookup.families))
        if let subnet = lookup.clientSubnet { query.append("ip", String(describing: subnet)) }
        for parameter in lookup.parameters?.sdns ?? parameters {
            query.append(parameter.name, parameter.value)
        }
        let path = (secret == nil ? "" : "sign_") + (isBatch ? "resolve" : "d")
        return "/\(account)/\(path)?\(query.text)"
    }
}
