// SPDX-License-Identifier: Apache-2.0

/// Unit of per-client resource limits: an IPv4 /32, an IPv6 /56, or the machine itself.
///
/// Providers assign a /56 or more to a site, so a client can change a longer IPv6 prefix at will.
/// A local program can use any address of 127.0.0.0/8, so all loopback addresses are one client.
///
/// A network with a verified address (TCP, a valid cookie of RFC 7873, loopback) is distinct from
/// the same network without verification: forged UDP queries never count against it.
package struct ClientNetwork: Hashable, Sendable {
    /// Network in the upper 56 bits, flags in the lower 8 bits.
    ///
    /// The network is the first 56 bits of an IPv6 address, or an IPv4 address.
    private let bits: UInt64

    private static let proven: UInt64 = 1
    private static let isIPv4: UInt64 = 2

    /// True if the client has proven that it receives replies at its address.
    package var isProven: Bool { bits & Self.proven != 0 }

    /// Creates the network that contains `address`; an IPv4-mapped address counts as IPv4.
    package init(of address: IPAddress, isProven: Bool) {
        let address = address.unmapped
        let network: UInt64
        if address.isLoopback {
            network = 0x7F00_0000 << 8 | Self.isIPv4
        } else {
            switch address {
            case .v4(let address): network = UInt64(address.value) << 8 | Self.isIPv4
            case .v6(let address): network = address.high & ~0xFF
            }
        }
        bits = isProven ? network | Self.proven : network
    }
}
