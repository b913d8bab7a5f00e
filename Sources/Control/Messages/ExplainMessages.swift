// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Explain`.
package struct ExplainRequest: CallParameters, Equatable {
    /// Name in presentation form.
    package var name: String

    /// Type as a mnemonic or `TYPE65`; A if nil.
    package var type: String?

    /// True to resolve the name now, past the cache, and report the attempts.
    package var live: Bool?

    /// Creates the request.
    package init(name: String, type: String? = nil, live: Bool? = nil) {
        self.name = name
        self.type = type
        self.live = live
    }

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable { case name, type, live }
}

/// Reply to `Explain`.
package struct ExplainReply: Codable, Sendable, Equatable {
    /// Name in presentation form.
    package var name: String

    /// Type as a mnemonic or `TYPE65`.
    package var type: String

    /// Results of the stages, in their order.
    package var steps: [ExplainStep] = []

    /// Route that covers the name; nil if there is none.
    package var route: ExplainedRoute?

    /// Answer; nil if it is unknown until the name is resolved.
    package var answer: Resolved?

    /// Billable calls of the answer.
    package var cost = ExplainedCost()

    /// Report of the live resolution; nil unless it was requested.
    package var live: LiveReport?

    /// Creates a reply for a question.
    package init(name: String, type: String) {
        self.name = name
        self.type = type
    }
}

/// Result of one stage.
package struct ExplainStep: Codable, Sendable, Equatable {
    /// Stage: `question`, `hosts`, `special`, `route`, `cache`, `vendors`, `upstreams`.
    package var stage: String

    /// Description of what the stage does with the query.
    package var result: String

    /// Further remarks, one line each.
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
    /// Place in the settings, as `file:line`.
    package var place: String

    /// Pattern that covers the name, as written in the settings.
    package var pattern: String

    /// Vendors in their order.
    package var vendors: [String]

    /// Vendors among them that do not respond; a query does not wait for them.
    package var silent: [String]

    /// Upstreams of the route; empty if the route uses the default upstreams.
    package var upstreams: [String]

    /// Source of the answer if no vendor has one: `upstream` or `none`.
    package var fallback: String

    /// Creates a route from its parts.
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

/// Billable calls of an answer.
package struct ExplainedCost: Codable, Sendable, Equatable {
    /// Billable calls that a query would cause now if the first attempt succeeds, including probes
    /// of vendors that do not respond.
    package var billableCalls = 0

    /// Vendor that would bill these calls, or the next ones if there are none now; nil if none
    /// would.
    package var vendor: String?

    /// Seconds until the name is resolved again; nil if the answer is not cached.
    package var nextSeconds: Int?

    /// Trigger of that resolution.
    ///
    /// `refresh`: prefetch before the answer expires, if the name is in demand. `query`: the first
    /// query after the answer expires; failures, answers with a TTL of a few seconds and answers
    /// whose refresh failed are not prefetched.
    package var nextBy: String?

    /// Billable calls of that resolution.
    package var nextBillableCalls = 0

    /// Creates a cost of zero.
    package init() {}
}

/// Report of a resolution past the cache.
package struct LiveReport: Codable, Sendable, Equatable {
    /// Answer of the resolution.
    package var answer: Resolved

    /// Requests and queries, in the order of sending.
    package var attempts: [LiveAttempt] = []

    /// Decisions during the resolution, as text.
    package var notes: [String] = []

    /// Number of attempts and notes that are not listed because there were too many.
    package var leftOut = 0

    /// Upper bound of the billable calls.
    package var billableCalls = 0

    /// Creates a report without attempts.
    package init(answer: Resolved) { self.answer = answer }
}

/// One request to a vendor, or one query to an upstream.
package struct LiveAttempt: Codable, Sendable, Equatable {
    /// Name of the vendor or upstream in the settings.
    package var name: String

    /// Address or URL of its server.
    package var server: String

    /// Reason of the attempt: `first`, `next` (after a failure), `hedge` (no reply in time),
    /// `fresh` (on a new connection), `repair` (with another signature or form).
    package var why: String

    /// HTTP request without the values of its parameters, or the transport.
    package var request: String?

    /// True if an open connection was reused; nil if unknown.
    package var reused: Bool?

    /// HTTP status; nil without one.
    package var status: Int?

    /// Result as text: addresses with their TTLs, or an error.
    package var result: String

    /// Time from the start until the attempt was sent.
    package let afterMs: Double

    /// Duration; nil while in flight.
    package var tookMs: Double? { didSet { tookUs = tookMs.map(microseconds) } }

    /// Times from sending until the connection was open, TLS was ready and the reply began; nil if
    /// a connection was reused or the time is unknown.
    package var connectedMs: Double? { didSet { connectedUs = connectedMs.map(microseconds) } }
    package var securedMs: Double? { didSet { securedUs = securedMs.map(microseconds) } }
    package var firstOctetMs: Double? { didSet { firstOctetUs = firstOctetMs.map(microseconds) } }

    /// The same times in microseconds, the unit of all other messages; those in milliseconds are
    /// deprecated.
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
