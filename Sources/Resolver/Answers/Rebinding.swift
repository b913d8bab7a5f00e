// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// DNS rebinding protection: removes private addresses of public names from upstreams' answers.
///
/// Routes with their own upstreams are exempt, because such routes are for internal names.
package struct Rebinding: Sendable, Equatable {
    package var protects = false

    package var exceptions: [DomainPattern] = []

    /// True if private addresses must be removed from answers for `name`.
    func guards(_ name: Name, _ match: RouteTable.Match?) -> Bool {
        guard protects else { return false }
        if let route = match?.route, route.upstreams != nil || route.allowsPrivateAnswers {
            return false
        }
        return !exceptions.contains { $0.covers(name) }
    }
}
