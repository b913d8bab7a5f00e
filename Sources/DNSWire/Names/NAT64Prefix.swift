// SPDX-License-Identifier: Apache-2.0

/// NAT64 prefix, under which IPv6 addresses embed IPv4 addresses (RFC 6052 §2).
package struct NAT64Prefix: Hashable, Sendable {
    package let network: IPv6Address

    /// 32, 40, 48, 56, 64 or 96 bits.
    package let length: Int

    /// 64:ff9b::/96.
    ///
    /// Addresses under this prefix must embed only global IPv4 addresses (RFC 6052 §3.1).
    package static let wellKnown = NAT64Prefix(
        checked: IPv6Address(high: 0x0064_FF9B_0000_0000, low: 0),
        length: 96
    )

    /// Lengths of RFC 6052 §2.2, in the order in which discovery tries the lengths.
    private static let lengths = [96, 64, 56, 48, 40, 32]

    /// Index of the octet that is zero in every address: bits 64 to 71 (RFC 6052 §2.2).
    private static let reservedOctet = 8

    private init(checked network: IPv6Address, length: Int) {
        self.network = network
        self.length = length
    }

    /// Creates a prefix; nil if no NAT64 can have this prefix.
    ///
    /// For example, loopback and link-local prefixes are rejected. With DNS64 answers in these
    /// prefixes, a client would connect to itself or to a host in its subnet.
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
    /// Returns nil for addresses that are never a valid answer, such as loopback. With the
    /// well-known prefix, returns nil for all addresses that are not global (RFC 6052 §3.1).
    package func synthesize(_ address: IPv4Address) -> IPv6Address? {
        switch IPAddress.v4(address).reach {
        case .global: embed(address)
        case .local: self == .wellKnown ? nil : embed(address)
        case .none: nil
        }
    }

    /// Returns the IPv4 address that ``embed(_:)`` put into `address`; nil for other addresses.
    package func extract(_ address: IPv6Address) -> IPv4Address? {
        guard let inner = destination(of: address), embed(inner) == address else { return nil }
        return inner
    }

    /// Returns true if `octets` contain an address that embeds a non-global IPv4 address.
    ///
    /// The address must begin with this prefix. The search does not decode records; therefore,
    /// other data can also match.
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

    /// Returns the IPv4 address to which a NAT64 translates `address`.
    ///
    /// Returns nil for an address outside the prefix. The function ignores the suffix and the
    /// reserved octet, because translators can ignore them (RFC 6052 §2.2).
    fileprivate func destination(of address: IPv6Address) -> IPv4Address? {
        let octets = address.octets
        guard octets.prefix(length / 8) == network.octets.prefix(length / 8) else { return nil }
        return IPv4Address(octets: Self.positions(length).map { octets[$0] })
    }
}

extension IPAddress {
    /// Returns the scope of this address.
    ///
    /// If the address is under one of `prefixes`, the embedded IPv4 address can reduce the scope.
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
    /// Each prefix length has its own position of the IPv4 address. By chance, the position of a
    /// wrong length can also contain a well-known address. Therefore, the result is the prefix that
    /// occurs most often. If several prefixes occur equally often, the result is `current` if
    /// `current` is one of these prefixes, otherwise the first of these prefixes.
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
