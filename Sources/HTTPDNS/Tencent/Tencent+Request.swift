// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

extension Tencent {
    /// With `query=1`, the reply includes the name.
    package func request(
        for lookup: VendorQuery,
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest {
        var names = try lookup.list(for: facts)
        if expires {
            names += ";\(wallSeconds + VendorLimits.requestLifetime)"
        }

        var query = QueryWriter()
        switch access {
        case .token(let token, let id):
            query.append("dn", names)
            if let id { query.append("id", String(id)) }
            query.append("token", String(decoding: token.copy, as: Unicode.UTF8.self))
        case .sealed(let cipher, let algorithm, let id):
            query.append("dn", try Self.seal(names, with: cipher, entropy))
            query.append("id", String(id))
            query.append("alg", algorithm.rawValue)
        }
        query.append("ttl", "1")
        query.append("clientip", "1")
        query.append("query", "1")
        if let type = Self.type(of: lookup.families) { query.append("type", type) }
        if let subnet = lookup.clientSubnet {
            var text = String(describing: subnet)
            if case .sealed(let cipher, _, _) = access, clientSubnetForm == .encrypted {
                text = try Self.seal(text, with: cipher, entropy)
            }
            query.append("ip", text)
        }
        return HTTPRequest(url: origin.url(at: server) + "/d?" + query.text, server: server)
    }

    private static func type(of families: Families) -> String? {
        switch families {
        case .both: "addrs"
        case .v6: "aaaa"
        case .v4: nil
        }
    }

    private static func seal(
        _ text: String,
        with cipher: Cipher,
        _ entropy: Entropy
    ) throws(VendorError) -> String {
        let vector = try entropy.octets(cipher.vectorOctets)
        return try cipher.seal([UInt8](text.utf8), vector: vector).hexadecimal
    }
}
