// SPDX-License-Identifier: Apache-2.0

/// IPv4 or IPv6 address, without heap allocation.
package enum IPAddress: Hashable, Sendable {
    case v4(IPv4Address)
    case v6(IPv6Address)
}

// MARK: - Making

extension IPAddress {
    package init?(_ text: some StringProtocol) {
        if let address = IPv4Address(text) {
            self = .v4(address)
        } else if let address = IPv6Address(text) {
            self = .v6(address)
        } else {
            return nil
        }
    }

    package init?(text: ArraySlice<UInt8>) {
        if text.count <= 15, let address = IPv4Address(text: text) {
            self = .v4(address)
        } else if let address = IPv6Address(text: text) {
            self = .v6(address)
        } else {
            return nil
        }
    }

    package init?(octets: [UInt8]) {
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
    package var octets: [UInt8] {
        switch self {
        case .v4(let address): address.octets
        case .v6(let address): address.octets
        }
    }

    /// IPv4 address of an IPv4-mapped address; otherwise this address.
    package var unmapped: IPAddress {
        guard case .v6(let address) = self, let mapped = address.mapped else { return self }
        return .v4(mapped)
    }

    package var isUnspecified: Bool {
        switch self {
        case .v4(let address): address.isUnspecified
        case .v6(let address): address.isUnspecified
        }
    }

    package static let loopback = IPAddress.v4(IPv4Address(value: 0x7F00_0001))

    /// Source address that Linux selects for a query to a loopback address.
    ///
    /// It is 127.0.0.1 for all addresses in 127.0.0.0/8, and ::1 for ::1.
    package var loopbackSource: IPAddress {
        switch self {
        case .v4: .loopback
        case .v6: .v6(IPv6Address(high: 0, low: 1))
        }
    }

    package var isLoopback: Bool {
        switch self {
        case .v4(let address): address.isLoopback
        case .v6(let address): address.isLoopback
        }
    }

    package var isMulticast: Bool {
        switch self {
        case .v4(let address): address.isMulticast
        case .v6(let address): address.isMulticast
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
