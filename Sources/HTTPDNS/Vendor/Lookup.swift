// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// What is asked of a vendor: addresses of some names.
package struct Lookup: Sendable, Hashable {
    /// The names, each of them once; only host names leave the machine.
    package var names: [Name]

    /// The families wanted.
    package var families: Families

    /// The address the vendor shall answer for, instead of the one it sees us at.
    package var clientSubnet: IPAddress?

    package init(names: [Name], families: Families, clientSubnet: IPAddress? = nil) {
        self.names = names
        self.families = families
        self.clientSubnet = clientSubnet
    }
}

/// Address families: A, AAAA, or both.
package enum Families: Sendable, Hashable {
    case v4
    case v6
    case both

    /// Whether IPv4 is wanted.
    package var includesV4: Bool { self != .v6 }

    /// Whether IPv6 is wanted.
    package var includesV6: Bool { self != .v4 }
}

/// What a vendor said about one name.
package struct VendorAnswer: Sendable, Hashable {
    /// The name, as it was asked.
    package var name: Name

    /// IPv4 addresses; nil if they were not asked, or the reply is silent or garbled about them.
    package var v4: AddressSet?

    /// IPv6 addresses; nil if they were not asked, or the reply is silent or garbled about them.
    package var v6: AddressSet?

    /// What an empty answer means, where the vendor is a resolver that can tell; else nil.
    package var denial: Denial?

    package init(
        name: Name,
        v4: AddressSet? = nil,
        v6: AddressSet? = nil,
        denial: Denial? = nil
    ) {
        self.name = name
        self.v4 = v4
        self.v6 = v6
        self.denial = denial
    }

    /// Whether the vendor knows that there is no such name.
    package var isNXDomain: Bool { denial?.kind == .nxDomain }

    /// Whether no family has an address, so that nothing is known about the name.
    package var isEmpty: Bool {
        (v4?.addresses.isEmpty ?? true) && (v6?.addresses.isEmpty ?? true)
    }

    /// How many addresses of both families were left out.
    package var dropped: Int { (v4?.dropped ?? 0) + (v6?.dropped ?? 0) }
}

/// What a resolver knows about an answer without addresses (RFC 2308 §2).
package struct Denial: Sendable, Hashable {
    /// What is not there.
    package enum Kind: Sendable, Hashable {
        /// The name itself, or the end of its chain of aliases (RFC 6604 §3).
        case nxDomain

        /// Addresses of the family that was asked.
        case noData
    }

    /// What is not there.
    package var kind: Kind

    /// Seconds to believe it (RFC 2308 §5); nil if the reply has no SOA record.
    package var ttl: UInt32?

    package init(_ kind: Kind, ttl: UInt32? = nil) {
        self.kind = kind
        self.ttl = ttl
    }
}

/// The addresses of one family, in the vendor's order.
package struct AddressSet: Sendable, Hashable {
    /// Usable addresses; none means that the vendor has none.
    package var addresses: [IPAddress]

    /// Seconds to keep them, 0…2³¹-1 (RFC 2181 §8); of no meaning if there is no address.
    package var ttl: UInt32

    /// How many were left out: no addresses, of the other family, unusable, or too many.
    package var dropped: Int

    /// The vendor's word for why there is none, as `RRNotExist`.
    package var reason: VendorCode?

    package init(
        addresses: [IPAddress],
        ttl: UInt32,
        dropped: Int = 0,
        reason: VendorCode? = nil
    ) {
        self.addresses = addresses
        self.ttl = ttl
        self.dropped = dropped
        self.reason = reason
    }

    /// The vendor's "none".
    package static let none = AddressSet(addresses: [], ttl: VendorLimits.defaultTTL)
}

// MARK: - Text

extension VendorAnswer: CustomStringConvertible {
    /// As `www.example.com. A 192.0.2.1 192.0.2.2 (60 s), AAAA none`.
    package var description: String {
        let families = [("A", v4), ("AAAA", v6)].compactMap { type, set in
            set.map { set in
                guard !set.addresses.isEmpty else { return "\(type) none" }
                let addresses = set.addresses.map(\.description).joined(separator: " ")
                return "\(type) \(addresses) (\(set.ttl) s)"
            }
        }
        let words = families + (denial.map { ["\($0.kind)".lowercased()] } ?? [])
        return "\(name) " + (words.isEmpty ? "nothing" : words.joined(separator: ", "))
    }
}
