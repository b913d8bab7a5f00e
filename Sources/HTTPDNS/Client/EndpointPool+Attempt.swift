// SPDX-License-Identifier: Apache-2.0
package import Net

extension EndpointPool {
    /// One request to one server, from its beginning to its report.
    package struct Attempt: Sendable, Hashable {
        /// The server.
        package let server: SocketAddress

        /// Rises with each attempt.
        let number: UInt64

        /// The era in which it began.
        let era: UInt64

        /// Whether it asks the daemon's own question.
        let isTrial: Bool
    }

    /// How an attempt ended.
    package enum Outcome: Sendable, Hashable {
        /// With an answer, be it an empty one.
        case answered

        /// With an answer when another server had given one.
        case answeredLate

        /// Without one, and the name cannot be the cause: no connection came about, or it is a trial.
        case failed

        /// Without one, for a name that a client chose: a trial decides whether that is a failure.
        case suspected

        /// With 429.
        case limited(retryAfter: Duration?)

        /// Given up, or ended by a fault that is not the server's.
        case unjudged
    }

    /// What a report made the pool do.
    package enum Change: Sendable, Hashable {
        /// The current server failed too often; another one is current.
        case switched(from: SocketAddress, to: SocketAddress)

        /// The primary server answers again, and is current.
        case returned(from: SocketAddress)
    }
}
