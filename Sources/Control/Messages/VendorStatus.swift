// SPDX-License-Identifier: Apache-2.0

/// How a vendor is doing.
package struct VendorStatus: Codable, Sendable, Equatable {
    /// Its name in the settings.
    package var name: String

    /// `tencent`, `alibaba`, `json`, `baidu` or `volcengine`.
    package var kind: String

    /// How it is asked: `https`, `aes`, `gcm` and so on.
    package var channel: String

    /// Whether a forged answer is detected, by TLS or by the vendor's protocol.
    package var protected = true

    /// Whether it can be asked.
    package var state: HealthStatus

    /// Why it is not asked; nil if it is.
    package var rest: VendorRest?

    /// Its servers, in the order they are tried.
    package var servers: [VendorServer] = []

    /// HTTP requests sent since the daemon started.
    package var calls: UInt64 = 0

    /// Those of the calls that the vendor bills.
    package var billableCalls: UInt64 = 0

    /// Connections opened since the daemon started.
    package var connectionsOpened: UInt64 = 0

    /// Calls made on a connection that was open already.
    package var connectionsReused: UInt64 = 0

    /// What may be spent; nil if nobody set a limit.
    package var budget: BudgetStatus?

    /// How its servers' addresses are kept up to date; nil if they come from the settings alone.
    package var refresh: AddressRefresh?

    /// How far the vendor's clock is ahead of ours; nil until a reply told.
    package var clockSkewSeconds: Int?

    /// How far the vendor's clock is said to be ahead of ours, if that is too far to be believed.
    package var refusedClockSkewSeconds: Int?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case name, kind, channel, protected, state, rest, servers, calls
        case billableCalls = "billable-calls"
        case connectionsOpened = "connections-opened"
        case connectionsReused = "connections-reused"
        case budget, refresh
        case clockSkewSeconds = "clock-skew-seconds"
        case refusedClockSkewSeconds = "refused-clock-skew-seconds"
    }

    /// Makes a vendor that has not been asked.
    package init(name: String, kind: String, channel: String, state: HealthStatus = .up) {
        self.name = name
        self.kind = kind
        self.channel = channel
        self.state = state
    }
}

/// Why a vendor is not asked, and until when.
package struct VendorRest: Codable, Sendable, Equatable {
    /// Who wants it left alone.
    package var by: Reason

    /// How long still; nil if until somebody resumes it.
    package var forSeconds: Int?

    /// What it said; nil if it did not have to say anything.
    package var error: String?

    /// Who wants a vendor left alone.
    package enum Reason: String, Codable, Sendable {
        /// An operator, with `Pause`.
        case `operator`

        /// The vendor: it refuses the account.  One trial call passes when the time is over.
        case account

        /// The vendor: all its servers said 429.
        case limit

        /// The settings: the budget of the day is spent.
        case budget
    }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case by
        case forSeconds = "for-seconds"
        case error
    }

    /// Makes a reason.
    package init(by reason: Reason, forSeconds: Int? = nil, error: String? = nil) {
        by = reason
        self.forSeconds = forSeconds
        self.error = error
    }
}

/// How the addresses of a vendor's servers are kept up to date.
package struct AddressRefresh: Codable, Sendable, Equatable {
    /// How often the vendor told them.
    package var count: UInt64

    /// How often it was asked in vain.
    package var failures: UInt64

    /// How long ago it told them last; nil if it never did.
    package var lastAgeSeconds: Int?

    /// Why it was asked in vain the last time; nil if it was not.
    package var error: String?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case count, failures
        case lastAgeSeconds = "last-age-seconds"
        case error
    }

    /// Makes a report.
    package init(count: UInt64, failures: UInt64, lastAgeSeconds: Int? = nil, error: String? = nil)
    {
        self.count = count
        self.failures = failures
        self.lastAgeSeconds = lastAgeSeconds
        self.error = error
    }
}

/// How one server of a vendor is doing.
package struct VendorServer: Codable, Sendable, Equatable {
    /// The address, with its port if that is not the scheme's.
    package var address: String

    /// Whether it is the one asked first.
    package var current: Bool

    /// Whether it can be asked.
    package var state: HealthStatus

    /// Calls made to it.
    package var calls: UInt64 = 0

    /// Those of the calls that failed.
    package var failures: UInt64 = 0 {
        didSet { failed = failures }
    }

    /// The same, by the name that all messages share; `failures` goes.
    package private(set) var failed: UInt64? = 0

    /// The median time of a call in milliseconds; nil before the first.
    package var latencyMedian: Double? {
        didSet { latencyMedianUs = latencyMedian.map(microseconds) }
    }

    /// The same in microseconds, as in all other messages; the field in milliseconds goes.
    package private(set) var latencyMedianUs: UInt64?

    /// What went wrong last; nil if nothing ever did.
    package var lastError: String?

    /// How long ago that was; nil if nothing ever did.
    package var lastErrorAgeSeconds: Int?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case address, current, state, calls, failures, failed
        case latencyMedian = "latency-ms-p50"
        case latencyMedianUs = "latency-p50-us"
        case lastError = "last-error"
        case lastErrorAgeSeconds = "last-error-age-seconds"
    }

    /// Makes a server that has not been asked.
    package init(address: String, current: Bool = false, state: HealthStatus = .up) {
        self.address = address
        self.current = current
        self.state = state
    }
}
