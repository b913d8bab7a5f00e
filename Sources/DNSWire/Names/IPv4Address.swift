// SPDX-License-Identifier: Apache-2.0

/// An IPv4 address.
package struct IPv4Address: Hashable, Sendable {
    /// The address as a number in host byte order.
    package let value: UInt32

    /// Creates an address from a number in host byte order.
    package init(value: UInt32) {
        self.value = value
    }
}

// MARK: - Making

extension IPv4Address {
    /// Creates an address of four octets; nil for any other count.
    package init?(octets: some Collection<UInt8>) {
        guard octets.count == 4 else { return nil }
        self.init(value: octets.reduce(0) { $0 << 8 | UInt32($1) })
    }

    /// Parses a dotted quad: four numbers 0...255 without leading zeros.
    ///
    /// Leading zeros are refused because some parsers read `010` as octal.
    package init?(_ text: some StringProtocol) {
        // No valid text is longer. The copy avoids unspecialised generic code for each character.
        guard text.utf8.count <= 15 else { return nil }
        self.init(text: Array(text.utf8)[...])
    }

    /// Parses the octets of a text.
    init?(text: ArraySlice<UInt8>) {
        var value: UInt32 = 0
        var number: UInt32?
        var dots = 0
        for character in text {
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard number != 0 else { return nil }
                let next = (number ?? 0) * 10 + UInt32(character - UInt8(ascii: "0"))
                guard next <= 255 else { return nil }
                number = next
            case UInt8(ascii: "."):
                guard let octet = number, dots < 3 else { return nil }
                value = value << 8 | octet
                number = nil
                dots += 1
            default:
                return nil
            }
        }
        guard let octet = number, dots == 3 else { return nil }
        self.init(value: value << 8 | octet)
    }
}

// MARK: - Reading

extension IPv4Address {
    /// The four octets in network byte order.
    package var octets: [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    /// Returns true if the first `length` bits (0...32) equal the bits of `network`.
    package func matches(_ network: UInt32, length: Int) -> Bool {
        length == 0 || (value ^ network) >> (32 - length) == 0
    }

    /// True if the address is in 0.0.0.0/8, "this host on this network" (RFC 6890 §2.2.2).
    package var isUnspecified: Bool { value >> 24 == 0 }

    /// True if the address is in 127.0.0.0/8 (RFC 1122 §3.2.1.3).
    package var isLoopback: Bool { value >> 24 == 127 }

    /// True if the address is in 224.0.0.0/4 (RFC 5771).
    package var isMulticast: Bool { value >> 28 == 0xE }

    /// True if the address is in 240.0.0.0/4, including the broadcast address (RFC 6890).
    package var isReserved: Bool { value >> 28 == 0xF }

    /// True if the address is in 169.254.0.0/16 (RFC 3927).
    package var isLinkLocal: Bool { value >> 16 == 0xA9FE }

    /// True if the address is in a network of RFC 1918 §3.
    package var isPrivate: Bool {
        value >> 24 == 10 || value >> 20 == 0xAC1 || value >> 16 == 0xC0A8
    }
}

// MARK: - Conformances

extension IPv4Address: CustomStringConvertible {
    package var description: String {
        "\(value >> 24).\(value >> 16 & 0xFF).\(value >> 8 & 0xFF).\(value & 0xFF)"
    }
}
