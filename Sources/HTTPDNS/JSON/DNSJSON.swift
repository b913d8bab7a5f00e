// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Public resolver (Cloudflare, AliDNS, DNSPod and others) that has the JSON API of Google.
package struct DNSJSON: Vendor {
    /// AliDNS account (Alibaba Cloud document 2868703).
    package struct Account: Sendable {
        /// Parameter `uid`; not the Alibaba Cloud account.
        package let id: String

        /// Parameter `ak`.
        package let keyID: String

        package let secret: Secret

        package init(id: String, keyID: String, secret: Secret) {
            self.id = id
            self.keyID = keyID
            self.secret = secret
        }
    }

    private let url: HTTPURL

    private let path: [UInt8]

    private let query: QueryTemplate

    private let account: Account?

    private let isBillable: Bool

    private let isFree: Bool

    /// - Parameters:
    ///   - url: `{name}` and `{type}` in the query are replaced; if one of the two is missing,
    ///     `name=` or `type=` is appended.
    ///   - isBillable: nil means true with an account, else false.
    package init(
        url: String,
        account: Account? = nil,
        isBillable: Bool? = nil
    ) throws(DNSJSONSetupError) {
        guard let parsed = HTTPURL(url), !parsed.path.contains("{") else { throw .url }
        self.url = parsed
        path = Array((parsed.path + "?").utf8)
        query = QueryTemplate(parsed.query)
        if let account {
            for text in [account.id, account.keyID] {
                guard (1...VendorLimits.maximumAccount).contains(text.utf8.count),
                    text.utf8.allSatisfy(\.isAlphanumeric)
                else { throw .account }
            }
            guard (1...VendorLimits.maximumAccount).contains(account.secret.count) else {
                throw .account
            }
        }
        self.account = account
        self.isBillable = isBillable ?? (account != nil)
        isFree = isBillable == false
    }

    package var facts: VendorFacts {
        VendorFacts(
            kind: "json",
            maximumNames: 1,
            pairsFamilies: false,
            isBillable: isBillable,
            defaultPort: url.port,
            usesTLS: url.origin.usesTLS
        )
    }
}

// MARK: - Price

extension DNSJSON {
    private static let aliDNSHosts: Set = [
        "dns.alidns.com", "223.5.5.5", "223.6.6.6", "[2400:3200::1]", "[2400:3200:baba::1]",
    ]

    package var price: PriceModel {
        if isFree { return PriceModel(.request, weight: 0) }
        guard Self.aliDNSHosts.contains((url.origin.name ?? "").lowercased()) else {
            return PriceModel(.request)
        }
        return PriceModel(
            .request,
            weight: url.origin.usesTLS ? 5 : 1,
            freePerMonth: 10_000_000,
            price: PriceModel.Price(per10000: 0.03, "CNY"),
            page: PriceModel.Page(
                "alibabacloud.com/help/en/dns/pricing-overview",
                readOn: "2026-11-23"
            )
        )
    }
}

// MARK: - Requests

extension DNSJSON {
    package var trialName: Name { .trial(url.origin.name) }

    package func request(
        for lookup: VendorQuery,
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest {
        precondition(lookup.names.count == 1, "a call must have one name")
        let name = lookup.names[0]
        var query = QueryWriter(url.origin, at: server)
        query.append(path)
        let type = lookup.recordType == .v6 ? Self.aaaa : Self.a
        guard self.query.fill(&query, name: name, type: type) else { throw .unusableName }
        if let subnet = lookup.clientSubnet, let prefix = Self.prefix(of: subnet) {
            query.append("edns_client_subnet", String(describing: prefix))
        }
        if let account {
            let time = String(wallSeconds)
            query.append("uid", account.id)
            query.append("ak", account.keyID)
            query.append("ts", time)
            query.append("key", try Self.signature(of: name, at: time, by: account))
        }
        var request = HTTPRequest(url: query.text, server: server)
        request.headers = Self.headers
        return request
    }

    private static let headers = ["Accept: application/dns-json"]
    private static let a = Array("A".utf8)
    private static let aaaa = Array("AAAA".utf8)

    /// Returns the hexadecimal SHA-256 of five values, whose order is from a third-party client.
    private static func signature(
        of name: Name,
        at time: String,
        by account: Account
    ) throws(VendorError) -> String {
        var text = [UInt8](account.id.utf8) + account.secret.copy + [UInt8](time.utf8)
        _ = name.appendHostText(to: &text)
        text += account.keyID.utf8
        return try Digest.sha256(text).hexadecimal
    }

    /// Returns the client subnet to send, of 24 or 56 bits (RFC 7871 §11.1).
    private static func prefix(of address: IPAddress) -> IPPrefix? {
        switch address.unmapped {
        case .v4: IPPrefix(containing: address.unmapped, length: 24)
        case .v6: IPPrefix(containing: address, length: 56)
        }
    }
}

extension VendorQuery {
    var recordType: Families { families == .v6 ? .v6 : .v4 }
}

package enum DNSJSONSetupError: Error, Hashable {
    /// The URL is not HTTP(S), or has placeholders outside of the query.
    case url

    case account
}

extension DNSJSONSetupError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .url: "the URL must be like https://dns.example/resolve, without user or fragment"
        case .account:
            """
            the account and its key must have only letters and digits; copy them from the vendor's \
            console
            """
        }
    }
}

// MARK: - Description without secrets

extension DNSJSON: Redacted {
    package var description: String { account == nil ? "json" : "json with an account" }
}
