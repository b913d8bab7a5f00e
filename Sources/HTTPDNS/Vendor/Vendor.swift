// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// A vendor's API: two pure functions and a few facts.
///
/// Time and randomness are parameters, so published vectors test the real code.  Everything that
/// waits, counts or chooses (servers, deadlines, failover) is in `VendorClient`, once for all.
package protocol Vendor: Sendable {
    /// What the client has to know before it asks.
    var facts: VendorFacts { get }

    /// Writes a look-up as the request of this API.
    ///
    /// A vendor that does not pair families is asked for one; of `.both` it takes IPv4 and is
    /// silent about the other.
    ///
    /// - Parameters:
    ///   - server: the server to connect to; it names the peer unless a TLS name is configured.
    ///   - wallSeconds: seconds since 1970 by the vendor's clock, for signatures that expire.
    ///   - entropy: where initialisation vectors and nonces come from.
    /// - Precondition: one to `facts.maximumNames` names.
    /// - Throws: `VendorError.unusableName` or `.cipher`.
    func request(
        for lookup: Lookup,
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest

    /// Reads the reply: one answer for each name of the look-up, in its order.
    ///
    /// That the vendor has no address, or does not mention the name, is an answer too: an empty
    /// one.  It does not tell NXDOMAIN, NODATA and "not registered with us" apart, unless it has
    /// a `denial`, as those of resolvers with a JSON API have.
    ///
    /// - Throws: `VendorError`, for what must not be believed.
    func answers(to lookup: Lookup, in reply: HTTPReply) throws(VendorError) -> [VendorAnswer]

    /// The name of the daemon's own question, which tells whether the API answers at all.
    ///
    /// No client chooses it.  A resolver has addresses for it; a vendor of registered names may have
    /// none, which is an answer, too.
    var trialName: Name { get }

    /// The same account, asked in the other way that the vendor documents.
    ///
    /// Where its pages and its kits disagree (on the name of the certificates, on the form of a
    /// request), the other reading is worth one try after the error that the wrong one leads to.
    ///
    /// - Returns: nil if no other way would help against `error`.
    func alternative(after error: VendorError) -> (any Vendor)?

    /// The vendor's service that says which servers to ask; nil if it has none.
    var scheduling: (any AddressScheduling)? { get }
}

extension Vendor {
    package var trialName: Name { .exampleTrial }

    package func alternative(after error: VendorError) -> (any Vendor)? { nil }

    package var scheduling: (any AddressScheduling)? { nil }
}

extension Name {
    /// The host of a URL or certificate as the name of a trial; `example.com` for an IP address.
    static func trial(_ host: String?) -> Name {
        guard let host, IPAddress(host) == nil, !host.hasPrefix("["), let name = try? Name(host)
        else { return exampleTrial }
        return name
    }

    /// A name that exists for good and belongs to nobody (RFC 6761 §6.5).
    static let exampleTrial: Name = {
        guard let name = try? Name("example.com") else { preconditionFailure("no name") }
        return name
    }()
}

/// What sets one API apart from another, as far as the client cares.
package struct VendorFacts: Sendable, Hashable {
    /// The word for it in settings, as `tencent`.
    package var kind: String

    /// How many names one call may carry.
    package var maximumNames: Int

    /// Whether one call asks for both families.
    package var pairsFamilies: Bool

    /// Whether calls cost money.
    package var isBillable: Bool

    /// The port of a server that is configured without one.
    package var defaultPort: UInt16

    /// Whether requests and replies travel over TLS.
    package var usesTLS: Bool

    /// Whether a reply that was forged or changed on the way is detected, by TLS or by the API itself.
    package var isProtected: Bool

    /// Whether a 401 or 403 is about the account, whatever name was asked.
    package var refusesAccountsOnly: Bool

    /// Octets that the names of one call may have together, with the commas between them.
    package var maximumNameOctets: Int

    package init(
        kind: String,
        maximumNames: Int,
        pairsFamilies: Bool,
        isBillable: Bool,
        defaultPort: UInt16,
        usesTLS: Bool = true,
        isProtected: Bool? = nil,
        refusesAccountsOnly: Bool = true,
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
        self.refusesAccountsOnly = refusesAccountsOnly
    }
}

extension VendorFacts {
    /// Whether one call can carry `names`: not too many, and not too long together.
    package func canCarry(_ names: [Name]) -> Bool {
        let octets = names.reduce(names.count - 1) { $0 + $1.octets.count - 2 }
        return (1...maximumNames).contains(names.count)
            && (names.count == 1 || octets <= maximumNameOctets)
    }
}
