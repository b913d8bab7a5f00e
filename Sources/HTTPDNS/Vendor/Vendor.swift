// SPDX-License-Identifier: Apache-2.0
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
    /// one.  It does not tell NXDOMAIN, NODATA and "not registered with us" apart.
    ///
    /// - Throws: `VendorError`, for what must not be believed.
    func answers(to lookup: Lookup, in reply: HTTPReply) throws(VendorError) -> [VendorAnswer]
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

    package init(
        kind: String,
        maximumNames: Int,
        pairsFamilies: Bool,
        isBillable: Bool,
        defaultPort: UInt16
    ) {
        self.kind = kind
        self.maximumNames = maximumNames
        self.pairsFamilies = pairsFamilies
        self.isBillable = isBillable
        self.defaultPort = defaultPort
    }
}
