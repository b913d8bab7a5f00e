// SPDX-License-Identifier: Apache-2.0

package struct ExplainRequest: CallParameters, Equatable {
    package var name: String

    package var type: String?

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

    package var answer: Resolved?

    package var cost = ExplainedCost()
    package var live: LiveReport?

    package init(name: String, type: String) {
        self.name = name
        self.type = type
    }
}

package struct ExplainStep: Codable, Sendable, Equatable {
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
    package var place: String

    package var pattern: String
    package var vendors: [String]

    package var silent: [String]

    /// Empty if the route uses the default upstreams.
    package var upstreams: [String]

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

    package var nextSeconds: Int?

    /// Trigger of the next resolution: `refresh` (prefetch), or `query` (after the TTL).
    ///
    /// Failures are never refreshed, and neither are answers with a short TTL.
    package var nextBy: String?

    package var nextBillableCalls = 0

    package var units: UInt64?
    package var money: BilledCost?
    package var nextUnits: UInt64?
    package var nextMoney: BilledCost?

    package var answerUnits: UInt64?
    package var answerMoney: BilledCost?
    package init() {}
}

package struct LiveReport: Codable, Sendable, Equatable {
    package var answer: Resolved
    package var attempts: [LiveAttempt] = []
    package var notes: [String] = []

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

    package var why: String

    /// HTTP request without its parameter values; for an upstream, the transport.
    package var request: String?

    package var reused: Bool?

    package var status: Int?
    package var result: String
    package let afterMs: Double

    package var tookMs: Double? { didSet { tookUs = tookMs.map(microseconds) } }

    package var connectedMs: Double? { didSet { connectedUs = connectedMs.map(microseconds) } }

    package var securedMs: Double? { didSet { securedUs = securedMs.map(microseconds) } }

    package var firstOctetMs: Double? { didSet { firstOctetUs = firstOctetMs.map(microseconds) } }

    /// The fields in milliseconds are deprecated.
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
