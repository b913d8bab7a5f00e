// SPDX-License-Identifier: Apache-2.0

/// An IPv6 address without a zone.
package struct IPv6Address: Hashable, Sendable {
    /// The first eight octets as a number in host byte order.
    package let high: UInt64

    /// The last eight octets as a number in host byte order.
    package let low: UInt64

    /// Creates an address from its halves.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

// MARK: - Making

extension IPv6Address {
    /// Creates an address of sixteen octets; nil for any other count.
    package init?(octets: some Collection<UInt8>) {
        guard octets.count == 16 else { return nil }
        self.init(
            high: octets.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
            low: octets.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
        )
    }
}

// MARK: - Reading

extension IPv6Address {
    /// The sixteen octets in network byte order.
    package var octets: [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(16)
        octets.append(bigEndian: high)
        octets.append(bigEndian: low)
        return octets
    }

    /// The IPv4 address in an IPv4-mapped address, ::ffff:0:0/96 (RFC 4291 §2.5.5.2); nil
    /// otherwise.
    package var mapped: IPv4Address? {
        guard high == 0, low >> 32 == 0xFFFF else { return nil }
        return IPv4Address(value: UInt32(truncatingIfNeeded: low))
    }

    /// The eight 16-bit groups, from the left.
    var groups: [UInt16] {
        (0..<8).map { index in
            let half = index < 4 ? high : low
            return UInt16(truncatingIfNeeded: half >> (48 - 16 * (index & 3)))
        }
    }

    /// True if the address is `::` or the mapped IPv4 address is unspecified (RFC 4291 §2.5.2).
    package var isUnspecified: Bool {
        mapped?.isUnspecified ?? (high == 0 && low == 0)
    }

    /// True if the address is `::1` or the mapped IPv4 address is loopback (RFC 4291 §2.5.3).
    package var isLoopback: Bool {
        mapped?.isLoopback ?? (high == 0 && low == 1)
    }

    /// True if the address is in ff00::/8 or the mapped IPv4 address is multicast (RFC 4291 §2.7).
    package var isMulticast: Bool {
        mapped?.isMulticast ?? (high >> 56 == 0xFF)
    }

    /// True if the mapped IPv4 address is reserved.
    package var isReserved: Bool {
        mapped?.isReserved ?? false
    }

    /// True if the address is in fe80::/10 or the mapped IPv4 address is link-local (RFC 4291
    /// §2.5.6).
    package var isLinkLocal: Bool {
        mapped?.isLinkLocal ?? (high >> 54 == 0x3FA)
    }

    /// True if the address is in fc00::/7 (RFC 4193) or the mapped IPv4 address is private.
    package var isPrivate: Bool {
        mapped?.isPrivate ?? (high >> 57 == 0x7E)
    }
}
