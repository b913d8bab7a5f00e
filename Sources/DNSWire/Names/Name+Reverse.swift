// SPDX-License-Identifier: Apache-2.0

// MARK: - Making

extension Name {
    /// Creates the owner name of the PTR records for `address` (RFC 1035 §3.5, RFC 3596 §2.5).
    package init(reverseOf address: IPAddress) {
        var wire: [UInt8] = []
        switch address.unmapped {
        case .v4(let address):
            for octet in address.octets.reversed() {
                let digits = String(octet).utf8
                wire.append(UInt8(digits.count))
                wire.append(contentsOf: digits)
            }
            wire.append(contentsOf: "\u{7}in-addr\u{4}arpa\u{0}".utf8)
        case .v6(let address):
            let digits = Array("0123456789abcdef".utf8)
            for octet in address.octets.reversed() {
                wire += [1, digits[Int(octet & 0xF)], 1, digits[Int(octet >> 4)]]
            }
            wire.append(contentsOf: "\u{3}ip6\u{4}arpa\u{0}".utf8)
        }
        self.init(checked: wire)
    }
}

// MARK: - Reading

extension Name {
    package var reversedAddress: IPAddress? {
        if let address = reversedIPv6 { return .v6(address) }
        // A fast check for `arpa`.
        guard octets.count > 6, octets[octets.count - 6] == 4,
            octets[octets.count - 2].folded == 0x61
        else { return nil }
        let labels = labels.map { String(decoding: $0, as: UTF8.self) }
        guard labels.count == 6, labels[5].lowercased() == "arpa",
            let address = IPAddress(labels[..<4].reversed().joined(separator: ".")),
            Name(reverseOf: address) == self
        else { return nil }
        return address
    }

    package var reversedIPv6: IPv6Address? {
        let digits = 32
        guard octets.count == 2 * digits + 10,
            octets[(2 * digits)...].elementsEqual(
                "\u{3}ip6\u{4}arpa\u{0}".utf8,
                by: { $0.folded == $1 }
            )
        else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for index in 0..<digits {
            guard octets[2 * index] == 1, let digit = octets[2 * index + 1].hexadecimalDigit
            else { return nil }
            let shift = UInt64(4 * (index % 16))
            if index < 16 { low |= UInt64(digit) << shift } else { high |= UInt64(digit) << shift }
        }
        return IPv6Address(high: high, low: low)
    }
}
