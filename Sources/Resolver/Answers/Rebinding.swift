// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// DNS rebinding protection: removes private addresses of public names from upstreams' answers.
///
/// Such an address would let a web page access printers, routers or this machine. A route with its
/// own upstreams is for internal names, so its answers are not changed.
package struct Rebinding: Sendable, Equatable {
    package var protects = false

    /// Patterns of names that may have private addresses.
    package var exceptions: [RoutePattern] = []

    package init() {}

    /// True if private addresses must be removed from answers for `name`.
    func guards(_ name: Name, _ match: RouteTable.Match?) -> Bool {
        guard protects else { return false }
        if let route = match?.route, route.upstreams != nil || route.allowsPrivateAnswers {
            return false
        }
        return !exceptions.contains { $0.covers(name) }
    }
}
