// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// DNS rebinding protection: removes private addresses of public names from upstreams' answers.
///
/// A web page under such a name could access printers, routers or the machine itself.  Names of
/// routes with their own upstreams are not public: such routes are for internal names.
package struct Rebinding: Sendable, Equatable {
    /// True if the protection is enabled.
    package var protects = false

    /// Names that may have private addresses.
    package var exceptions: [RoutePattern] = []

    package init() {}

    /// True if answers for `name` are filtered.
    func guards(_ name: Name, _ match: RouteTable.Match?) -> Bool {
        guard protects else { return false }
        if let route = match?.route, route.upstreams != nil || route.allowsPrivateAnswers {
            return false
        }
        return !exceptions.contains { $0.covers(name) }
    }
}
