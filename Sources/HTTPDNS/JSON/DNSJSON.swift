// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// A public resolver with a JSON API, as Google, Cloudflare, AliDNS and DNSPod have.
///
/// There is no RFC: Google's page is what the others follow.  These are resolvers of all names,
/// with real response codes, so an empty answer is NXDOMAIN or NODATA.  They answer one family a
/// call.  The replies are read in `DNSJSON+Reply.swift`.
package struct DNSJSON: Vendor {
    /// An account with AliDNS, which signs each question (its page 2868703; see `signature`).
    package struct Account: Sendable {
        /// The account's number (`uid`), not the one of Alibaba Cloud.
        package let id: String

        /// The public part of the access key (`ak`).
        package let keyID: String

        /// The secret part of the access key.
        package let secret: Secret

        package init(id: String, keyID: String, secret: Secret) {
            self.id = id
            self.keyID = keyID
            self.secret = secret
        }
    }

    /// The operator's URL.
    private let url: HTTPURL

    /// The query of every request, with places for what is asked.
    private let query: QueryTemplate

    /// The account that signs; none for the free resolvers.
    private let account: Account?

    /// Whether calls cost money.
    private let isBillable: Bool

    /// Uses the API at `url`.
    ///
    /// - Parameters:
    ///   - url: as `https://dns.google/resolve`.  A query in it is sent along; `{name}` and
    ///     `{type}` in the query stand for what is asked, and without them `name=` and `type=` are
    ///     added.  The host is what the certificate must be for.
    ///   - account: an account with AliDNS.
    ///   - isBillable: whether calls cost money; nil means that they do with an account.
    /// - Throws: `DNSJSONSetupError`.
    package init(
        url: String,
        account: Account? = nil,
        isBillable: Bool? = nil
    ) throws(DNSJSONSetupError) {
        guard let parsed = HTTPURL(url), !parsed.path.contains("{") else { throw .url }
        self.url = parsed
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
    }

    package var facts: VendorFacts {
        VendorFacts(
            kind: "json",
            maximumNames: 1,
            pairsFamilies: false,
            isBillable: isBillable,
            defaultPort: url.port,
            usesTLS: url.origin.usesTLS,
            // A resolver may refuse one name by policy.
            refusesAccountsOnly: false
        )
    }
}

// MARK: - Asking

extension DNSJSON {
    package var trialName: Name { .trial(url.origin.name) }

    /// Writes `GET /resolve?name=…&type=…`.
    package func request(
        for lookup: Lookup,
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest {
        let name = try lookup.list(for: facts)
        let type = lookup.recordType == .v6 ? "AAAA" : "A"
        var query = QueryWriter(self.query.filled(name: name, type: type))
        if let subnet = lookup.clientSubnet, let prefix = Self.prefix(of: subnet) {
            query.append("edns_client_subnet", String(describing: prefix))
        }
        if let account {
            do throws(CipherError) {
                let time = String(wallSeconds)
                query.append("uid", account.id)
                query.append("ak", account.keyID)
                query.append("ts", time)
                query.append("key", try Self.signature(of: name, at: time, by: account))
            } catch {
                throw .cipher(error)
            }
        }
        var request = HTTPRequest(
            url: url.origin.url(at: server) + url.path + "?" + query.text,
            server: server
        )
        request.headers = Self.headers
        return request
    }

    /// What every request says of itself.
    private static let headers = ["Accept: application/dns-json"]

    /// The hexadecimal SHA-256 of id, secret, time, name and key ID, with nothing between them.
    ///
    /// Unverified: the vendor's page is not public in full, a third party's client signs so.
    private static func signature(
        of name: String,
        at time: String,
        by account: Account
    ) throws(CipherError) -> String {
        let text =
            [UInt8](account.id.utf8) + account.secret.copy
            + [UInt8]((time + name + account.keyID).utf8)
        return Hexadecimal.encode(try Digest.sha256(text))
    }

    /// The network that is told instead of the client's address (RFC 7871 §11.1).
    private static func prefix(of address: IPAddress) -> IPPrefix? {
        switch address.unmapped {
        case .v4: IPPrefix(containing: address.unmapped, length: 24)
        case .v6: IPPrefix(containing: address, length: 56)
        }
    }
}

extension Lookup {
    /// The one family that is asked of a vendor that does not pair them.
    var recordType: Families { families == .v6 ? .v6 : .v4 }
}

/// Why the settings of a JSON API cannot be used.
package enum DNSJSONSetupError: Error, Hashable {
    /// The URL is none of HTTP or HTTPS, or has places outside of its query.
    case url

    /// The account's number or key is empty, too long, or has other than letters and digits.
    case account
}

extension DNSJSONSetupError: CustomStringConvertible {
    /// One line for the operator.
    package var description: String {
        switch self {
        case .url: "the URL must be like https://dns.example/resolve, without user or fragment"
        case .account: "the account and its key must be letters and digits, as the console shows"
        }
    }
}

// MARK: - Showing no secret

extension DNSJSON: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { account == nil ? "json" : "json with an account" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
