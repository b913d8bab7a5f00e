// SPDX-License-Identifier: Apache-2.0

package struct ProveRequest: CallParameters, Equatable {
    package var vendor: String

    /// Registered name to look up; if nil, a name of the vendor's routes.
    package var name: String?

    package var maxUnits: UInt64?

    /// True to return the plan without making a call.
    package var plan: Bool?

    package init(vendor: String, name: String? = nil, maxUnits: UInt64? = nil, plan: Bool? = nil) {
        self.vendor = vendor
        self.name = name
        self.maxUnits = maxUnits
        self.plan = plan
    }

    package enum CodingKeys: CodingKey, CaseIterable { case vendor, name, maxUnits, plan }
}

/// Reply to `Prove`; with `more`, one reply for each step, and then a last reply without steps.
package struct ProveReply: Codable, Sendable, Equatable {
    package var vendor: String
    package var name: String
    package var calls: Int

    /// Upper bound of the units that the planned calls cost.
    package var units: UInt64
    package var money: BilledCost?
    package var steps: [ProofStep]

    package init(vendor: String, name: String, calls: Int, units: UInt64, steps: [ProofStep] = []) {
        self.vendor = vendor
        self.name = name
        self.calls = calls
        self.units = units
        self.steps = steps
    }
}

/// Test call to a vendor and its result, without secrets and account numbers.
package struct ProofStep: Codable, Sendable, Equatable {
    /// Feature of the vendor's protocol that the call tests.
    package var label: String

    package var expected: String
    package var verdict = Verdict.skipped
    package var request: String?
    package var status: Int?

    /// Addresses with TTLs, or an error.
    package var result: String

    package var units: UInt64 = 0

    /// Reply as a test vector for the parser; nil if the reply is encrypted or missing.
    package var vector: ProofVector?

    package enum Verdict: String, Codable, Sendable {
        case agrees
        case differs

        /// The call was not made, or had no reply; ``ProofStep/result`` has the reason.
        case skipped
    }

    package init(label: String, expected: String, result: String) {
        self.label = label
        self.expected = expected
        self.result = result
    }
}

/// Reply of a vendor, as a test vector for the parser.
package struct ProofVector: Codable, Sendable, Equatable {
    /// Type and protection of the vendor, for example `alibaba v2 https`.
    package var vendor: String

    package var names: [String]
    package var types: [String]
    package var status: Int

    /// Body of the reply, in which client addresses are replaced by 203.0.113.1.
    package var body: String

    package init(vendor: String, names: [String], types: [String], status: Int, body: String) {
        self.vendor = vendor
        self.names = names
        self.types = types
        self.status = status
        self.body = body
    }
}
