// SPDX-License-Identifier: Apache-2.0

/// Network prefix; IPv4-mapped addresses count as IPv4.
package struct IPPrefix: Hashable, Sendable {
    /// Has zero host bits.
    package let address: IPAddress

    package let length: Int

    package init?(containing address: IPAddress, length: Int) {
        let isMapped = address != address.unmapped && 96...128 ~= length
        let width = isMapped ? length - 96 : length
        switch isMapped ? address.unmapped : address {
        case .v4(let address):
            guard 0...32 ~= width else { return nil }
            let mask: UInt32 = ~0 << (32 - width)
            self.address = .v4(IPv4Address(value: address.value & mask))

        case .v6(let address):
            guard 0...128 ~= width else { return nil }
            let high: UInt64 = ~0 << (64 - min(width, 64))
            let low: UInt64 = ~0 << (128 - max(width, 64))
            self.address = .v6(IPv6Address(high: address.high & high, low: address.low & low))
        }
        self.length = width
    }

    /// Parses `192.0.2.0/24`, `2001:db8::/32`, or a single address; host bits must be zero.
    package init?(_ text: String) {
        let octets = Array(text.utf8)
        let slash = octets.firstIndex(of: 0x2F) ?? octets.endIndex
        guard let address = IPAddress(text: octets[..<slash]) else { return nil }
        let width = if case .v4 = address { 32 } else { 128 }
        guard slash < octets.endIndex else {
            self.init(containing: address, length: width)
            return
        }
        let digits = octets[(slash + 1)...]
        guard 1...3 ~= digits.count, digits.count == 1 || digits.first != 0x30 else { return nil }
        var length = 0
        for digit in digits {
            guard 0x30...0x39 ~= digit else { return nil }
            length = 10 * length + Int(digit - 0x30)
        }
        self.init(containing: address, length: length)
        guard self.address == address.unmapped else { return nil }
    }
}

// MARK: - Reading

extension IPPrefix {
    package func contains(_ address: IPAddress) -> Bool {
        switch address {
        case .v4(let address): contains(address)
        case .v6(let address): contains(address)
        }
    }

    package func contains(_ candidate: IPv4Address) -> Bool {
        guard case .v4(let network) = address else { return false }
        return candidate.matches(network.value, length: length)
    }

    package func contains(_ candidate: IPv6Address) -> Bool {
        if let mapped = candidate.mapped { return contains(mapped) }
        guard case .v6(let network) = address else { return false }
        let high = (candidate.high ^ network.high) >> (64 - min(length, 64))
        let low = (candidate.low ^ network.low) >> (128 - max(length, 64))
        return high == 0 && low == 0
    }
}

// MARK: - Conformances

extension IPPrefix: CustomStringConvertible {
    package var description: String { "\(address)/\(length)" }
}
