// SPDX-License-Identifier: Apache-2.0

package struct UpstreamStatus: Codable, Sendable, Equatable {
    package var name: String

    /// URL without credentials.
    package var url: String

    package var protected: Bool

    package var validates = false

    package var state: HealthStatus
    package var calls: UInt64 = 0

    /// Deprecated; use `failed`.
    package var failures: UInt64 = 0 {
        didSet { failed = failures }
    }

    package private(set) var failed: UInt64? = 0
    package var foreignReplies: UInt64?
    package var servers: [UpstreamServer] = []

    /// Deprecated; use `latencyP50Us`.
    package var latencyMsP50: Double? { didSet { latencyP50Us = latencyMsP50.map(microseconds) } }

    package private(set) var latencyP50Us: UInt64?
    package var lastError: String?
    package var lastErrorAgeSeconds: Int?

    package init(name: String, url: String, protected: Bool, state: HealthStatus = .up) {
        self.name = name
        self.url = url
        self.protected = protected
        self.state = state
    }
}
