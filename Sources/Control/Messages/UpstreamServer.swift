// SPDX-License-Identifier: Apache-2.0

/// State of one server of an upstream.
package struct UpstreamServer: Codable, Sendable, Equatable {
    /// URL, with the address if the URL does not contain it: `tls://dns.example (192.0.2.53)`.
    package var url: String

    /// Transport: `udp` (with TCP for truncated replies), `tcp`, `tls` or `https`.
    package var transport: String

    /// True if its transport is encrypted and authenticated.
    package var protected: Bool

    /// State of the server.
    package var state: State

    /// Remaining back-off in seconds; 0 if the next query may try the server; nil if not backed
    /// off.
    package var forSeconds: Int?

    /// Reason for the back-off; nil if not backed off.
    package var reason: String?

    /// Smoothed response time in milliseconds; nil before the first response.
    package var latencyMs: Double? {
        didSet { latencyUs = latencyMs.map(microseconds) }
    }

    /// The same in microseconds, the unit of all other messages; `latency-ms` is deprecated.
    package private(set) var latencyUs: UInt64?

    /// Queries sent; each ends as one of `successes` and `failures`.
    package var queries: UInt64 = 0

    /// Queries answered.
    package var successes: UInt64 = 0

    /// Queries without an answer.
    package var failures: UInt64 = 0 {
        didSet { failed = failures }
    }

    /// The same under the name that all messages share; `failures` is deprecated.
    package private(set) var failed: UInt64? = 0

    /// Connection attempts, including failed ones.
    package var connectionsOpened: UInt64 = 0

    /// Queries sent on an open connection.
    package var connectionsReused: UInt64 = 0

    /// Last error; nil if there was none.
    package var lastError: String?

    /// Time since the last error; nil if there was none.
    package var lastErrorAgeSeconds: Int?

    /// State of a server.
    package enum State: String, Codable, Sendable {
        /// The server is queried.
        case up
        /// The server is backed off after failures, unless all other servers are too.
        case rests
        /// Queries to the server return to this daemon, so it is not queried.
        case loops
        /// An operator has paused the upstream.
        case paused
    }

    /// Creates a server without queries.
    package init(url: String, transport: String, protected: Bool, state: State = .up) {
        self.url = url
        self.transport = transport
        self.protected = protected
        self.state = state
    }
}
