// SPDX-License-Identifier: Apache-2.0

/// Network that shares one client's part of a bounded resource: IPv4 /32 or IPv6 /56.
///
/// Providers assign sites a /56 or more, so a client could change a longer IPv6 prefix at will.
///
/// A network that has proven its address (TCP, a valid cookie of RFC 7873, loopback) is distinct from
/// the same network without proof: forged UDP queries never count against it.
package struct ClientNetwork: Hashable, Sendable {
    /// The leading 56 bits of an IPv6 address, or all 32 bits of an IPv4 address.
    private let bits: UInt64

    private let isIPv4: Bool

    /// Whether the client has proven that it receives what is sent to its address.
    package let isProven: Bool

    /// Makes the network that `address` is in; a v4-mapped address is an IPv4 address.
    package init(of address: IPAddress, isProven: Bool) {
        self.isProven = isProven
        switch address.unmapped {
        case .v4(let address):
            bits = UInt64(address.value)
            isIPv4 = true
        case .v6(let address):
            bits = address.high & ~0xFF
            isIPv4 = false
        }
    }
}
