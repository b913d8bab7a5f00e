// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Volcengine HTTPDNS, API `/resolve`, with one name per call.
///
/// Sources: Volcengine documents 6758/113991 (request), 6758/174756 (signature) and 6758/174757
/// (reply). `type=` is not sent, because its values are unverified; the reply has both families.
package struct Volcengine: Vendor, Redacted {
    package static let defaultTLSName = "httpdns.volcengineapi.com"

    private let account: String

    private let secret: Secret

    private let origin: Origin

    package init(
        account: String,
        secret: Secret,
        usesTLS: Bool = true,
        tlsName: String = Self.defaultTLSName
    ) throws(AccountError) {
        try AccountError.check(account: account, secret: secret)
        self.account = account
        self.secret = secret
        origin = try AccountError.origin(usesTLS: usesTLS, tlsName: tlsName)
    }

    package var facts: VendorFacts {
        VendorFacts(
            kind: "volcengine",
            maximumNames: 1,
            pairsFamilies: true,
            isBillable: true,
            defaultPort: origin.defaultPort,
            usesTLS: origin.usesTLS
        )
    }

    package var trialName: Name { .trial(Self.defaultTLSName) }

    /// Returns the request `GET /resolve`; `timestamp` is the expiry of the signature, in ms.
    package func request(
        for lookup: VendorQuery,
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest {
        let name = try lookup.list(for: facts)
        let expiry = String((wallSeconds + VendorLimits.requestLifetime) * 1000)
        let subnet = lookup.clientSubnet.map { String(describing: $0) }
        var query = QueryWriter()
        query.append("domain", name)
        query.append("account_id", account)
        query.append("sign", try signature(of: [expiry, account, name, subnet ?? "", ""]))
        query.append("timestamp", expiry)
        if let subnet { query.append("ip", subnet) }
        return HTTPRequest(
            url: origin.url(at: server) + "/resolve?" + query.text,
            server: server
        )
    }

    /// Returns the hexadecimal MD5 of the values and the key, sorted by octets and joined with `_`.
    ///
    /// A parameter that is not sent is signed as an empty value.
    func signature(of values: [String]) throws(VendorError) -> String {
        let parts = values.map { [UInt8]($0.utf8) } + [secret.copy]
        let text = parts.sorted { $0.lexicographicallyPrecedes($1) }
            .joined(separator: [UInt8(ascii: "_")])
        return try Digest.md5([UInt8](text)).hexadecimal
    }

    /// Returns the answer in `{"host", "ips": […], "ttl"}`.
    package func answers(
        to lookup: VendorQuery,
        in reply: HTTPReply
    ) throws(VendorError) -> [VendorAnswer] {
        let json = try reply.acceptedJSON()
        _ = try lookup.index(of: "host", in: json)
        guard let items = json["ips"]?.elements else { throw .unreadable(.member("ips")) }
        guard let ttl = AddressSet.ttl(json["ttl"]) else { throw .unreadable(.member("ttl")) }
        var v4 = AddressSet(addresses: [], ttl: ttl)
        var v6 = v4
        let found = items.compactMap { $0.address(of: .both) }
        guard items.isEmpty || !found.isEmpty else { throw .unreadable(.noRecord) }
        v4.keep(found.filter { $0.octets.count == 4 })
        v6.keep(found.filter { $0.octets.count != 4 })
        v4.dropped += items.count - found.count
        // The vendor may omit a family, so the result for this family is nil (unknown).
        let isSilentAboutV4 = v4.addresses.isEmpty && !v6.addresses.isEmpty
        let isSilentAboutV6 = v6.addresses.isEmpty && !v4.addresses.isEmpty
        return [
            VendorAnswer(
                name: lookup.names[0],
                v4: lookup.families.includesV4 && !isSilentAboutV4 ? v4 : nil,
                v6: lookup.families.includesV6 && !isSilentAboutV6 ? v6 : nil,
                client: json.client("cip")
            )
        ]
    }
}
