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
    package var failures: UInt64 = 0 {
        didSet { failed = failures }
    }

    /// The same, by the name that all messages share; `failures` goes.
    package private(set) var failed: UInt64? = 0

    /// Messages from its addresses that answered no query: forged, or late; nil if there were none.
    package var foreignReplies: UInt64?

    /// Its servers, in the order of the settings.
    package var servers: [UpstreamServer] = []

    /// The median time of a query in milliseconds; nil before the first.
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
        case name, url, protected, validates, state, calls, failures, failed, servers
        case foreignReplies = "foreign-replies"
        case latencyMedian = "latency-ms-p50"
        case latencyMedianUs = "latency-p50-us"
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
