// SPDX-License-Identifier: Apache-2.0

/// IPv6 address without a zone; IPv4-mapped addresses have the properties of their IPv4 address.
package struct IPv6Address: Hashable, Sendable {
    package let high: UInt64

    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

// MARK: - Making

extension IPv6Address {
    package init?(octets: [UInt8]) {
        guard octets.count == 16 else { return nil }
        self.init(
            high: octets.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
            low: octets.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
        )
    }
}

// MARK: - Reading

extension IPv6Address {
    package var octets: [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(16)
        octets.append(bigEndian: high)
        octets.append(bigEndian: low)
        return octets
    }

    /// IPv4 address of an IPv4-mapped address, ::ffff:0:0/96 (RFC 4291 §2.5.5.2); otherwise nil.
    package var mapped: IPv4Address? {
        guard high == 0, low >> 32 == 0xFFFF else { return nil }
        return IPv4Address(value: UInt32(truncatingIfNeeded: low))
    }

    var groups: [UInt16] {
        (0..<8).map { index in
            let half = index < 4 ? high : low
            return UInt16(truncatingIfNeeded: half >> (48 - 16 * (index & 3)))
        }
    }

    /// True for `::` (RFC 4291 §2.5.2).
    package var isUnspecified: Bool { mapped?.isUnspecified ?? (high == 0 && low == 0) }

    /// True for `::1` (RFC 4291 §2.5.3).
    package var isLoopback: Bool { mapped?.isLoopback ?? (high == 0 && low == 1) }

    /// True for ff00::/8 (RFC 4291 §2.7).
    package var isMulticast: Bool { mapped?.isMulticast ?? (high >> 56 == 0xFF) }

    /// True for fe80::/10 (RFC 4291 §2.5.6).
    package var isLinkLocal: Bool { high >> 54 == 0x3FA }
}
