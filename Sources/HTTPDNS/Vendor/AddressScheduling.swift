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
    /// A server that `scheduler` named; nil for port 0, and for an address of another scope.
    ///
    /// A scheduler on the Internet names servers on the Internet, one on this machine servers on
    /// this machine, and so on: an answer that was forged, or a test, leads nowhere else.
    init?(_ address: IPAddress, port: UInt16, from scheduler: SocketAddress) {
        guard port != 0, let scope = AddressScope(address),
            let own = IPAddress(octets: scheduler.octets), scope == AddressScope(own)
        else { return nil }
        self.init(octets: address.octets, port: port)
    }
}
