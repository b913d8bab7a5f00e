// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Baidu Cloud HTTPDNS, API `/v4/resolve` (Baidu Cloud document Vjwvxm96x).
///
/// The values of `type=`, the certificate name, the IPv6 server and the code `SignatureExpired` are
/// from the Android SDK, and were not verified.
package struct Baidu: Vendor, Redacted {
    package static let defaultServers = ["180.76.76.200", "240c:4006::6666"]

    package static let defaultTLSName = "httpdns.baidubce.com"

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
            kind: "baidu",
            maximumNames: 10,
            pairsFamilies: true,
            isBillable: true,
            defaultPort: origin.defaultPort,
            usesTLS: origin.usesTLS
        )
    }

    package var price: PriceModel {
        PriceModel(
            .name,
            weight: origin.usesTLS ? 5 : 1,
            price: PriceModel.Price(per10000: 0.04, "CNY"),
            page: PriceModel.Page(
                "cloud.baidu.com/product-price/httpdns.html",
                readOn: "2026-11-23"
            )
        )
    }

    package var trialName: Name { .trial(Self.defaultTLSName) }

    package func request(
        for lookup: VendorQuery,
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest {
        let names = try lookup.list(for: facts)
        let expiry = String(wallSeconds + VendorLimits.requestLifetime)
        var query = QueryWriter()
        query.append("account_id", account)
        query.append("dn", names)
        query.append("t", expiry)
        query.append("sign", try Digest.md5(names, secret, expiry))
        switch lookup.families {
        case .both: query.append("type", "dual_stack")
        case .v4: query.append("type", "ipv4")
        case .v6: query.append("type", "ipv6")
        }
        if let subnet = lookup.clientSubnet { query.append("ip", String(describing: subnet)) }
        return HTTPRequest(
            url: origin.url(at: server) + "/v4/resolve?" + query.text,
            server: server
        )
    }

    /// Returns the answers in `{"data": {NAME: {"ipv4": {"ip": […], "ttl"}, "ipv6": …}}}`.
    package func answers(
        to lookup: VendorQuery,
        in reply: HTTPReply
    ) throws(VendorError) -> [VendorAnswer] {
        if reply.status != 200, reply.status != 429, let code = reply.code(in: "msg") {
            throw Self.error(code, in: reply, try JSONValue.read(reply.body))
        }
        let json = try reply.acceptedJSON()
        let word = try json.requiredText("msg")
        guard word == "ok" else {
            guard let code = VendorCode(word) else { throw .unreadable(.member("msg")) }
            throw Self.error(code, in: reply, json)
        }
        guard let entries = json["data"]?.members else {
            throw .unreadable(.member("data"))
        }
        var found = [VendorAnswer?](repeating: nil, count: lookup.names.count)
        for entry in entries {
            let index = try lookup.index(of: try? Name(entry.key))
            guard found[index] == nil else { throw .unreadable(.member("data")) }
            var answer = VendorAnswer(name: lookup.names[index], client: json.client("clientip"))
            if lookup.families.includesV4 {
                answer.v4 = try Self.family(.v4, in: entry.value["ipv4"])
            }
            if lookup.families.includesV6 {
                answer.v6 = try Self.family(.v6, in: entry.value["ipv6"])
            }
            found[index] = answer
        }
        return try lookup.complete(found)
    }

    private static func error(
        _ code: VendorCode,
        in reply: HTTPReply,
        _ json: JSONValue
    ) -> VendorError {
        guard code.text == "SignatureExpired" else { return reply.error(code) }
        return .wrongTime(
            status: reply.status,
            code: code,
            vendorSeconds: json["timestamp"]?.number
        )
    }

    private static func family(
        _ family: Families,
        in value: JSONValue?
    ) throws(VendorError) -> AddressSet? {
        guard let value else { return nil }
        guard value.isObject else { throw .unreadable(.member("ip")) }
        return AddressSet(try value.optionalElements("ip"), of: family, ttl: value["ttl"])
    }
}
