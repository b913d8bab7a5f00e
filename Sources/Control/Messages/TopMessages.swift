// SPDX-License-Identifier: Apache-2.0

/// The arguments of `Top`: which list, and how much of it.
package struct TopRequest: CallParameters, Equatable {
    /// What the list is ordered by, one of `Kind`.
    package var kind: String

    /// How many entries at most; 10 if nil.
    package var count: Int?

    /// What lists can be ordered by.
    package enum Kind: String, CaseIterable, Sendable {
        /// Names by queries.
        case names

        /// Names by queries that the cache could not answer.
        case misses

        /// The queries that took longest.
        case slow

        /// Names by queries that upstreams answered in a vendor's place.
        case fallback

        /// Clients by queries.
        case clients

        /// Names by billable calls.
        case cost
    }

    /// Makes the request.
    package init(kind: String, count: Int? = nil) {
        self.kind = kind
        self.count = count
    }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable { case kind, count }

    /// What the arguments mean.
    ///
    /// - Throws: `invalidArgument` for a kind there is not, and a count out of range.
    package func selection() throws(MethodError) -> (kind: Kind, count: Int) {
        guard let kind = Kind(rawValue: kind) else {
            let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidArgument(
                argument: "kind",
                reason: "there is no such list; there is: \(kinds)"
            )
        }
        let count = count ?? ControlLimits.topEntriesDefault
        guard ControlLimits.topEntries.contains(count) else {
            let range = ControlLimits.topEntries
            throw .invalidArgument(
                argument: "count",
                reason: "must be \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return (kind, count)
    }
}

/// The reply to `Top`.
///
/// Its entries are `NameCost` for the kind `cost`, `QueryEvent` for `slow`, and `QueryCount` for the
/// others.
package struct TopReply<Entry: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
    /// What it is ordered by.
    package var kind: String

    /// How far back it looks: of `cost` since the counters began, of the others since the oldest
    /// query that is still known.
    package var sinceSeconds: Int

    /// What there is in all, of what is not listed too: names in billable calls, or queries.
    package var total: UInt64

    /// The largest first; equal ones by name.
    package var entries: [Entry]

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case kind
        case sinceSeconds = "since-seconds"
        case total, entries
    }

    /// Makes the reply.
    package init(kind: TopRequest.Kind, sinceSeconds: Int, total: UInt64, entries: [Entry]) {
        self.kind = kind.rawValue
        self.sinceSeconds = sinceSeconds
        self.total = total
        self.entries = entries
    }
}

/// How often a name was asked for, or a client asked, among the queries that are still known.
package struct QueryCount: Codable, Sendable, Equatable {
    /// The name, in presentation form, or the client's IP address.
    package var name: String

    package var queries: UInt64

    /// Those that the cache could not answer.
    package var misses: UInt64

    /// Those that an upstream answered because a vendor had nothing, and because none answered.
    package var fallbackEmpty: UInt64
    package var fallbackFailed: UInt64

    /// The longest time to an answer, in microseconds.
    package var slowestUs: UInt32

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case name, queries, misses
        case fallbackEmpty = "fallback-empty"
        case fallbackFailed = "fallback-failed"
        case slowestUs = "slowest-us"
    }

    /// Makes the counts of a name.
    package init(
        name: String,
        queries: UInt64 = 0,
        misses: UInt64 = 0,
        fallbackEmpty: UInt64 = 0,
        fallbackFailed: UInt64 = 0,
        slowestUs: UInt32 = 0
    ) {
        self.name = name
        self.queries = queries
        self.misses = misses
        self.fallbackEmpty = fallbackEmpty
        self.fallbackFailed = fallbackFailed
        self.slowestUs = slowestUs
    }
}

/// What a name has cost with one vendor.
package struct NameCost: Codable, Sendable, Equatable {
    /// The name, in presentation form.
    package var name: String

    /// The vendor that was asked.
    package var vendor: String

    /// Billable calls about the name, at most.
    package var calls: UInt64

    /// How many of them may have been about other names; at least `calls - excess` were not.
    package var excess: UInt64

    /// The place of the route that sent it there last, as `file:line`.
    package var route: String

    /// The first domain of that route; empty if the settings have it no more.
    package var domain: String

    /// Makes the cost of a name.
    package init(
        name: String,
        vendor: String,
        calls: UInt64,
        excess: UInt64,
        route: String,
        domain: String
    ) {
        self.name = name
        self.vendor = vendor
        self.calls = calls
        self.excess = excess
        self.route = route
        self.domain = domain
    }
}
