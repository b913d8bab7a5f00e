// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Codec and properties of a vendor's API, without side effects.
package protocol Vendor: Sendable {
    var facts: VendorFacts { get }

    /// Returns the HTTP request for `lookup`, which has at most `facts.maximumNames` names.
    ///
    /// For `.both`, a vendor that cannot request both families requests IPv4. `wallSeconds` is the
    /// Unix time by the vendor's clock.
    func request(
        for lookup: VendorQuery,
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest

    /// Returns one answer for each name of `lookup`, in the order of the names.
    ///
    /// The answer is empty if `reply` lacks the name. Without `denial`, an empty answer may mean
    /// NXDOMAIN, NODATA, or an unregistered name.
    func answers(to lookup: VendorQuery, in reply: HTTPReply) throws(VendorError) -> [VendorAnswer]

    /// Name for health probes, which clients cannot choose; the name need not have addresses.
    var trialName: Name { get }

    /// Returns a codec that sends the request in another form, which may avoid `error`.
    func alternative(after error: VendorError) -> (any Vendor)?

    var price: PriceModel { get }

    var scheduling: (any AddressScheduling)? { get }
}

extension Vendor {
    package var trialName: Name { .exampleTrial }

    package func alternative(after error: VendorError) -> (any Vendor)? { nil }

    package var price: PriceModel { .unknown }

    package var scheduling: (any AddressScheduling)? { nil }
}

extension Name {
    static func trial(_ host: String?) -> Name {
        guard let host, IPAddress(host) == nil, !host.hasPrefix("["), let name = try? Name(host)
        else { return exampleTrial }
        return name
    }

    /// Name that always exists, for health probes (RFC 6761 §6.5).
    static let exampleTrial: Name = {
        guard let name = try? Name("example.com") else { preconditionFailure("invalid probe name") }
        return name
    }()
}

package struct VendorFacts: Sendable, Hashable {
    package var kind: String

    package var maximumNames: Int

    package var pairsFamilies: Bool

    package var isBillable: Bool

    package var defaultPort: UInt16

    package var usesTLS: Bool

    /// True if TLS or the API detects a forged reply.
    package var isProtected: Bool

    package init(
        kind: String,
        maximumNames: Int,
        pairsFamilies: Bool,
        isBillable: Bool,
        defaultPort: UInt16,
        usesTLS: Bool = true,
        isProtected: Bool? = nil
    ) {
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
    /// Returns true if a call with `count` names (`octets` octets in total) can also contain
    /// `name`; then adds the octets of `name` to `octets`.
    func canCarry(_ name: Name, after count: Int, _ octets: inout Int) -> Bool {
        let sum = octets + name.octets.count - (count == 0 ? 2 : 1)
        guard count < maximumNames, count == 0 || sum <= VendorLimits.maximumNameOctets else {
            return false
        }
        octets = sum
        return true
    }
}
