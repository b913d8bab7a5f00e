// SPDX-License-Identifier: Apache-2.0

/// An IPv4 or IPv6 address, stored without heap allocation.
package enum IPAddress: Hashable, Sendable {
    /// An IPv4 address.
    case v4(IPv4Address)

    /// An IPv6 address.
    case v6(IPv6Address)
}

// MARK: - Making

extension IPAddress {
    /// Parses an address literal of either family.
    package init?(_ text: some StringProtocol) {
        if let address = IPv4Address(text) {
            self = .v4(address)
        } else if let address = IPv6Address(text) {
            self = .v6(address)
        } else {
            return nil
        }
    }

    /// Creates an address of 4 or 16 octets; nil for any other count.
    package init?(octets: some Collection<UInt8>) {
        if let address = IPv4Address(octets: octets) {
            self = .v4(address)
        } else if let address = IPv6Address(octets: octets) {
            self = .v6(address)
        } else {
            return nil
        }
    }
}

// MARK: - Reading

extension IPAddress {
    /// The 4 or 16 octets in network byte order.
    package var octets: [UInt8] {
        switch self {
        case .v4(let address): address.octets
        case .v6(let address): address.octets
        }
    }

    /// This address, with an IPv4-mapped address converted to IPv4.
    package var unmapped: IPAddress {
        guard case .v6(let address) = self, let mapped = address.mapped else { return self }
        return .v4(mapped)
    }

    /// True if the address is in 0.0.0.0/8 or is `::`.
    package var isUnspecified: Bool {
        switch self {
        case .v4(let address): address.isUnspecified
        case .v6(let address): address.isUnspecified
        }
    }

    /// True if the address is in 127.0.0.0/8 or is `::1`.
    package var isLoopback: Bool {
        switch self {
        case .v4(let address): address.isLoopback
        case .v6(let address): address.isLoopback
        }
    }

    /// True if the address is in 224.0.0.0/4 or ff00::/8.
    package var isMulticast: Bool {
        switch self {
        case .v4(let address): address.isMulticast
        case .v6(let address): address.isMulticast
        }
    }

    /// True if the address is in 240.0.0.0/4.
    package var isReserved: Bool {
        switch self {
        case .v4(let address): address.isReserved
        case .v6(let address): address.isReserved
        }
    }

    /// True if the address is in 169.254.0.0/16 or fe80::/10.
    package var isLinkLocal: Bool {
        switch self {
        case .v4(let address): address.isLinkLocal
        case .v6(let address): address.isLinkLocal
        }
    }

    /// True if the address is in a network of RFC 1918 or in fc00::/7.
    package var isPrivate: Bool {
        switch self {
        case .v4(let address): address.isPrivate
        case .v6(let address): address.isPrivate
        }
    }
}

// MARK: - Conformances

extension IPAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .v4(let address): address.description
        case .v6(let address): address.description
        }
    }
}
