// SPDX-License-Identifier: Apache-2.0

/// State of a vendor.
package struct VendorStatus: Codable, Sendable, Equatable {
    /// Name in the settings.
    package var name: String

    /// Kind: `tencent`, `alibaba`, `json`, `baidu` or `volcengine`.
    package var kind: String

    /// Channel: `https`, `aes`, `gcm` and others.
    package var channel: String

    /// True if forged answers are detected, by TLS or by the vendor's protocol.
    package var protected = true

    /// Health of the vendor.
    package var state: HealthStatus

    /// Reason why the vendor is not called; nil if it is.
    package var rest: VendorRest?

    /// Servers in the order in which they are tried.
    package var servers: [VendorServer] = []

    /// HTTP requests sent since the daemon started.
    package var calls: UInt64 = 0

    /// Calls that the vendor bills.
    package var billableCalls: UInt64 = 0

    /// Connections opened since the daemon started.
    package var connectionsOpened: UInt64 = 0

    /// Calls on an open connection.
    package var connectionsReused: UInt64 = 0

    /// Budget; nil if the settings have none.
    package var budget: BudgetStatus?

    /// Refresh of the server addresses; nil if only the settings provide them.
    package var refresh: AddressRefresh?

    /// Seconds by which the vendor's clock is ahead of ours; nil before the first reply.
    package var clockSkewSeconds: Int?

    /// The same, if the difference is too large to be believed.
    package var refusedClockSkewSeconds: Int?

    /// Creates a vendor without calls.
    package init(name: String, kind: String, channel: String, state: HealthStatus = .up) {
        self.name = name
        self.kind = kind
        self.channel = channel
        self.state = state
    }
}

/// Reason and duration of a vendor's suspension.
package struct VendorRest: Codable, Sendable, Equatable {
    /// Cause of the suspension.
    package var by: Reason

    /// Remaining seconds; nil if until `Resume`.
    package var forSeconds: Int?

    /// Error of the vendor; nil if there is none.
    package var error: String?

    /// Cause of a suspension.
    package enum Reason: String, Codable, Sendable {
        /// An operator, with `Pause`.
        case `operator`

        /// The vendor refuses the account. One probe call is made when the time is over.
        case account

        /// All servers of the vendor returned HTTP 429.
        case limit

        /// The budget of the day is spent.
        case budget
    }

    /// Creates a reason.
    package init(by reason: Reason, forSeconds: Int? = nil, error: String? = nil) {
        by = reason
        self.forSeconds = forSeconds
        self.error = error
    }
}

/// Refresh of the addresses of a vendor's servers.
package struct AddressRefresh: Codable, Sendable, Equatable {
    /// Successful refreshes.
    package var count: UInt64

    /// Failed refreshes.
    package var failures: UInt64

    /// Time since the last successful refresh; nil if there was none.
    package var lastAgeSeconds: Int?

    /// Error of the last refresh; nil if it succeeded.
    package var error: String?

    /// Creates a report.
    package init(count: UInt64, failures: UInt64, lastAgeSeconds: Int? = nil, error: String? = nil)
    {
        self.count = count
        self.failures = failures
        self.lastAgeSeconds = lastAgeSeconds
        self.error = error
    }
}

/// State of one server of a vendor.
package struct VendorServer: Codable, Sendable, Equatable {
    /// Address, with the port unless it is the default of the scheme.
    package var address: String

    /// True if the server is tried first.
    package var current: Bool

    /// Health of the server.
    package var state: HealthStatus

    /// Calls to the server.
    package var calls: UInt64 = 0

    /// Calls that failed.
    package var failures: UInt64 = 0 {
        didSet { failed = failures }
    }

    /// The same under the name that all messages share; `failures` is deprecated.
    package private(set) var failed: UInt64? = 0

    /// Median duration of a call in milliseconds; nil before the first.
    package var latencyMsP50: Double? {
        didSet { latencyP50Us = latencyMsP50.map(microseconds) }
    }

    /// The same in microseconds, the unit of all other messages; `latency-ms-p50` is deprecated.
    package private(set) var latencyP50Us: UInt64?

    /// Last error; nil if there was none.
    package var lastError: String?

    /// Time since the last error; nil if there was none.
    package var lastErrorAgeSeconds: Int?

    /// Creates a server without calls.
    package init(address: String, current: Bool = false, state: HealthStatus = .up) {
        self.address = address
        self.current = current
        self.state = state
    }
}
