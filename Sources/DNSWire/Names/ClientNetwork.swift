// SPDX-License-Identifier: Apache-2.0

/// Group of clients that share one limit: an IPv4 address, an IPv6 /56, or the loopback.
///
/// Proven clients (TCP, RFC 7873 cookie, loopback) have a separate limit.
///
/// This type is public, because Swift 6.3 inlines no `package` function into another module.
@frozen
public struct ClientNetwork: Hashable, Sendable {
    /// IPv4 address or /56 prefix; the lower 8 bits are flags.
    @usableFromInline let bits: UInt64

    private static let proven: UInt64 = 1
    private static let isIPv4: UInt64 = 2

    package var isProven: Bool { bits & Self.proven != 0 }

    /// Number below 2^58 that identifies the prefix and the flags; part of a file format.
    package var number: UInt64 { (bits >> 8) << 2 | bits & (Self.proven | Self.isIPv4) }

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

    /// Compares the prefixes and the flags.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool { left.bits == right.bits }

    /// Hashes the prefix and the flags.
    @inlinable
    public func hash(into hasher: inout Hasher) { hasher.combine(bits) }
}
