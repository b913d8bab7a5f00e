// SPDX-License-Identifier: Apache-2.0

package struct IPv4Address: Hashable, Sendable {
    /// Address in host byte order.
    package let value: UInt32

    package init(value: UInt32) { self.value = value }
}

// MARK: - Making

extension IPv4Address {
    package init?(octets: [UInt8]) {
        guard octets.count == 4 else { return nil }
        self.init(value: octets.reduce(0) { $0 << 8 | UInt32($1) })
    }

    /// Parses four decimal numbers without leading zeros, because some parsers read `010` as octal.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 15 else { return nil }
        self.init(text: Array(text.utf8)[...])
    }

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
            default: return nil
            }
        }
        guard let octet = number, dots == 3 else { return nil }
        self.init(value: value << 8 | octet)
    }
}

// MARK: - Reading

extension IPv4Address {
    package var octets: [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    /// True if the first `length` bits (0...32) are those of `network`.
    package func matches(_ network: UInt32, length: Int) -> Bool {
        length == 0 || (value ^ network) >> (32 - length) == 0
    }

    /// True for 0.0.0.0/8 (RFC 6890 §2.2.2).
    package var isUnspecified: Bool { value >> 24 == 0 }

    /// True for 127.0.0.0/8 (RFC 1122 §3.2.1.3).
    package var isLoopback: Bool { value >> 24 == 127 }

    /// True for 224.0.0.0/4 (RFC 5771).
    package var isMulticast: Bool { value >> 28 == 0xE }
}

// MARK: - Conformances

extension IPv4Address: CustomStringConvertible {
    package var description: String {
        "\(value >> 24).\(value >> 16 & 0xFF).\(value >> 8 & 0xFF).\(value & 0xFF)"
    }
}
