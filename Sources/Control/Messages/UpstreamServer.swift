// SPDX-License-Identifier: Apache-2.0

package struct UpstreamServer: Codable, Sendable, Equatable {
    /// URL, followed by the address if the URL has a name: `tls://dns.example (192.0.2.53)`.
    package var url: String

    package var transport: String

    package var protected: Bool
    package var state: State

    package var forSeconds: Int?

    package var reason: String?

    /// Deprecated; use `latencyUs`.
    package var latencyMs: Double? { didSet { latencyUs = latencyMs.map(microseconds) } }

    package private(set) var latencyUs: UInt64?
    package var queries: UInt64 = 0
    package var successes: UInt64 = 0

    /// Deprecated; use `failed`.
    package var failures: UInt64 = 0 {
        didSet { failed = failures }
    }

    package private(set) var failed: UInt64? = 0
    package var connectionsOpened: UInt64 = 0
    package var connectionsReused: UInt64 = 0
    package var lastError: String?
    package var lastErrorAgeSeconds: Int?

    package enum State: String, Codable, Sendable {
        case up
        case rests
        case loops
        case paused
    }

    package init(url: String, transport: String, protected: Bool, state: State = .up) {
        self.url = url
        self.transport = transport
        self.protected = protected
        self.state = state
    }
}
