// SPDX-License-Identifier: Apache-2.0

/// Reach of an address: from where a server with it can be reached (RFC 6890).
package enum AddressReach: Int, Sendable, Comparable {
    /// From anywhere; also the networks for documentation, which harm nothing.
    case global

    /// From within one network, which the client may be in.
    case local

    /// From the client itself, from its link, or not at all: no answer needs such an address.
    case none

    package static func < (left: AddressReach, right: AddressReach) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension IPAddress {
    /// Reach of the address, by the IANA registries of special-purpose addresses (RFC 6890).
    ///
    /// An IPv6 address that carries IPv4 addresses reaches no farther than these.
    package var reach: AddressReach {
        switch self {
        case .v4(let address): address.reach
        case .v6(let address): address.reach
        }
    }
}

extension IPv4Address {
    /// See `IPAddress.reach`.
    fileprivate var reach: AddressReach {
        Self.special.first { matches($0.network, length: $0.length) }?.reach ?? .global
    }

    /// Special networks; the first that contains an address counts.
    private static let special: [(network: UInt32, length: Int, reach: AddressReach)] = [
        // "This network" (RFC 791 §3.2).
        (0x0000_0000, 8, .none),
        // Private use (RFC 1918).
        (0x0A00_0000, 8, .local),
        // Shared with a provider's NAT (RFC 6598); clouds have their metadata service there.
        (0x6440_0000, 10, .local),
        // Loopback (RFC 1122 §3.2.1.3).
        (0x7F00_0000, 8, .none),
        // Link-local (RFC 3927).
        (0xA9FE_0000, 16, .none),
        // Private use (RFC 1918).
        (0xAC10_0000, 12, .local),
        // Anycast of PCP and TURN (RFC 7723, RFC 8155), and the answer of `ipv4only.arpa` (RFC 7050).
        (0xC000_0009, 32, .global),
        (0xC000_000A, 32, .global),
        (0xC000_00AA, 31, .global),
        // IETF protocol assignments (RFC 6890 §2.1).
        (0xC000_0000, 24, .local),
        // Private use (RFC 1918).
        (0xC0A8_0000, 16, .local),
        // Benchmarks (RFC 2544).
        (0xC612_0000, 15, .local),
        // Multicast (RFC 5771), reserved (RFC 1112 §4) and broadcast.
        (0xE000_0000, 3, .none),
    ]
}

extension IPv6Address {
    /// See `IPAddress.reach`.
    fileprivate var reach: AddressReach {
        let own = Self.special.first { (high ^ $0.network) >> (64 - $0.length) == 0 }?.reach
        return max(own ?? .global, loopbackReach, carried.map(\.reach).max() ?? .global)
    }

    /// Reach of `::` and `::1`, which are shorter than the networks in the table.
    private var loopbackReach: AddressReach { high == 0 && low <= 1 ? .none : .global }

    /// Special networks of at most 64 bits, by the upper half of the address.
    private static let special: [(network: UInt64, length: UInt64, reach: AddressReach)] = [
        // Translated by a NAT64 of the own network (RFC 8215).
        (0x0064_FF9B_0001_0000, 48, .local),
        // Discarded (RFC 6666), and a dummy prefix (RFC 9780).
        (0x0100_0000_0000_0000, 63, .none),
        // Benchmarks (RFC 5180).
        (0x2001_0002_0000_0000, 48, .local),
        // Segment routing (RFC 9602).
        (0x5F00_0000_0000_0000, 16, .local),
        // Unique local (RFC 4193), and site-local, which is deprecated (RFC 3879).
        (0xFC00_0000_0000_0000, 7, .local),
        (0xFEC0_0000_0000_0000, 10, .local),
        // Link-local (RFC 4291 §2.5.6) and multicast (RFC 4291 §2.7).
        (0xFE80_0000_0000_0000, 10, .none),
        (0xFF00_0000_0000_0000, 8, .none),
    ]

    /// The IPv4 addresses that packets to this address are sent to after translation or in a tunnel.
    private var carried: [IPv4Address] {
        let last = UInt32(truncatingIfNeeded: low)
        // v4-mapped and v4-compatible (RFC 4291 §2.5.5); translated by NAT64 (RFC 6052 §2.1).
        if high == 0, low >> 32 == 0xFFFF || low >> 32 == 0 { return [IPv4Address(value: last)] }
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 { return [IPv4Address(value: last)] }
        // 6to4 (RFC 3056 §2).
        if high >> 48 == 0x2002 {
            return [IPv4Address(value: UInt32(truncatingIfNeeded: high >> 16))]
        }
        // Teredo: the server, and the client with its bits inverted (RFC 4380 §4).
        if high >> 32 == 0x2001_0000 {
            return [
                IPv4Address(value: UInt32(truncatingIfNeeded: high)), IPv4Address(value: ~last),
            ]
        }
        return []
    }
}
