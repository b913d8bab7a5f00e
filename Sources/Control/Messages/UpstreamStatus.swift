// SPDX-License-Identifier: Apache-2.0

/// How an upstream resolver is doing.
package struct UpstreamStatus: Codable, Sendable, Equatable {
    /// Its name in the settings.
    package var name: String

    /// Its URL, such as `tls://dot.pub`; never with credentials.
    package var url: String

    /// Whether nobody on the way can read or change its answers.
    package var protected: Bool

    /// Whether its word is passed on that it validated an answer (AD).
    package var validates = false

    /// Whether it can be asked.
    package var state: HealthStatus

    /// Queries sent to it.
    package var calls: UInt64 = 0

    /// Those of the queries that failed.
    package var failures: UInt64 = 0

    /// Its servers, in the order of the settings.
    package var servers: [UpstreamServer] = []

    /// The median time of a query in milliseconds; nil before the first.
    package var latencyMedian: Double?

    /// What went wrong last; nil if nothing ever did.
    package var lastError: String?

    /// How long ago that was; nil if nothing ever did.
    package var lastErrorAgeSeconds: Int?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case name, url, protected, validates, state, calls, failures, servers
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
