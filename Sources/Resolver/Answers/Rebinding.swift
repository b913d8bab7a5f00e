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
