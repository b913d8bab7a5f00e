// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Top`.
package struct TopRequest: CallParameters, Equatable {
    /// Raw value of a `Kind`.
    package var kind: String

    /// Maximum number of entries; 10 if nil.
    package var count: Int?

    /// Order of a list.
    package enum Kind: String, CaseIterable, Sendable {
        /// Names by number of queries.
        case names

        /// Names by number of cache misses.
        case misses

        /// Queries with the longest response times.
        case slow

        /// Names by number of answers from the fallback upstream.
        case fallback

        /// Clients by number of queries.
        case clients

        /// Names by number of billable calls.
        case cost
    }

    /// Creates the request.
    package init(kind: String, count: Int? = nil) {
        self.kind = kind
        self.count = count
    }

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable { case kind, count }

    /// Returns the decoded arguments.
    ///
    /// - Throws: `invalidArgument` for an unknown kind or a count out of range.
    package func selection() throws(MethodError) -> (kind: Kind, count: Int) {
        guard let kind = Kind(rawValue: kind) else {
            let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidArgument(
                argument: "kind",
                reason: "no such list; use one of: \(kinds)"
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

/// Reply to `Top`.
///
/// Entries are `NameCost` for `cost`, `QueryEvent` for `slow`, and `QueryCount` for other kinds.
package struct TopReply<Entry: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
    /// Raw value of a `TopRequest.Kind`.
    package var kind: String

    /// Period that the list covers: for `cost` since the counters were zero, otherwise since the
    /// oldest query in memory.
    package var sinceSeconds: Int

    /// Total of names in billable calls, or of queries, including those that are not listed.
    package var total: UInt64

    /// Entries in descending order; equal entries by name.
    package var entries: [Entry]

    /// Creates the reply.
    package init(kind: TopRequest.Kind, sinceSeconds: Int, total: UInt64, entries: [Entry]) {
        self.kind = kind.rawValue
        self.sinceSeconds = sinceSeconds
        self.total = total
        self.entries = entries
    }
}

/// Query counts of a name or a client, among the recent queries in memory.
package struct QueryCount: Codable, Sendable, Equatable {
    /// Name in presentation form, or IP address of the client.
    package var name: String

    package var queries: UInt64

    /// Queries that the cache could not answer.
    package var misses: UInt64

    /// Queries that an upstream answered because a vendor had no address, or because no vendor
    /// answered.
    package var fallbackEmpty: UInt64
    package var fallbackFailed: UInt64

    /// Longest response time in microseconds.
    package var slowestUs: UInt32

    /// Creates the counts of a name.
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

/// Billable calls of a name at one vendor.
package struct NameCost: Codable, Sendable, Equatable {
    /// Name in presentation form.
    package var name: String

    /// Vendor that was called.
    package var vendor: String

    /// Upper bound of the billable calls for this name.
    package var calls: UInt64

    /// Number of these calls that may belong to other names; at least `calls - excess` do not.
    package var excess: UInt64

    /// Place of the route of the last call, as `file:line`.
    package var route: String

    /// First domain of that route; empty if the route is no longer in the settings.
    package var domain: String

    /// Creates the cost of a name.
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
