// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Top`.
package struct TopRequest: CallParameters, Equatable {
    /// A `Kind`.
    package var kind: String

    /// 10 if nil.
    package var count: Int?

    /// Sort key.
    package enum Kind: String, CaseIterable, Sendable {
        case names

        case misses

        /// By response time.
        case slow

        /// By answers of the fallback upstream.
        case fallback

        case clients

        /// By billable calls.
        case cost
    }

    /// Creates the request.
    package init(kind: String, count: Int? = nil) {
        self.kind = kind
        self.count = count
    }

    /// Names.
    package enum CodingKeys: CodingKey, CaseIterable { case kind, count }

    /// Decodes the arguments.
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

/// Reply to `Top`: entries of `NameCost` (`cost`), `QueryEvent` (`slow`) or `QueryCount`.
package struct TopReply<Entry: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
    package var kind: String

    /// Time since the counters were zero, or since the oldest recorded query.
    package var sinceSeconds: Int

    /// Also names and queries that are not listed.
    package var total: UInt64

    package var entries: [Entry]

    /// Creates the reply.
    package init(kind: TopRequest.Kind, sinceSeconds: Int, total: UInt64, entries: [Entry]) {
        self.kind = kind.rawValue
        self.sinceSeconds = sinceSeconds
        self.total = total
        self.entries = entries
    }
}

/// Recent queries of a name or client.
package struct QueryCount: Codable, Sendable, Equatable {
    /// Name or IP address.
    package var name: String

    package var queries: UInt64

    package var misses: UInt64

    /// Upstream answers after an empty answer of a vendor, or after a failure or a late answer.
    package var fallbackEmpty: UInt64
    package var fallbackFailed: UInt64

    package var slowestUs: UInt32

    /// Creates counts.
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

/// Billable calls of a name.
package struct NameCost: Codable, Sendable, Equatable {
    package var name: String

    package var vendor: String

    /// Upper bound.
    package var calls: UInt64

    package var excess: UInt64

    /// Upper bound of the units of the `calls - excess` calls.
    package var units: UInt64?

    /// Place of the route of the last call, as `file:line`.
    package var route: String

    package var domain: String

    /// Creates a cost.
    package init(
        name: String,
        vendor: String,
        calls: UInt64,
        excess: UInt64,
        units: UInt64? = nil,
        route: String,
        domain: String
    ) {
        self.name = name
        self.vendor = vendor
        self.calls = calls
        self.excess = excess
        self.units = units
        self.route = route
        self.domain = domain
    }
}
