// SPDX-License-Identifier: Apache-2.0

/// How a vendor is doing.
package struct VendorStatus: Codable, Sendable, Equatable {
    /// Its name in the settings.
    package var name: String

    /// `tencent`, `alibaba` or `json`.
    package var kind: String

    /// How it is asked: `https`, `aes`, `gcm` and so on.
    package var channel: String

    /// Whether it can be asked.
    package var state: HealthStatus

    /// Its servers, in the order they are tried.
    package var servers: [VendorServer] = []

    /// Calls made since the daemon started.
    package var calls: UInt64 = 0

    /// Those of the calls that the vendor bills.
    package var billableCalls: UInt64 = 0

    /// How far the vendor's clock is ahead of ours; nil until a reply told.
    package var clockSkewSeconds: Int?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case name, kind, channel, state, servers, calls
        case billableCalls = "billable-calls"
        case clockSkewSeconds = "clock-skew-seconds"
    }

    /// Makes a vendor that has not been asked.
    package init(name: String, kind: String, channel: String, state: HealthStatus = .up) {
        self.name = name
        self.kind = kind
        self.channel = channel
        self.state = state
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
    package var failures: UInt64 = 0

    /// The median time of a call in milliseconds; nil before the first.
    package var latencyMedian: Double?

    /// What went wrong last; nil if nothing ever did.
    package var lastError: String?

    /// How long ago that was; nil if nothing ever did.
    package var lastErrorAgeSeconds: Int?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case address, current, state, calls, failures
        case latencyMedian = "latency-ms-p50"
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

/// How an upstream resolver is doing.
package struct UpstreamStatus: Codable, Sendable, Equatable {
    /// Its name in the settings.
    package var name: String

    /// Its URL, such as `tls://dot.pub`; never with credentials.
    package var url: String

    /// Whether nobody on the way can read or change its answers.
    package var protected: Bool

    /// Whether it can be asked.
    package var state: HealthStatus

    /// Queries sent to it.
    package var calls: UInt64 = 0

    /// Those of the queries that failed.
    package var failures: UInt64 = 0

    /// The median time of a query in milliseconds; nil before the first.
    package var latencyMedian: Double?

    /// What went wrong last; nil if nothing ever did.
    package var lastError: String?

    /// How long ago that was; nil if nothing ever did.
    package var lastErrorAgeSeconds: Int?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case name, url, protected, state, calls, failures
        case latencyMedian = "latency-ms-p50"
        case lastError = "last-error"
        case lastErrorAgeSeconds = "last-error-age-seconds"
    }

    /// Makes an upstream that has not been asked.
    package init(name: String, url: String, protected: Bool, state: HealthStatus = .up) {
        self.name = name
        self.url = url
        self.protected = protected
        self.state = state
    }
}
