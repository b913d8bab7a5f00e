// SPDX-License-Identifier: Apache-2.0

/// Counters of a vendor's lookups and calls.
///
/// A lookup is a question of the daemon; a call is an HTTP request. There are fewer calls if
/// lookups share a call, and more if a server fails.
package struct VendorStats: Codable, Sendable, Equatable {
    /// Name in the settings.
    package var name: String

    /// True if forged answers are detected, by TLS or by the vendor's protocol.
    package var protected = true

    /// Lookups; each ends as one of `successes`, `empty` and `unanswered`, or is pending.
    package var lookups: UInt64 = 0

    /// Lookups with addresses.
    package var successes: UInt64 = 0

    /// Lookups with a valid reply that has no address.
    package var empty: UInt64 = 0

    /// Lookups without a reply: the next vendor or the fallback was used.
    package var unanswered: UInt64 = 0

    /// HTTP requests sent.
    package var calls: UInt64 = 0

    /// Calls that the vendor bills.
    package var billableCalls: UInt64 = 0

    /// Names in billable calls; more than the calls if names share calls.
    package var billableNames: UInt64 = 0

    /// Names in billable calls by route, in the order of the settings; sums to `billableNames`.
    package var routes: [RouteCost] = []

    /// Failed calls by kind, such as `timeout`, `connect`, `tls`, `http`, `auth` or `body`.
    ///
    /// Deprecated: the same as `failuresByKind`; in other messages `failures` is a number.
    package var failures: Counts = [:] {
        didSet { (failed, failuresByKind) = (failures.values.reduce(0, +), failures) }
    }

    /// Failed calls.
    package private(set) var failed: UInt64? = 0

    /// Failed calls by kind.
    package private(set) var failuresByKind: Counts? = [:]

    /// Addresses removed from answers, by reason: `private` (`private-answers: drop`), `unusable`.
    package var dropped: Counts? = [:]

    /// Connections opened.
    package var connectionsOpened: UInt64 = 0

    /// Calls on an open connection.
    package var connectionsReused: UInt64 = 0

    /// Calls that were not needed, by reason (`cached`, `merged`, `paired`, `batched`:
    /// httpdnsctl(1)).
    package var avoided: Counts = [:]

    /// Budget; nil if the settings have none.
    package var budget: BudgetStatus?

    /// Creates counters that are all zero.
    package init(name: String) { self.name = name }
}

/// Billable names of a route at one vendor.
package struct RouteCost: Codable, Sendable, Equatable {
    /// Place in the settings, as `file:line`.
    package var route: String

    /// First domain; empty if the route is no longer in the settings.
    package var domain: String

    /// Names in billable calls.
    package var names: UInt64

    /// Creates the cost of a route.
    package init(route: String, domain: String, names: UInt64) {
        self.route = route
        self.domain = domain
        self.names = names
    }
}
