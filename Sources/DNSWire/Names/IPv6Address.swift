// SPDX-License-Identifier: Apache-2.0

/// An IPv6 address, held as two numbers.
///
/// Zones (`%eth0`) are not part of it.
package struct IPv6Address: Hashable, Sendable {
    /// The first eight octets, the first one most significant.
    package let high: UInt64

    /// The last eight octets, the last one least significant.
    package let low: UInt64

    /// Makes an address of its two halves.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

// MARK: - Making

extension IPv6Address {
    /// Makes an address of sixteen octets; nil for any other count.
    package init?(octets: some Collection<UInt8>) {
        guard octets.count == 16 else { return nil }
        self.init(
            high: octets.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
            low: octets.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
        )
    }

    /// The form in which a dual-stack socket shows an IPv4 peer (RFC 4291 §2.5.5.2).
    package init(mapping address: IPv4Address) {
        self.init(high: 0, low: 0xFFFF << 32 | UInt64(address.value))
    }
}

// MARK: - Reading

extension IPv6Address {
    /// The sixteen octets in network order.
    package var octets: [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(16)
        octets.append(bigEndian: high)
        octets.append(bigEndian: low)
        return octets
    }

    /// The IPv4 address in a v4-mapped one, ::ffff:0:0/96 (RFC 4291 §2.5.5.2).
    package var mapped: IPv4Address? {
        guard high == 0, low >> 32 == 0xFFFF else { return nil }
        return IPv4Address(value: UInt32(truncatingIfNeeded: low))
    }

    /// The eight groups of sixteen bits, from the left.
    var groups: [UInt16] {
        (0..<8).map { index in
            let half = index < 4 ? high : low
            return UInt16(truncatingIfNeeded: half >> (48 - 16 * (index & 3)))
        }
    }

    /// Whether this is ::, or v4-mapped of an unspecified address (RFC 4291 §2.5.2).
    package var isUnspecified: Bool {
        mapped?.isUnspecified ?? (high == 0 && low == 0)
    }

    /// Whether this is ::1, or v4-mapped of a loopback address (RFC 4291 §2.5.3).
    package var isLoopback: Bool {
        mapped?.isLoopback ?? (high == 0 && low == 1)
    }

    /// Whether this is in ff00::/8, or v4-mapped of a multicast address (RFC 4291 §2.7).
    package var isMulticast: Bool {
        mapped?.isMulticast ?? (high >> 56 == 0xFF)
    }

    /// Whether this is v4-mapped of a reserved address.
    package var isReserved: Bool {
        mapped?.isReserved ?? false
    }

    /// Whether this is in fe80::/10, or v4-mapped of a link-local address (RFC 4291 §2.5.6).
    package var isLinkLocal: Bool {
        mapped?.isLinkLocal ?? (high >> 54 == 0x3FA)
    }

    /// Whether this is a unique local address, fc00::/7 (RFC 4193), or v4-mapped of a private one.
    package var isPrivate: Bool {
        mapped?.isPrivate ?? (high >> 57 == 0x7E)
    }
}
