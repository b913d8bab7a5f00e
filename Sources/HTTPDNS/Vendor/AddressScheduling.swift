// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

/// A vendor's service that says which servers to ask: two pure functions, as `Vendor` is.
package protocol AddressScheduling: Sendable {
    /// Writes the request for the servers' addresses.
    ///
    /// - Parameters:
    ///   - server: a start-up server, or any that was told before.
    ///   - wallSeconds: seconds since 1970 by the vendor's clock.
    ///   - entropy: where nonces come from.
    func scheduleRequest(
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest

    /// Reads the reply of `server`: at least one address.
    ///
    /// - Throws: `VendorError`, for what must not be believed.
    func servers(
        in reply: HTTPReply,
        from server: SocketAddress
    ) throws(VendorError) -> ServiceAddresses
}

/// The servers that a vendor wants us to ask, in its order.
package struct ServiceAddresses: Sendable, Hashable {
    /// IPv4 servers, then IPv6 servers; at most `VendorLimits.maximumServers`.
    package var servers: [SocketAddress]

    /// How long to use them; nil if the vendor does not say.
    package var validFor: Duration?

    package init(servers: [SocketAddress], validFor: Duration? = nil) {
        self.servers = servers
        self.validFor = validFor
    }
}

extension SocketAddress {
    /// A server that `scheduler` named; nil for an address that no vendor's server can have.
    ///
    /// Only a scheduler on this machine may name servers on this machine: elsewhere it would lead
    /// us to services that trust whoever comes from here.
    init?(_ address: IPAddress, port: UInt16, from scheduler: SocketAddress) {
        let isLocal = IPAddress(octets: scheduler.octets)?.isLoopback ?? false
        guard port != 0, !address.isUnusable || isLocal && address.isLoopback else { return nil }
        self.init(octets: address.octets, port: port)
    }
}
