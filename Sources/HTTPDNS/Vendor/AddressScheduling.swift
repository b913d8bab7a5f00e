// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

/// Codec of a vendor's scheduling service, which returns the vendor's server addresses.
///
/// Both functions are pure, like those of `Vendor`.
package protocol AddressScheduling: Sendable {
    /// Returns the request for the server addresses.
    ///
    /// - Parameters:
    ///   - server: a start-up server, or a server from an earlier reply.
    ///   - wallSeconds: seconds since 1970 by the vendor's clock.
    ///   - entropy: source of nonces.
    func scheduleRequest(
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest

    /// Parses the reply of `server` into at least one address.
    ///
    /// - Throws: `VendorError` if the reply is invalid.
    func servers(
        in reply: HTTPReply,
        from server: SocketAddress
    ) throws(VendorError) -> ServiceAddresses
}

/// Vendor servers from a scheduling reply, in the vendor's order.
package struct ServiceAddresses: Sendable, Hashable {
    /// IPv4 servers, then IPv6 servers; at most `VendorLimits.maximumServers`.
    package var servers: [SocketAddress]

    /// Validity period of the list; nil if the reply has none.
    package var validFor: Duration?

    package init(servers: [SocketAddress], validFor: Duration? = nil) {
        self.servers = servers
        self.validFor = validFor
    }
}

extension SocketAddress {
    /// Creates the address of a server named by `scheduler`.
    ///
    /// A forged reply of a scheduler on the Internet cannot direct requests into the local network.
    ///
    /// - Returns: nil for port 0, or an address in another scope than the scheduler's address.
    init?(_ address: IPAddress, port: UInt16, from scheduler: SocketAddress) {
        guard port != 0, let scope = AddressScope(address),
            let own = IPAddress(octets: scheduler.octets), scope == AddressScope(own)
        else { return nil }
        self.init(octets: address.octets, port: port)
    }
}
