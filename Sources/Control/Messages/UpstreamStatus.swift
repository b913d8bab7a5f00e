// SPDX-License-Identifier: Apache-2.0

/// State of an upstream.
package struct UpstreamStatus: Codable, Sendable, Equatable {
    /// Name in the settings.
    package var name: String

    /// URL, such as `tls://dot.pub`; never with credentials.
    package var url: String

    /// True if its transport is encrypted and authenticated.
    package var protected: Bool

    /// True if the AD bit of its answers is passed on.
    package var validates = false

    /// Health of the upstream.
    package var state: HealthStatus

    /// Queries sent.
    package var calls: UInt64 = 0

    /// Queries that failed.
    package var failures: UInt64 = 0 {
        didSet { failed = failures }
    }

    /// The same under the name that all messages share; `failures` is deprecated.
    package private(set) var failed: UInt64? = 0

    /// Messages from its addresses that matched no query: forged or late; nil if there were none.
    package var foreignReplies: UInt64?

    /// Servers in the order of the settings.
    package var servers: [UpstreamServer] = []

    /// Median duration of a query in milliseconds; nil before the first.
    package var latencyMsP50: Double? {
        didSet { latencyP50Us = latencyMsP50.map(microseconds) }
    }

    /// The same in microseconds, the unit of all other messages; `latency-ms-p50` is deprecated.
    package private(set) var latencyP50Us: UInt64?

    /// Last error; nil if there was none.
    package var lastError: String?

    /// Time since the last error; nil if there was none.
    package var lastErrorAgeSeconds: Int?

    /// Creates an upstream without queries.
    package init(name: String, url: String, protected: Bool, state: HealthStatus = .up) {
        self.name = name
        self.url = url
        self.protected = protected
        self.state = state
    }
}
