// SPDX-License-Identifier: Apache-2.0

/// Unit of per-client resource limits: an IPv4 /32, an IPv6 /56, or the machine itself.
///
/// Providers assign a /56 or more to a site, so a client can change a longer IPv6 prefix at will.
/// A local program can use any address of 127.0.0.0/8, so all loopback addresses are one client.
///
/// A network with a verified address (TCP, a valid cookie of RFC 7873, loopback) is distinct from
/// the same network without verification: forged UDP queries never count against it.
package struct ClientNetwork: Hashable, Sendable {
    /// The leading 56 bits of an IPv6 address, or all 32 bits of an IPv4 address.
    private let bits: UInt64

    private let isIPv4: Bool

    /// True if the client has proven that it receives replies at its address.
    package let isProven: Bool

    /// Creates the network that contains `address`; an IPv4-mapped address counts as IPv4.
    package init(of address: IPAddress, isProven: Bool) {
        self.isProven = isProven
        let address = address.unmapped
        guard !address.isLoopback else {
            (bits, isIPv4) = (0x7F00_0000, true)
            return
        }
        switch address {
        case .v4(let address):
            bits = UInt64(address.value)
            isIPv4 = true
        case .v6(let address):
            bits = address.high & ~0xFF
            isIPv4 = false
        }
    }
}
