// SPDX-License-Identifier: Apache-2.0

/// Counters of an ``HTTPClient``.
package struct HTTPStatistics: Sendable, Hashable {
    /// Kind of an ``HTTPError``.
    package enum Failure: String, Sendable, Hashable, CaseIterable {
        case timedOut = "timed-out"
        case connect
        case tls
        case broken
        case bodyTooLarge = "body-too-large"
        case invalidRequest = "invalid-request"
        case cancelled

        package init(_ error: HTTPError) {
            self =
                switch error {
                case .timedOut: .timedOut
                case .connect, .exhausted: .connect
                case .tls: .tls
                case .broken: .broken
                case .bodyTooLarge: .bodyTooLarge
                case .invalidRequest: .invalidRequest
                case .cancelled: .cancelled
                }
        }
    }

    /// Requests started.
    package internal(set) var requests = 0

    /// Replies with any status code.
    package internal(set) var replies = 0

    /// Failed requests by kind; kinds without failures are absent.
    package internal(set) var failures: [Failure: Int] = [:]

    package internal(set) var inFlight = 0

    /// Connection attempts, including failed ones.
    package internal(set) var connectionsOpened = 0

    /// Replies on a reused connection.
    package internal(set) var connectionsReused = 0
}
