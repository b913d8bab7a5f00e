// SPDX-License-Identifier: Apache-2.0

/// What an ``HTTPClient`` has done so far.
package struct HTTPStatistics: Sendable, Hashable {
    /// Why requests failed, without the words.
    package enum Failure: String, Sendable, Hashable, CaseIterable {
        case timedOut = "timed-out"
        case connect
        case tls
        case broken
        case bodyTooLarge = "body-too-large"
        case invalidRequest = "invalid-request"
        case cancelled

        /// The kind of `error`.
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

    /// Requests begun: those answered, those that failed and those in flight.
    package internal(set) var requests = 0

    /// Replies, whatever their status code.
    package internal(set) var replies = 0

    /// Requests that failed, by kind; a kind that never came is missing.
    package internal(set) var failures: [Failure: Int] = [:]

    /// Requests that wait for their reply now.
    package internal(set) var inFlight = 0

    /// Connections begun, also those that came to nothing.
    package internal(set) var connectionsOpened = 0

    /// Replies that came over a connection that was there already.
    package internal(set) var connectionsReused = 0
}
