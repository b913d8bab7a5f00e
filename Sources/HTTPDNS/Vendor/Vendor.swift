// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Vendor API: a pure codec and a few facts.
///
/// Time and randomness are parameters, so tests can use published vectors. Servers, deadlines,
/// failover and counters are in `VendorClient`.
package protocol Vendor: Sendable {
    /// Properties of the API that the client needs.
    var facts: VendorFacts { get }

    /// Returns the HTTP request for a look-up of one to `facts.maximumNames` names.
    ///
    /// A vendor that does not pair families requests IPv4 for `.both`, and its answer has no IPv6
    /// part.
    ///
    /// - Parameters:
    ///   - server: server to connect to; names the peer unless a TLS name is configured.
    ///   - wallSeconds: seconds since 1970 by the vendor's clock, for signatures that expire.
    /// - Throws: `VendorError.unusableName` or `.cipher`.
    func request(
        for lookup: VendorQuery,
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest

    /// Parses the reply into one answer for each name of the look-up, in the same order.
    ///
    /// A name without addresses, or missing from the reply, has an empty answer. Without a `denial`
    /// (only resolvers with a JSON API set one), the name may be NXDOMAIN, NODATA or not registered
    /// with the vendor.
    ///
    /// - Throws: `VendorError` if the reply must not be believed.
    func answers(to lookup: VendorQuery, in reply: HTTPReply) throws(VendorError) -> [VendorAnswer]

    /// Name for health probes of the API; clients cannot choose it.
    ///
    /// A resolver has addresses for it. A vendor of registered names may return an empty answer,
    /// which also shows that the API works.
    var trialName: Name { get }

    /// Returns the same account with the vendor's other documented way of calling the API.
    ///
    /// Documentation and SDKs disagree on, for example, the certificate name or the request form.
    ///
    /// - Returns: nil if no variant could help against `error`.
    func alternative(after error: VendorError) -> (any Vendor)?

    /// Vendor's scheduling service, which returns server addresses; nil if there is none.
    var scheduling: (any AddressScheduling)? { get }
}

extension Vendor {
    package var trialName: Name { .exampleTrial }

    package func alternative(after error: VendorError) -> (any Vendor)? { nil }

    package var scheduling: (any AddressScheduling)? { nil }
}

extension Name {
    /// Returns the host of a URL or certificate as probe name; `example.com` for an IP address.
    static func trial(_ host: String?) -> Name {
        guard let host, IPAddress(host) == nil, !host.hasPrefix("["), let name = try? Name(host)
        else { return exampleTrial }
        return name
    }

    /// Reserved name that always exists (RFC 6761 §6.5).
    static let exampleTrial: Name = {
        guard let name = try? Name("example.com") else { preconditionFailure("invalid probe name") }
        return name
    }()
}

/// Properties of an API that the client needs.
package struct VendorFacts: Sendable, Hashable {
    /// Vendor kind in the settings, for example `tencent`.
    package var kind: String

    /// Maximum number of names in one call.
    package var maximumNames: Int

    /// True if one call requests both families.
    package var pairsFamilies: Bool

    /// True if calls cost money.
    package var isBillable: Bool

    /// Default port of a configured server.
    package var defaultPort: UInt16

    /// True if the API uses TLS.
    package var usesTLS: Bool

    /// True if TLS or the API itself detects a forged or modified reply.
    package var isProtected: Bool

    /// Maximum octets of all names in one call, with the commas between them.
    package var maximumNameOctets: Int

    package init(
        kind: String,
        maximumNames: Int,
        pairsFamilies: Bool,
        isBillable: Bool,
        defaultPort: UInt16,
        usesTLS: Bool = true,
        isProtected: Bool? = nil,
        maximumNameOctets: Int = VendorLimits.maximumNameOctets
    ) {
        self.maximumNameOctets = maximumNameOctets
        self.kind = kind
        self.maximumNames = maximumNames
        self.pairsFamilies = pairsFamilies
        self.isBillable = isBillable
        self.defaultPort = defaultPort
        self.usesTLS = usesTLS
        self.isProtected = isProtected ?? usesTLS
    }
}

extension VendorFacts {
    /// Returns true if one call can carry `names`, by number and by length.
    package func canCarry(_ names: [Name]) -> Bool {
        let octets = names.reduce(names.count - 1) { $0 + $1.octets.count - 2 }
        return (1...maximumNames).contains(names.count)
            && (names.count == 1 || octets <= maximumNameOctets)
    }
}
