// SPDX-License-Identifier: Apache-2.0

/// The arguments of `Top`: which list, and how much of it.
package struct TopRequest: CallParameters, Equatable {
    /// What the list is ordered by: `cost`.
    package var kind: String

    /// How many entries at most; 10 if nil.
    package var count: Int?

    /// What lists can be ordered by.
    package enum Kind: String, CaseIterable, Sendable {
        /// Billable calls.
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

/// The reply to `Top` of the kind `cost`: the names with the most billable calls.
package struct TopReply: Codable, Sendable, Equatable {
    /// What it is ordered by.
    package var kind: String

    /// How long the counters have been counting.
    package var sinceSeconds: Int

    /// Names in billable calls in all, of those that are not listed too.
    package var total: UInt64

    /// The costliest first; equal ones by name.
    package var entries: [NameCost]

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case kind
        case sinceSeconds = "since-seconds"
        case total, entries
    }

    /// Makes the reply.
    package init(kind: TopRequest.Kind, sinceSeconds: Int, total: UInt64, entries: [NameCost]) {
        self.kind = kind.rawValue
        self.sinceSeconds = sinceSeconds
        self.total = total
        self.entries = entries
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
