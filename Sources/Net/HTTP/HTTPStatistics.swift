// SPDX-License-Identifier: Apache-2.0

package struct HTTPStatistics: Sendable, Hashable {
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
                case .connect, .cutOff, .exhausted: .connect
                case .tls: .tls
                case .broken: .broken
                case .bodyTooLarge: .bodyTooLarge
                case .invalidRequest: .invalidRequest
                case .cancelled: .cancelled
                }
        }
    }

    package internal(set) var requests = 0

    package internal(set) var replies = 0

    package internal(set) var failures: [Failure: Int] = [:]

    package internal(set) var inFlight = 0

    /// Number of opened connections, including failed attempts.
    package internal(set) var connectionsOpened = 0

    package internal(set) var connectionsReused = 0
}
