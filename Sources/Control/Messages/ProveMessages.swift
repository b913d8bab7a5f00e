// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Prove`.
package struct ProveRequest: CallParameters, Equatable {
    /// Vendor of the settings.
    package var vendor: String

    /// Registered name to look up; nil for one of the vendor's routes.
    package var name: String?

    /// Limit of the billed units; 40 if nil.
    package var maxUnits: UInt64?

    /// True to return the plan without a call.
    package var plan: Bool?

    /// Creates the request.
    package init(vendor: String, name: String? = nil, maxUnits: UInt64? = nil, plan: Bool? = nil) {
        self.vendor = vendor
        self.name = name
        self.maxUnits = maxUnits
        self.plan = plan
    }

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable { case vendor, name, maxUnits, plan }
}

/// Reply to `Prove`: with `more`, one step per reply and none in the last.
package struct ProveReply: Codable, Sendable, Equatable {
    package var vendor: String

    /// Name that is looked up.
    package var name: String

    /// Number of calls of the plan.
    package var calls: Int

    /// Upper bound of the units of the plan, at most the limit; and their cost, if the price is
    /// known.
    package var units: UInt64
    package var money: BilledCost?

    package var steps: [ProofStep]

    /// Creates a reply.
    package init(vendor: String, name: String, calls: Int, units: UInt64, steps: [ProofStep] = []) {
        self.vendor = vendor
        self.name = name
        self.calls = calls
        self.units = units
        self.steps = steps
    }
}

/// Call and its result, without secrets and account numbers.
package struct ProofStep: Codable, Sendable, Equatable {
    /// Feature of the protocol.
    package var label: String

    /// Assumption of the code.
    package var expected: String

    package var verdict = Verdict.skipped

    /// HTTP request without values of parameters.
    package var request: String?

    package var status: Int?

    /// Addresses with TTLs, or an error.
    package var result: String

    /// Upper bound of the billed units.
    package var units: UInt64 = 0

    /// Reply for a test of the parser; nil if it is encrypted or missing.
    package var vector: ProofVector?

    /// Result of a comparison.
    package enum Verdict: String, Codable, Sendable {
        /// The reply is as assumed.
        case agrees

        case differs

        /// Not called, or without a reply; ``ProofStep/result`` has the reason.
        case skipped
    }

    /// Creates a step that was not called.
    package init(label: String, expected: String, result: String) {
        self.label = label
        self.expected = expected
        self.result = result
    }
}

/// Reply of a vendor that can be replayed to the parser.
package struct ProofVector: Codable, Sendable, Equatable {
    /// Kind and protection, for example `alibaba v2 https`.
    package var vendor: String

    package var names: [String]

    /// `A`, `AAAA`, or both.
    package var types: [String]

    package var status: Int

    /// Client addresses are replaced by 203.0.113.1.
    package var body: String

    /// Creates a vector.
    package init(vendor: String, names: [String], types: [String], status: Int, body: String) {
        self.vendor = vendor
        self.names = names
        self.types = types
        self.status = status
        self.body = body
    }
}
