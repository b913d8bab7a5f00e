// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Volcengine's HTTPDNS, the API `/resolve`.
///
/// Follows the vendor's pages 6758/113991 (request), 6758/174756 (signature) and 6758/174757
/// (reply).  Unverified: the values of `type=`, so none is sent and the family is taken from the
/// addresses, which the vendor's example mixes; and the reply about several names, so one is asked
/// at a time.  The vendor gives its servers' addresses on request only, so there is no default.
package struct Volcengine: Vendor {
    /// The name of the vendor's server, and so of its certificate.
    package static let defaultTLSName = "httpdns.volcengineapi.com"

    /// The account's number.
    private let account: String

    /// The key that signs.
    private let secret: Secret

    /// Scheme and peer name of the URLs.
    private let origin: Origin

    /// Uses an account.
    ///
    /// - Parameter tlsName: the name or IP address the certificate must have.
    /// - Throws: `AccountError`.
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
            usesTLS: origin.usesTLS,
            // The page has one status for bad parameters and bad accounts: 403.
            refusesAccountsOnly: false
        )
    }

    package var trialName: Name { .trial(Self.defaultTLSName) }

    /// Writes `GET /resolve`, signed until `timestamp`, in milliseconds.
    package func request(
        for lookup: Lookup,
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
        do throws(CipherError) {
            query.append("sign", try signature(of: [expiry, account, name, subnet ?? "", ""]))
        } catch {
            throw .cipher(error)
        }
        query.append("timestamp", expiry)
        if let subnet { query.append("ip", subnet) }
        return HTTPRequest(
            url: origin.url(at: server) + "/resolve?" + query.text,
            server: server
        )
    }

    /// The hexadecimal MD5 of the values and the key, sorted by octets, with `_` between them.
    ///
    /// Values that are not sent take part as empty ones: so the page's example was made.
    func signature(of values: [String]) throws(CipherError) -> String {
        let parts = values.map { [UInt8]($0.utf8) } + [secret.copy]
        let text = parts.sorted { $0.lexicographicallyPrecedes($1) }
            .joined(separator: [UInt8(ascii: "_")])
        return Hexadecimal.encode(try Digest.md5([UInt8](text)))
    }

    /// Reads `{"host", "ips": […], "ttl"}`, the addresses of both families in one list.
    package func answers(
        to lookup: Lookup,
        in reply: HTTPReply
    ) throws(VendorError) -> [VendorAnswer] {
        let json = try reply.acceptedJSON()
        _ = try lookup.index(of: "host", in: json)
        guard let items = json["ips"]?.elements else { throw .unreadable(.member("ips")) }
        guard let ttl = AddressSet.ttl(json["ttl"]) else { throw .unreadable(.member("ttl")) }
        var v4 = AddressSet(addresses: [], ttl: ttl)
        var v6 = v4
        var malformed = 0
        for item in items {
            switch item.text.flatMap({ AddressSet.address($0, of: .both) }) {
            case let address? where address.octets.count == 4: v4.keep(address)
            case let address?: v6.keep(address)
            case nil: malformed += 1
            }
        }
        guard items.isEmpty || malformed < items.count else { throw .unreadable(.noRecord) }
        v4.dropped += malformed
        // Which families the vendor looks up by itself is unverified, so addresses of one family
        // say nothing about the other.
        let isSilentAboutV4 = v4.addresses.isEmpty && !v6.addresses.isEmpty
        let isSilentAboutV6 = v6.addresses.isEmpty && !v4.addresses.isEmpty
        return [
            VendorAnswer(
                name: lookup.names[0],
                v4: lookup.families.includesV4 && !isSilentAboutV4 ? v4 : nil,
                v6: lookup.families.includesV6 && !isSilentAboutV6 ? v6 : nil
            )
        ]
    }
}

// MARK: - Showing no secret

extension Volcengine: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "volcengine" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
