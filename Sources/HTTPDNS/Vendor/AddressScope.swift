// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// Part of the network in which an address identifies one server (RFC 6890 §2.2).
enum AddressScope: Sendable, Hashable {
    case loopback

    /// Network of a site or an access provider (RFC 1918, RFC 6598, RFC 4193).
    case site

    /// Addresses for documentation (RFC 5737, 2001:db8::/32).
    case documentation

    case global

    /// Nil for a special-purpose address without a case here.
    init?(_ address: IPAddress) {
        if address.isLoopback {
            self = .loopback
            return
        }
        let octets = address.unmapped.octets
        let special = octets.count == 4 ? Self.specialV4 : Self.specialV6
        guard let found = special.first(where: { octets.starts(with: $0.network, bits: $0.bits) })
        else {
            // 2000::/3 is the only global unicast range of IPv6 (RFC 4291 §2.4).
            guard octets.count == 4 || octets[0] >> 5 == 1 else { return nil }
            self = .global
            return
        }
        guard let scope = found.scope else { return nil }
        self = scope
    }

    private static let specialV4: [(network: [UInt8], bits: Int, scope: AddressScope?)] = [
        ([10], 8, .site),
        ([100, 64], 10, .site),
        ([172, 16], 12, .site),
        ([192, 168], 16, .site),
        ([192, 0, 2], 24, .documentation),
        ([198, 51, 100], 24, .documentation),
        ([203, 0, 113], 24, .documentation),
        ([192, 0, 0], 24, nil),
        ([192, 88, 99], 24, nil),
        ([198, 18], 15, nil),
        ([0], 8, nil),
        ([169, 254], 16, nil),
        ([224], 3, nil),
    ]

    private static let specialV6: [(network: [UInt8], bits: Int, scope: AddressScope?)] = [
        ([0xFC], 7, .site),
        ([0x20, 0x01, 0x0D, 0xB8], 32, .documentation),
        ([0x20, 0x01, 0x00], 23, nil),
        ([0x20, 0x02], 16, nil),
    ]
}

extension [UInt8] {
    fileprivate func starts(with network: [UInt8], bits: Int) -> Bool {
        let whole = bits / 8
        guard count > whole, prefix(whole).elementsEqual(network.prefix(whole)) else {
            return false
        }
        let rest = bits % 8
        return rest == 0 || self[whole] >> (8 - rest) == network[whole] >> (8 - rest)
    }
}
