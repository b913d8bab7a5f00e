// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Explain`.
package struct ExplainRequest: CallParameters, Equatable {
    package var name: String

    /// A if nil.
    package var type: String?

    /// True to resolve past the cache.
    package var live: Bool?

    /// Creates the request.
    package init(name: String, type: String? = nil, live: Bool? = nil) {
        self.name = name
        self.type = type
        self.live = live
    }

    /// Names.
    package enum CodingKeys: CodingKey, CaseIterable { case name, type, live }
}

/// Reply to `Explain`.
package struct ExplainReply: Codable, Sendable, Equatable {
    package var name: String

    package var type: String

    package var steps: [ExplainStep] = []

    package var route: ExplainedRoute?

    /// nil if the name must be resolved.
    package var answer: Resolved?

    package var cost = ExplainedCost()

    package var live: LiveReport?

    /// Creates a reply.
    package init(name: String, type: String) {
        self.name = name
        self.type = type
    }
}

/// Result of one stage.
package struct ExplainStep: Codable, Sendable, Equatable {
    /// `question`, `hosts`, `special`, `route`, `cache`, `vendors`, `upstreams`, `dns64`.
    package var stage: String

    package var result: String

    package var notes: [String]

    /// Creates a step.
    package init(_ stage: String, _ result: String, notes: [String] = []) {
        self.stage = stage
        self.result = result
        self.notes = notes
    }
}

/// Route of a name.
package struct ExplainedRoute: Codable, Sendable, Equatable {
    /// `file:line`.
    package var place: String

    package var pattern: String

    package var vendors: [String]

    /// Vendors that do not respond; a query does not wait for them.
    package var silent: [String]

    /// Empty for the default upstreams.
    package var upstreams: [String]

    /// `upstream` or `none`.
    package var fallback: String

    /// Creates a route.
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

/// Billable calls of a query.
package struct ExplainedCost: Codable, Sendable, Equatable {
    package var billableCalls = 0

    package var vendor: String?

    /// Seconds until the next resolution; nil without a cached answer.
    package var nextSeconds: Int?

    /// Trigger of the next resolution: `refresh` or `query`.
    ///
    /// A refresh is the prefetch of a name in demand; none follows a failure, a TTL of a few
    /// seconds or a failed refresh.
    package var nextBy: String?

    package var nextBillableCalls = 0

    /// Upper bound of the units of `billableCalls`, and their cost; the cost is nil if the price is
    /// unknown.
    package var units: UInt64?
    package var money: BilledCost?

    /// Upper bound of the units of `nextBillableCalls`, and their cost.
    package var nextUnits: UInt64?
    package var nextMoney: BilledCost?

    /// Upper bound of the units that the cached answer cost, and their cost; nil without a cached
    /// answer of a vendor.
    package var answerUnits: UInt64?
    package var answerMoney: BilledCost?

    /// Creates a cost of zero.
    package init() {}
}

/// Report of a resolution past the cache.
package struct LiveReport: Codable, Sendable, Equatable {
    package var answer: Resolved

    package var attempts: [LiveAttempt] = []

    package var notes: [String] = []

    /// Attempts and notes beyond the limit.
    package var leftOut = 0

    /// Upper bound.
    package var billableCalls = 0

    /// Upper bound of the units of these calls, and their cost; the cost is nil if the price is
    /// unknown.
    package var units: UInt64?
    package var money: BilledCost?

    /// Creates a report.
    package init(answer: Resolved) { self.answer = answer }
}

/// A request to a vendor, or a query to an upstream.
package struct LiveAttempt: Codable, Sendable, Equatable {
    package var name: String

    /// Address or URL.
    package var server: String

    /// `first`, `next` (after a failure), `hedge` (no reply in time), `fresh` (new connection) or
    /// `repair` (another signature or form).
    package var why: String

    /// HTTP request without values of parameters, or transport.
    package var request: String?

    /// True if an open connection was reused; nil if unknown.
    package var reused: Bool?

    package var status: Int?

    package var result: String

    package let afterMs: Double

    /// Duration; nil in flight.
    package var tookMs: Double? { didSet { tookUs = tookMs.map(microseconds) } }

    /// Times since sending.
    package var connectedMs: Double? { didSet { connectedUs = connectedMs.map(microseconds) } }
    package var securedMs: Double? { didSet { securedUs = securedMs.map(microseconds) } }
    package var firstOctetMs: Double? { didSet { firstOctetUs = firstOctetMs.map(microseconds) } }

    /// The same times; milliseconds are deprecated.
    package let afterUs: UInt64?
    package private(set) var tookUs: UInt64?
    package private(set) var connectedUs: UInt64?
    package private(set) var securedUs: UInt64?
    package private(set) var firstOctetUs: UInt64?

    /// Creates an attempt in flight.
    package init(name: String, server: String, why: String, afterMs: Double) {
        self.name = name
        self.server = server
        self.why = why
        self.afterMs = afterMs
        afterUs = microseconds(afterMs)
        result = "under way"
    }
}
