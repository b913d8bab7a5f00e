// SPDX-License-Identifier: Apache-2.0

/// The arguments of `Explain`: which question.
package struct ExplainRequest: CallParameters, Equatable {
    /// The name, in presentation form.
    package var name: String

    /// The type, as a mnemonic or `TYPE65`; A if nil.
    package var type: String?

    /// True: it is asked now, past the cache, and told how that went.
    package var live: Bool?

    /// Makes the request.
    package init(name: String, type: String? = nil, live: Bool? = nil) {
        self.name = name
        self.type = type
        self.live = live
    }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable { case name, type, live }
}

/// The reply to `Explain`.
package struct ExplainReply: Codable, Sendable, Equatable {
    /// The name, in presentation form.
    package var name: String

    /// The type, as a mnemonic or `TYPE65`.
    package var type: String

    /// What each stage says, in the order in which they are asked.
    package var steps: [ExplainStep] = []

    /// The route that has the name; absent if none does.
    package var route: ExplainedRoute?

    /// What is answered; absent if that has to be asked for, and is not known before.
    package var answer: Resolved?

    /// What it costs.
    package var cost = ExplainedCost()

    /// How it went; absent unless it was asked for now.
    package var live: LiveReport?

    /// Makes the reply about a question.
    package init(name: String, type: String) {
        self.name = name
        self.type = type
    }
}

/// What one stage says.
package struct ExplainStep: Codable, Sendable, Equatable {
    /// The stage: `question`, `hosts`, `special`, `route`, `cache`, `vendors`, `upstreams`.
    package var stage: String

    /// What it does with the question, for people.
    package var result: String

    /// More about it, for people, a line each.
    package var notes: [String]

    /// Makes a step.
    package init(_ stage: String, _ result: String, notes: [String] = []) {
        self.stage = stage
        self.result = result
        self.notes = notes
    }
}

/// The route of a name.
package struct ExplainedRoute: Codable, Sendable, Equatable {
    /// Its place in the settings, as `file:line`.
    package var place: String

    /// The pattern that covers the name, as the settings write it.
    package var pattern: String

    /// The vendors that are asked for addresses, in order.
    package var vendors: [String]

    /// Those of them that nobody waits for now, as nothing is heard of them.
    package var silent: [String]

    /// The upstreams that it names; none for those that all names have.
    package var upstreams: [String]

    /// Who is asked where vendors have nothing: `upstream` or `none`.
    package var fallback: String

    /// Makes a route of its parts.
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

/// What the answer to a question costs.
package struct ExplainedCost: Codable, Sendable, Equatable {
    /// Billable calls that a client's question would cause now, if the first try is answered; trials
    /// of vendors that nobody waits for count, too.
    package var billableCalls = 0

    /// The vendor that would be paid now, or next if that is nothing; absent if none would.
    package var vendor: String?

    /// After how many seconds the name is asked for anew; absent if the cache has no answer to it.
    package var nextSeconds: Int?

    /// What has it asked for anew then: `refresh`, which the name must be in demand for, before the
    /// answer's time is over; `query`, the first one after it: nobody refreshes failures, what lives
    /// for some seconds only, and what was refreshed in vain.
    package var nextBy: String?

    /// Billable calls that this will cost.
    package var nextBillableCalls = 0

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case billableCalls = "billable-calls"
        case vendor
        case nextSeconds = "next-seconds"
        case nextBy = "next-by"
        case nextBillableCalls = "next-billable-calls"
    }

    /// Makes the cost of an answer that costs nothing.
    package init() {}
}

/// How it went to ask a question past the cache.
package struct LiveReport: Codable, Sendable, Equatable {
    /// What came of it.
    package var answer: Resolved

    /// Requests and queries, in the order in which they were sent.
    package var attempts: [LiveAttempt] = []

    /// What was decided on the way, for people.
    package var notes: [String] = []

    /// Attempts and notes that are not told, as there were too many.
    package var leftOut = 0

    /// Billable calls that it may have caused.
    package var billableCalls = 0

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case answer, attempts, notes
        case leftOut = "left-out"
        case billableCalls = "billable-calls"
    }

    /// Makes a report without attempts.
    package init(answer: Resolved) { self.answer = answer }
}

/// One request to a vendor, or query to an upstream.
package struct LiveAttempt: Codable, Sendable, Equatable {
    /// The vendor or upstream, by its name in the settings.
    package var name: String

    /// Its server: an address, or a URL.
    package var server: String

    /// Why it was sent: `first`, `next` (after a failure), `hedge` (after a silence), `fresh` (on a
    /// new connection), `repair` (signed or written otherwise).
    package var why: String

    /// The HTTP request, or the transport; the values of its parameters are left out.
    package var request: String?

    /// Whether an open connection carried it; absent if that is not known.
    package var reused: Bool?

    /// The HTTP status; absent without one.
    package var status: Int?

    /// What it said, for people: addresses with their TTLs; or what went wrong.
    package var result: String

    /// When it was sent, from the start.
    package let afterMs: Double

    /// How long it took; absent while it is under way.
    package var tookMs: Double? { didSet { tookUs = tookMs.map(microseconds) } }

    /// From its beginning until there was a connection, until TLS was ready, and until the reply
    /// began; absent if an open connection was there, or that is not known.
    package var connectedMs: Double? { didSet { connectedUs = connectedMs.map(microseconds) } }
    package var securedMs: Double? { didSet { securedUs = securedMs.map(microseconds) } }
    package var firstOctetMs: Double? { didSet { firstOctetUs = firstOctetMs.map(microseconds) } }

    /// The same in microseconds, as in all other messages; the fields in milliseconds go.
    package let afterUs: UInt64?
    package private(set) var tookUs: UInt64?
    package private(set) var connectedUs: UInt64?
    package private(set) var securedUs: UInt64?
    package private(set) var firstOctetUs: UInt64?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case name, server, why, request, reused, status, result
        case afterMs = "after-ms"
        case tookMs = "took-ms"
        case connectedMs = "connected-ms"
        case securedMs = "secured-ms"
        case firstOctetMs = "first-octet-ms"
        case afterUs = "after-us"
        case tookUs = "took-us"
        case connectedUs = "connected-us"
        case securedUs = "secured-us"
        case firstOctetUs = "first-octet-us"
    }

    /// Makes an attempt that is under way.
    package init(name: String, server: String, why: String, afterMs: Double) {
        self.name = name
        self.server = server
        self.why = why
        self.afterMs = afterMs
        afterUs = microseconds(afterMs)
        result = "under way"
    }
}
