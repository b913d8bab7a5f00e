// SPDX-License-Identifier: Apache-2.0

/// Counters of a vendor.
///
/// A lookup is a request of the daemon for the addresses of a name; a call is an HTTP request.
package struct VendorStats: Codable, Sendable, Equatable {
    package var name: String

    package var protected = true

    package var lookups: UInt64 = 0

    package var successes: UInt64 = 0
    package var empty: UInt64 = 0
    package var unanswered: UInt64 = 0
    package var calls: UInt64 = 0
    package var billableCalls: UInt64 = 0

    package var billableNames: UInt64 = 0

    package var routes: [RouteCost] = []

    /// Deprecated; use `failuresByKind`.
    package var failures: Counts = [:] {
        didSet { (failed, failuresByKind) = (failures.values.reduce(0, +), failures) }
    }

    package private(set) var failed: UInt64? = 0

    /// Failures by kind: `timeout`, `connect`, `tls`, `http`, `auth`, `body` and others.
    package private(set) var failuresByKind: Counts? = [:]

    package var dropped: Counts? = [:]

    package var connectionsOpened: UInt64 = 0
    package var connectionsReused: UInt64 = 0

    package var avoided: Counts = [:]

    package var budget: BudgetStatus?
    package var units: BilledUnits?
    package var cost: BilledCost?
    package var clientAddress: String?
    package init(name: String) { self.name = name }
}

/// Billable names of a route.
package struct RouteCost: Codable, Sendable, Equatable {
    package var route: String
    package var domain: String
    package var names: UInt64
    package var units: UInt64?

    package init(route: String, domain: String, names: UInt64, units: UInt64? = nil) {
        self.route = route
        self.domain = domain
        self.names = names
        self.units = units
    }
}
