// SPDX-License-Identifier: Apache-2.0

/// NAT64 prefix, under which IPv6 addresses embed IPv4 addresses (RFC 6052 §2).
package struct NAT64Prefix: Hashable, Sendable {
    package let network: IPv6Address

    package let length: Int

    /// 64:ff9b::/96, which must embed only global IPv4 addresses (RFC 6052 §3.1).
    package static let wellKnown = NAT64Prefix(
        checked: IPv6Address(high: 0x0064_FF9B_0000_0000, low: 0),
        length: 96
    )

    private static let lengths = [96, 64, 56, 48, 40, 32]

    private static let reservedOctet = 8

    private init(checked network: IPv6Address, length: Int) {
        self.network = network
        self.length = length
    }

    /// Creates a prefix; nil if no NAT64 can have this prefix.
    package init?(_ prefix: IPPrefix) {
        guard case .v6(let network) = prefix.address, Self.lengths.contains(prefix.length),
            network.high != 0, !network.isLinkLocal, !network.isMulticast, network.low >> 56 == 0
        else { return nil }
        self.init(checked: network, length: prefix.length)
    }
}

// MARK: - Embedding

extension NAT64Prefix {
    private static func positions(_ length: Int) -> [Int] {
        let first = length / 8
        return Array((first...first + 4).filter { $0 != reservedOctet }.prefix(4))
    }

    package func embed(_ address: IPv4Address) -> IPv6Address {
        var octets = network.octets
        for (position, octet) in zip(Self.positions(length), address.octets) {
            octets[position] = octet
        }
        return IPv6Address(octets: octets) ?? network
    }

    /// Returns the address that DNS64 synthesizes for an A record.
    ///
    /// Returns nil for addresses that are never a valid answer. The well-known prefix also returns
    /// nil for addresses that are not global (RFC 6052 §3.1).
    package func synthesize(_ address: IPv4Address) -> IPv6Address? {
        switch IPAddress.v4(address).reach {
        case .global: embed(address)
        case .local: self == .wellKnown ? nil : embed(address)
        case .none: nil
        }
    }

    package func extract(_ address: IPv6Address) -> IPv4Address? {
        guard let inner = destination(of: address), embed(inner) == address else { return nil }
        return inner
    }

    /// True if `octets` may contain an address under this prefix that embeds a non-global address.
    package func embedsPrivateAddress(in octets: [UInt8]) -> Bool {
        let prefix = network.octets.prefix(length / 8)
        let size = 16
        return octets.indices.dropLast(size - 1).contains { start in
            guard octets[start...].starts(with: prefix),
                let address = IPv6Address(octets: Array(octets[start..<start + size])),
                let inner = destination(of: address)
            else { return false }
            return IPAddress.v4(inner).reach != .global
        }
    }

    /// Returns the embedded IPv4 address; nil outside the prefix.
    ///
    /// Ignores the suffix and the reserved octet (RFC 6052 §2.2), because translators can ignore
    /// them.
    fileprivate func destination(of address: IPv6Address) -> IPv4Address? {
        let octets = address.octets
        guard octets.prefix(length / 8) == network.octets.prefix(length / 8) else { return nil }
        return IPv4Address(octets: Self.positions(length).map { octets[$0] })
    }
}

extension IPAddress {
    /// Returns the scope of this address.
    ///
    /// Under one of `prefixes`, the scope is at most that of the embedded IPv4 address.
    package func reach(through prefixes: [NAT64Prefix]) -> AddressReach {
        guard case .v6(let address) = self else { return reach }
        return prefixes.compactMap { $0.destination(of: address) }
            .reduce(reach) { max($0, IPAddress.v4($1).reach) }
    }
}

// MARK: - Discovery

extension NAT64Prefix {
    /// Addresses of `ipv4only.arpa` (RFC 7050 §8.2).
    package static let wellKnownAddresses = [
        IPv4Address(value: 0xC000_00AA), IPv4Address(value: 0xC000_00AB),
    ]

    /// Finds the prefix in the AAAA records of `ipv4only.arpa` (RFC 7050 §3); nil for none.
    ///
    /// A wrong length can match by chance, so the result is the most frequent prefix. If several
    /// prefixes are equally frequent, the result is `current` or the first prefix.
    package init?(discoveredIn addresses: [IPv6Address], current: NAT64Prefix? = nil) {
        let candidates = addresses.flatMap(Self.candidates)
        let counts = candidates.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        guard let most = counts.values.max(),
            let first = candidates.first(where: { counts[$0] == most })
        else { return nil }
        self = current.flatMap { counts[$0] == most ? $0 : nil } ?? first
    }

    private static func candidates(_ address: IPv6Address) -> [NAT64Prefix] {
        lengths.compactMap { length in
            guard let network = IPPrefix(containing: .v6(address), length: length),
                let prefix = NAT64Prefix(network),
                let inner = prefix.extract(address), wellKnownAddresses.contains(inner)
            else { return nil }
            return prefix
        }
    }
}

// MARK: - Conformances

extension NAT64Prefix: CustomStringConvertible {
    package var description: String { "\(network)/\(length)" }
}
