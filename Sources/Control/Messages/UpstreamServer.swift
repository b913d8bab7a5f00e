// SPDX-License-Identifier: Apache-2.0

/// How one server of an upstream resolver is doing.
package struct UpstreamServer: Codable, Sendable, Equatable {
    /// Its URL and, where that does not say it, its address: `tls://dns.example (192.0.2.53)`.
    package var url: String

    /// How it is spoken to: `udp` (and TCP where need be), `tcp`, `tls` or `https`.
    package var transport: String

    /// Whether nobody on the way can read or change its answers.
    package var protected: Bool

    /// Whether it is asked.
    package var state: State

    /// For how long it is still left alone; 0 once the next query may try it; nil if it is asked.
    package var forSeconds: Int?

    /// Why it is left alone; nil if it is asked.
    package var reason: String?

    /// The smoothed time of its answers in milliseconds; nil before the first.
    package var latency: Double? {
        didSet { latencyUs = latency.map(microseconds) }
    }

    /// The same in microseconds, as in all other messages; the field in milliseconds goes.
    package private(set) var latencyUs: UInt64?

    /// Queries sent to it; each ends as one of `successes` and `failures`.
    package var queries: UInt64 = 0

    /// Those that it answered.
    package var successes: UInt64 = 0

    /// Those that brought no answer.
    package var failures: UInt64 = 0 {
        didSet { failed = failures }
    }

    /// The same, by the name that all messages share; `failures` goes.
    package private(set) var failed: UInt64? = 0

    /// Connections begun, also in vain.
    package var connectionsOpened: UInt64 = 0

    /// Queries put on a connection that was there already.
    package var connectionsReused: UInt64 = 0

    /// What went wrong last; nil if nothing ever did.
    package var lastError: String?

    /// How long ago that was; nil if nothing ever did.
    package var lastErrorAgeSeconds: Int?

    /// Whether a server is asked.
    package enum State: String, Codable, Sendable {
        /// It is.
        case up
        /// After failures it is left alone for a while, unless all others are too.
        case rests
        /// What it is asked comes back to this daemon, so it is not asked.
        case loops
        /// An operator has paused its upstream.
        case paused
    }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case url, transport, protected, state
        case forSeconds = "for-seconds"
        case reason
        case latency = "latency-ms"
        case latencyUs = "latency-us"
        case queries, successes, failures, failed
        case connectionsOpened = "connections-opened"
        case connectionsReused = "connections-reused"
        case lastError = "last-error"
        case lastErrorAgeSeconds = "last-error-age-seconds"
    }

    /// Makes a server that has not been asked.
    package init(url: String, transport: String, protected: Bool, state: State = .up) {
        self.url = url
        self.transport = transport
        self.protected = protected
        self.state = state
    }
}
