// SPDX-License-Identifier: Apache-2.0

package struct ProveRequest: CallParameters, Equatable {
    package var vendor: String

    /// If nil, a name of the vendor's routes.
    package var name: String?

    package var maxUnits: UInt64?

    package var plan: Bool?

    package init(vendor: String, name: String? = nil, maxUnits: UInt64? = nil, plan: Bool? = nil) {
        self.vendor = vendor
        self.name = name
        self.maxUnits = maxUnits
        self.plan = plan
    }

    package enum CodingKeys: CodingKey, CaseIterable { case vendor, name, maxUnits, plan }
}

/// Reply to `Prove`.
package struct ProveReply: Codable, Sendable, Equatable {
    package var vendor: String
    package var name: String
    package var calls: Int

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
    package var label: String

    package var expected: String
    package var verdict = Verdict.skipped
    package var request: String?
    package var status: Int?

    package var result: String

    package var units: UInt64 = 0

    /// Nil if the reply is encrypted or missing.
    package var vector: ProofVector?

    package enum Verdict: String, Codable, Sendable {
        case agrees
        case differs

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

    package var body: String

    package init(vendor: String, names: [String], types: [String], status: Int, body: String) {
        self.vendor = vendor
        self.names = names
        self.types = types
        self.status = status
        self.body = body
    }
}
