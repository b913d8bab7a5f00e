// SPDX-License-Identifier: Apache-2.0

package struct ExplainRequest: CallParameters, Equatable {
    package var name: String

    /// Query type; if nil, A.
    package var type: String?

    /// True to resolve without the cache.
    package var live: Bool?

    package init(name: String, type: String? = nil, live: Bool? = nil) {
        self.name = name
        self.type = type
        self.live = live
    }

    package enum CodingKeys: CodingKey, CaseIterable { case name, type, live }
}

package struct ExplainReply: Codable, Sendable, Equatable {
    package var name: String
    package var type: String
    package var steps: [ExplainStep] = []
    package var route: ExplainedRoute?

    /// Answer that a query would get; nil if the name must be resolved first.
    package var answer: Resolved?

    package var cost = ExplainedCost()
    package var live: LiveReport?

    package init(name: String, type: String) {
        self.name = name
        self.type = type
    }
}

package struct ExplainStep: Codable, Sendable, Equatable {
    /// Name of the stage.
    ///
    /// `question`, `hosts`, `special`, `route`, `cache`, `fleet`, `vendors`, `upstreams`, `dns64`.
    package var stage: String

    package var result: String
    package var notes: [String]

    package init(_ stage: String, _ result: String, notes: [String] = []) {
        self.stage = stage
        self.result = result
        self.notes = notes
    }
}

package struct ExplainedRoute: Codable, Sendable, Equatable {
    /// Position of the route in the settings, `file:line`.
    package var place: String

    package var pattern: String
    package var vendors: [String]

    /// Vendors of the route that do not respond; a client does not wait for these vendors.
    package var silent: [String]

    /// Names of the upstreams of the route; empty if the route uses the default upstreams.
    package var upstreams: [String]

    /// Fallback of the route: `upstream` or `none`.
    package var fallback: String

    package init(
        place: String,
        pattern: String,
        vendors: [String],
        silent: [String] = [],
        upstreams: [String],
        fallback: String
    ) {
        self.place = place
        self.pattern = pattern
        self.vendors = vendors
        self.silent = silent
        self.upstreams = upstreams
        self.fallback = fallback
    }
}

/// Cost of a query that arrives now, and cost of the next resolution.
package struct ExplainedCost: Codable, Sendable, Equatable {
    package var billableCalls = 0
    package var vendor: String?

    /// Seconds until the next resolution; nil if there is no cached answer.
    package var nextSeconds: Int?

    /// Trigger of the next resolution: `refresh` (prefetch, if the name is queried often) or
    /// `query` (first query after the TTL).
    ///
    /// Failures and answers with a short TTL are never refreshed. After a failed refresh, the
    /// trigger is `query`.
    package var nextBy: String?

    package var nextBillableCalls = 0

    /// Upper bound of the units of `billableCalls`; nil if unknown.
    package var units: UInt64?
    package var money: BilledCost?
    package var nextUnits: UInt64?
    package var nextMoney: BilledCost?

    /// Upper bound of the units that the cached answer has cost; nil if no vendor gave it.
    package var answerUnits: UInt64?
    package var answerMoney: BilledCost?
    package init() {}
}

package struct LiveReport: Codable, Sendable, Equatable {
    package var answer: Resolved
    package var attempts: [LiveAttempt] = []
    package var notes: [String] = []

    /// Number of attempts and notes that were omitted because of a limit.
    package var leftOut = 0

    package var billableCalls = 0
    package var units: UInt64?
    package var money: BilledCost?
    package init(answer: Resolved) { self.answer = answer }
}

/// Request to a vendor, or query to an upstream.
package struct LiveAttempt: Codable, Sendable, Equatable {
    package var name: String
    package var server: String

    /// Reason of the attempt.
    ///
    /// `first`, `next` (after a failure), `hedge` (no reply in time), `fresh` (new connection) or
    /// `repair` (another signature or request format).
    package var why: String

    /// HTTP request without its parameter values; for an upstream, the transport.
    package var request: String?

    /// True if an open connection was reused; nil if unknown.
    package var reused: Bool?

    package var status: Int?
    package var result: String
    package let afterMs: Double

    /// Duration of the attempt; nil while the attempt is in flight.
    package var tookMs: Double? { didSet { tookUs = tookMs.map(microseconds) } }

    /// Time from the start of the attempt until the connection is open.
    package var connectedMs: Double? { didSet { connectedUs = connectedMs.map(microseconds) } }

    /// Time from the start of the attempt until the end of the TLS handshake.
    package var securedMs: Double? { didSet { securedUs = securedMs.map(microseconds) } }

    /// Time from the start of the attempt until the first octet of the reply arrives.
    package var firstOctetMs: Double? { didSet { firstOctetUs = firstOctetMs.map(microseconds) } }

    /// Times of the attempt in microseconds; the fields in milliseconds are deprecated.
    package let afterUs: UInt64?
    package private(set) var tookUs: UInt64?
    package private(set) var connectedUs: UInt64?
    package private(set) var securedUs: UInt64?
    package private(set) var firstOctetUs: UInt64?

    package init(name: String, server: String, why: String, afterMs: Double) {
        self.name = name
        self.server = server
        self.why = why
        self.afterMs = afterMs
        afterUs = microseconds(afterMs)
        result = "under way"
    }
}
