// SPDX-License-Identifier: Apache-2.0

package struct VendorStatus: Codable, Sendable, Equatable {
    package var name: String

    /// `tencent`, `alibaba`, `json`, `baidu` or `volcengine`.
    package var kind: String

    /// Protection of calls: `https`, `aes`, `gcm` and others.
    package var channel: String

    package var protected = true
    package var state: HealthStatus
    package var rest: VendorRest?
    package var servers: [VendorServer] = []
    package var calls: UInt64 = 0
    package var billableCalls: UInt64 = 0
    package var connectionsOpened: UInt64 = 0
    package var connectionsReused: UInt64 = 0
    package var budget: BudgetStatus?
    package var units: BilledUnits?

    /// Cost of the current month (UTC); nil if the price is unknown.
    package var cost: BilledCost?

    /// Client address in the latest reply of the vendor: `clientSubnet`, or the source address of
    /// the call as the vendor sees it.
    package var clientAddress: String?

    package var clientSubnet: String?
    package var refresh: AddressRefresh?

    package var clockSkewSeconds: Int?

    package var refusedClockSkewSeconds: Int?

    package init(name: String, kind: String, channel: String, state: HealthStatus = .up) {
        self.name = name
        self.kind = kind
        self.channel = channel
        self.state = state
    }
}

/// Suspension of a vendor.
package struct VendorRest: Codable, Sendable, Equatable {
    package var by: Reason

    package var forSeconds: Int?

    package var error: String?

    package enum Reason: String, Codable, Sendable {
        case `operator`

        case account

        case limit

        case budget
    }

    package init(by reason: Reason, forSeconds: Int? = nil, error: String? = nil) {
        by = reason
        self.forSeconds = forSeconds
        self.error = error
    }
}

package struct AddressRefresh: Codable, Sendable, Equatable {
    package var count: UInt64
    package var failures: UInt64
    package var lastAgeSeconds: Int?
    package var error: String?
    package init(count: UInt64, failures: UInt64, lastAgeSeconds: Int? = nil, error: String? = nil)
    {
        self.count = count
        self.failures = failures
        self.lastAgeSeconds = lastAgeSeconds
        self.error = error
    }
}

package struct VendorServer: Codable, Sendable, Equatable {
    package var address: String

    package var current: Bool

    package var state: HealthStatus
    package var calls: UInt64 = 0

    /// Deprecated; use `failed`.
    package var failures: UInt64 = 0 {
        didSet { failed = failures }
    }

    package private(set) var failed: UInt64? = 0

    /// Deprecated; use `latencyP50Us`.
    package var latencyMsP50: Double? { didSet { latencyP50Us = latencyMsP50.map(microseconds) } }

    package private(set) var latencyP50Us: UInt64?
    package var lastError: String?
    package var lastErrorAgeSeconds: Int?

    package init(address: String, current: Bool = false, state: HealthStatus = .up) {
        self.address = address
        self.current = current
        self.state = state
    }
}
