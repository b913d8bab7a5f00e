// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

package protocol AddressScheduling: Sendable {
    /// Returns the request for server addresses; `wallSeconds` is the Unix time.
    func scheduleRequest(
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest

    /// Returns the servers in the reply of `server`; throws if the reply has no address.
    func servers(
        in reply: HTTPReply,
        from server: SocketAddress
    ) throws(VendorError) -> ServiceAddresses
}

package struct ServiceAddresses: Sendable, Hashable {
    /// IPv4 first; at most `VendorLimits.maximumServers`.
    package var servers: [SocketAddress]

    package var validFor: Duration?
}

extension SocketAddress {
    /// Creates a server address; nil for port 0, or if `address` does not have the ``AddressScope``
    /// of `scheduler`.
    init?(_ address: IPAddress, port: UInt16, from scheduler: SocketAddress) {
        guard port != 0, let scope = AddressScope(address),
            let own = IPAddress(octets: scheduler.octets), scope == AddressScope(own)
        else { return nil }
        self.init(octets: address.octets, port: port)
    }
}
