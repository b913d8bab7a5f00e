// SPDX-License-Identifier: Apache-2.0

/// Part of the network in which an address is reachable (RFC 6890).
package enum AddressReach: Int, Sendable, Comparable {
    /// Reachable on the Internet; includes addresses for documentation.
    case global

    /// Not reachable on the Internet, but possibly in the network of the client.
    case local

    /// Reachable only on the client, in its subnet or in a multicast group: never a valid answer.
    case none

    package static func < (left: AddressReach, right: AddressReach) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension IPAddress {
    /// Scope from the IANA registries (RFC 6890); an embedded IPv4 address can reduce the scope.
    package var reach: AddressReach {
        switch self {
        case .v4(let address): address.reach
        case .v6(let address): address.reach
        }
    }
}

extension IPv4Address {
    fileprivate var reach: AddressReach {
        Self.special.first { matches($0.network, length: $0.length) }?.reach ?? .global
    }

    private static let special: [(network: UInt32, length: Int, reach: AddressReach)] = [
        // "This network" (RFC 791 §3.2).
        (0x0000_0000, 8, .none),
        // Private (RFC 1918).
        (0x0A00_0000, 8, .local),
        // Carrier NAT (RFC 6598); some clouds have metadata services in this network.
        (0x6440_0000, 10, .local),
        // Loopback (RFC 1122 §3.2.1.3).
        (0x7F00_0000, 8, .none),
        // Link-local (RFC 3927).
        (0xA9FE_0000, 16, .none),
        // Private (RFC 1918).
        (0xAC10_0000, 12, .local),
        // PCP and TURN anycast (RFC 7723, RFC 8155), and `ipv4only.arpa` (RFC 7050).
        (0xC000_0009, 32, .global),
        (0xC000_000A, 32, .global),
        (0xC000_00AA, 31, .global),
        // IETF protocol assignments (RFC 6890 §2.1).
        (0xC000_0000, 24, .local),
        // Private (RFC 1918).
        (0xC0A8_0000, 16, .local),
        // Benchmarks (RFC 2544).
        (0xC612_0000, 15, .local),
        // Multicast (RFC 5771), reserved (RFC 1112 §4), broadcast.
        (0xE000_0000, 3, .none),
    ]
}

extension IPv6Address {
    fileprivate var reach: AddressReach {
        let own = Self.special.first { (high ^ $0.network) >> (64 - $0.length) == 0 }?.reach
        return max(own ?? .global, loopbackReach, carried.map(\.reach).max() ?? .global)
    }

    private var loopbackReach: AddressReach { high == 0 && low <= 1 ? .none : .global }

    private static let special: [(network: UInt64, length: UInt64, reach: AddressReach)] = [
        // NAT64 (RFC 8215).
        (0x0064_FF9B_0001_0000, 48, .local),
        // Discard (RFC 6666) and dummy prefix (RFC 9780).
        (0x0100_0000_0000_0000, 63, .none),
        // Benchmarks (RFC 5180).
        (0x2001_0002_0000_0000, 48, .local),
        // Segment routing (RFC 9602).
        (0x5F00_0000_0000_0000, 16, .local),
        // Unique local (RFC 4193).
        (0xFC00_0000_0000_0000, 7, .local),
        // Site-local (RFC 3879).
        (0xFEC0_0000_0000_0000, 10, .local),
        // Link-local (RFC 4291 §2.5.6).
        (0xFE80_0000_0000_0000, 10, .none),
        // Multicast (RFC 4291 §2.7).
        (0xFF00_0000_0000_0000, 8, .none),
    ]

    private var carried: [IPv4Address] {
        let last = UInt32(truncatingIfNeeded: low)
        // Mapped and compatible (RFC 4291 §2.5.5); translated (RFC 2765 §2.1).
        if high == 0, [0, 0xFFFF, 0xFFFF_0000].contains(low >> 32) {
            return [IPv4Address(value: last)]
        }
        // NAT64 (RFC 6052 §2.1).
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 { return [IPv4Address(value: last)] }
        // 6to4 (RFC 3056 §2).
        if high >> 48 == 0x2002 {
            return [IPv4Address(value: UInt32(truncatingIfNeeded: high >> 16))]
        }
        // Teredo: server, and client with inverted bits (RFC 4380 §4).
        if high >> 32 == 0x2001_0000 {
            return [
                IPv4Address(value: UInt32(truncatingIfNeeded: high)), IPv4Address(value: ~last),
            ]
        }
        return []
    }
}
