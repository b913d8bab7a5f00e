// SPDX-License-Identifier: Apache-2.0

package struct TopRequest: CallParameters, Equatable {
    /// Raw value of a ``Kind``.
    package var kind: String

    package var count: Int?

    package enum Kind: String, CaseIterable, Sendable {
        case names
        case misses

        case slow

        /// Names by number of answers from the fallback.
        case fallback

        case clients

        case cost
    }

    package init(kind: String, count: Int? = nil) {
        self.kind = kind
        self.count = count
    }

    package enum CodingKeys: CodingKey, CaseIterable { case kind, count }

    /// - Throws: `invalidArgument` for an unknown kind or a count out of range.
    package func selection() throws(MethodError) -> (kind: Kind, count: Int) {
        guard let kind = Kind(rawValue: kind) else {
            let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidArgument(argument: "kind", reason: "no such list; use one of: \(kinds)")
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

/// Reply to `Top`; entries are `NameCost` for `cost`, `QueryEvent` for `slow`, else `QueryCount`.
package struct TopReply<Entry: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
    package var kind: String

    /// Seconds since the oldest recorded query; for `cost`, since the reset of the counters.
    package var sinceSeconds: Int

    package var total: UInt64

    package var entries: [Entry]

    package init(kind: TopRequest.Kind, sinceSeconds: Int, total: UInt64, entries: [Entry]) {
        self.kind = kind.rawValue
        self.sinceSeconds = sinceSeconds
        self.total = total
        self.entries = entries
    }
}

/// Number of recent queries of a name or client.
package struct QueryCount: Codable, Sendable, Equatable {
    package var name: String

    package var queries: UInt64 = 0
    package var misses: UInt64 = 0

    /// Number of upstream answers after an empty answer of the vendor.
    package var fallbackEmpty: UInt64 = 0

    /// Number of upstream answers after a failure or delay of the vendor.
    package var fallbackFailed: UInt64 = 0

    package var slowestUs: UInt32 = 0

    package init(name: String) { self.name = name }
}

package struct NameCost: Codable, Sendable, Equatable {
    package var name: String
    package var vendor: String
    package var calls: UInt64

    /// Part of `calls` that possibly belongs to other names.
    package var excess: UInt64

    /// Upper bound of the units of this name's own calls (`calls - excess`).
    package var units: UInt64?

    package var route: String
    package var domain: String

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
