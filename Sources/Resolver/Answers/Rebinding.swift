// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Protection against public names with private addresses.
///
/// A page of such a name talks to the printer, the router or the machine itself as if these were
/// its own server: the browser believes the name.  So an upstream's answer to a public name loses
/// the addresses that lead inside.  Which names are not public is said by routes: those that name
/// their upstreams are for networks with names of their own.
package struct Rebinding: Sendable, Equatable {
    /// Whether anything is done.
    package var protects = false

    /// Names that may have private addresses.
    package var exceptions: [RoutePattern] = []

    package init() {}

    /// Whether the answer to a question about `name` is looked at.
    func guards(_ name: Name, _ match: RouteTable.Match?) -> Bool {
        guard protects else { return false }
        if let route = match?.route, route.upstreams != nil || route.allowsPrivateAnswers {
            return false
        }
        return !exceptions.contains { $0.covers(name) }
    }
}

extension IPAddress {
    /// Whether the address leads to the client itself or into its own network.
    ///
    /// So do IPv6 addresses that carry such an IPv4 address: v4-mapped and v4-compatible ones
    /// (RFC 4291 §2.5.5) and those that a NAT64 translates (RFC 6052 §2.1).
    var leadsInside: Bool {
        isUnspecified || isLoopback || isLinkLocal || isPrivate || carried?.leadsInside ?? false
    }

    /// The IPv4 address that an IPv6 address carries in its last 32 bits, if it is of such a form.
    private var carried: IPAddress? {
        guard case .v6(let address) = self else { return nil }
        let isCompatible = address.high == 0 && address.low >> 32 == 0
        let isTranslated = address.high == 0x0064_FF9B_0000_0000 && address.low >> 32 == 0
        guard isCompatible || isTranslated else { return nil }
        return .v4(IPv4Address(value: UInt32(truncatingIfNeeded: address.low)))
    }
}
