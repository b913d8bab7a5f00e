// SPDX-License-Identifier: Apache-2.0
package import Net

/// A block of IP addresses, as `127.0.0.0/8`.
package struct AddressPrefix: Sendable, Hashable {
    /// The first address of the block: 4 or 16 octets, zero beyond the prefix.
    package let octets: [UInt8]

    /// The number of leading bits that all addresses of the block share.
    package let length: Int

    /// Whether `address` lies in the block; its port does not matter.
    ///
    /// An IPv4 address in IPv6 form (RFC 4291 §2.5.5.2) counts as the IPv4 address.
    package func contains(_ address: SocketAddress) -> Bool {
        let candidate = Self.unmapped(address.octets)
        guard candidate.count == octets.count else { return false }
        return Self.masked(candidate, to: length) == octets
    }

    /// Whether the block holds every address of its family.
    package var isEverything: Bool { length == 0 }
}

// MARK: - Text

extension AddressPrefix: CustomStringConvertible {
    /// Reads `192.0.2.0/24`, or an address alone, which is a block of one.
    ///
    /// Bits beyond the prefix are cleared.
    ///
    /// - Returns: nil if it is no IP literal or the length is out of 0…32 or 0…128.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first,
            let address = SocketAddress(String(first), defaultPort: 0), address.scope == 0,
            address.isIPv6 ? !first.contains("[") : !first.contains(":")
        else { return nil }
        let octets = address.octets
        var length = octets.count * 8
        if parts.count == 2 {
            guard let digits = Int(parts[1]), (0...length).contains(digits),
                parts[1].allSatisfy(\.isWholeNumber)
            else { return nil }
            length = digits
        }
        self.octets = Self.masked(octets, to: length)
        self.length = length
    }

    /// The block in the form that `init(_:)` reads.
    package var description: String {
        let host = SocketAddress(octets: octets, port: 0)?.host ?? ""
        return "\(host)/\(length)"
    }
}

// MARK: - Bits

extension AddressPrefix {
    /// The octets with every bit beyond `length` cleared.
    private static func masked(_ octets: [UInt8], to length: Int) -> [UInt8] {
        octets.enumerated().map { index, octet in
            let kept = min(max(length - index * 8, 0), 8)
            return octet & ~UInt8(truncatingIfNeeded: 0xFF >> kept)
        }
    }

    /// The IPv4 octets of a v4-mapped address, else the octets themselves.
    private static func unmapped(_ octets: [UInt8]) -> [UInt8] {
        guard octets.count == 16, octets[..<10].allSatisfy({ $0 == 0 }),
            octets[10] == 0xFF, octets[11] == 0xFF
        else { return octets }
        return [UInt8](octets[12...])
    }
}
