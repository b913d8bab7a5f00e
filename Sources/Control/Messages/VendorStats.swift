// SPDX-License-Identifier: Apache-2.0

/// What was asked of a vendor, and what it cost.
///
/// Look-ups are what the daemon wants to know, calls are what it sends for them: fewer, as look-ups
/// share calls, and more, as servers fail.
package struct VendorStats: Codable, Sendable, Equatable {
    /// Its name in the settings.
    package var name: String

    /// Whether a forged answer is detected, by TLS or by the vendor's protocol.
    package var protected = true

    /// Look-ups: each ends as one of `successes`, `empty` and `unanswered`, or waits still.
    package var lookups: UInt64 = 0

    /// Look-ups that brought addresses.
    package var successes: UInt64 = 0

    /// Look-ups that were answered properly, without an address.
    package var empty: UInt64 = 0

    /// Look-ups that brought nothing, so that the next vendor or the fallback was asked.
    package var unanswered: UInt64 = 0

    /// HTTP requests sent.
    package var calls: UInt64 = 0

    /// Those of the calls that the vendor bills.
    package var billableCalls: UInt64 = 0

    /// The names in the billable calls; more than those when names share calls.
    package var billableNames: UInt64 = 0

    /// The names in the billable calls by the routes that sent them, in the order of the settings;
    /// sums to `billableNames`.
    package var routes: [RouteCost] = []

    /// Calls that failed, by kind, such as `timeout`, `connect`, `tls`, `http`, `auth` or `body`.
    ///
    /// The same as `failuresByKind`; `failures` is a number in other messages, and goes.
    package var failures: Counts = [:] {
        didSet { (failed, failuresByKind) = (failures.values.reduce(0, +), failures) }
    }

    /// Calls that failed.
    package private(set) var failed: UInt64? = 0

    /// The same by kind.
    package private(set) var failuresByKind: Counts? = [:]

    /// Addresses left out of answers, by reason: `private` (`private-answers: drop`), `unusable`.
    package var dropped: Counts? = [:]

    /// Connections opened.
    package var connectionsOpened: UInt64 = 0

    /// Calls made on a connection that was open already.
    package var connectionsReused: UInt64 = 0

    /// Calls that were not needed, by reason.
    ///
    /// `cached`: the cache had the answer, this vendor's or the one that was found when it had none.
    /// `merged`: the same was being asked.  `paired`: the other family was, or had just been found
    /// empty.  `batched`: another name's call had room.
    package var avoided: Counts = [:]

    /// What may be spent; nil if nobody set a limit.
    package var budget: BudgetStatus?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case name, protected, lookups, successes, empty, unanswered, calls
        case billableCalls = "billable-calls"
        case billableNames = "billable-names"
        case routes, failures, failed, dropped
        case failuresByKind = "failures-by-kind"
        case connectionsOpened = "connections-opened"
        case connectionsReused = "connections-reused"
        case avoided, budget
    }

    /// Makes counters that are all zero.
    package init(name: String) { self.name = name }
}

/// What a route has cost with one vendor.
package struct RouteCost: Codable, Sendable, Equatable {
    /// Its place in the settings, as `file:line`.
    package var route: String

    /// The first of its domains; empty if the settings have it no more.
    package var domain: String

    /// Names in billable calls.
    package var names: UInt64

    /// Makes the cost of a route.
    package init(route: String, domain: String, names: UInt64) {
        self.route = route
        self.domain = domain
        self.names = names
    }
}
