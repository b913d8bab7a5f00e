// SPDX-License-Identifier: Apache-2.0
package import DNSWire

package struct VendorQuery: Sendable, Hashable {
    /// Without duplicates.
    package var names: [Name]

    package var families: Families

    /// The vendor selects answers for this address instead of the source address.
    package var clientSubnet: IPAddress?

    /// Nil for the vendor's settings.
    package let parameters: RouteParameters?

    /// - Parameter clientSubnet: used if `parameters` has none.
    package init(
        names: [Name],
        families: Families,
        clientSubnet: IPAddress? = nil,
        parameters: RouteParameters? = nil
    ) {
        self.names = names
        self.families = families
        self.clientSubnet = parameters?.clientSubnet ?? clientSubnet
        self.parameters = parameters
    }
}

package struct VendorAnswer: Sendable, Hashable {
    package var name: Name

    /// Nil if the call did not request the family, or the reply has no readable address.
    package var v4: AddressSet?

    package var v6: AddressSet?

    /// NXDOMAIN or NODATA; nil if the vendor reports neither.
    package var denial: Denial?

    /// Client address for which the vendor chose the addresses; nil if not in the reply.
    package var client: IPAddress?

    package init(
        name: Name,
        v4: AddressSet? = nil,
        v6: AddressSet? = nil,
        denial: Denial? = nil,
        client: IPAddress? = nil
    ) {
        self.name = name
        self.v4 = v4
        self.v6 = v6
        self.denial = denial
        self.client = client
    }

    package var isEmpty: Bool {
        (v4?.addresses.isEmpty ?? true) && (v6?.addresses.isEmpty ?? true)
    }

    package var dropped: Int { (v4?.dropped ?? 0) + (v6?.dropped ?? 0) }
}

/// Addresses of one family, in the vendor's order.
package struct AddressSet: Sendable, Hashable {
    package var addresses: [IPAddress]

    /// In seconds, 0…2³¹-1 (RFC 2181 §8); meaningless without addresses.
    package var ttl: UInt32

    /// Removed addresses: invalid, unusable, of the other family, or above the limit.
    package var dropped = 0

    package var reason: VendorCode?

    package static let none = AddressSet(addresses: [], ttl: VendorLimits.defaultTTL)
}

extension AddressSet {
    /// Creates a set from addresses of another host of the fleet, checked like a vendor's reply.
    package init(checking found: [IPAddress], ttl: UInt32) {
        self.init(addresses: [], ttl: min(ttl, VendorLimits.maximumTTL))
        keep(found)
    }
}

// MARK: - Text

extension VendorAnswer: CustomStringConvertible {
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
            + (client.map { ", for client \($0)" } ?? "")
    }
}
