// SPDX-License-Identifier: Apache-2.0
package import Net

extension EndpointPool {
    /// Request to one server, from its start to its report.
    package struct Attempt: Sendable, Hashable {
        /// Server of the attempt.
        package let server: SocketAddress

        /// Attempt number; increases with each attempt.
        let number: UInt64

        /// Era in which the attempt started.
        let era: UInt64

        /// True if the attempt belongs to a health probe.
        let isTrial: Bool
    }

    /// Result of an attempt.
    package enum Outcome: Sendable, Hashable {
        case answered

        /// An answer arrived after another server's answer.
        case answeredLate

        /// The attempt failed, and the name cannot be the cause: connecting failed, or it was a
        /// probe.
        case failed

        /// The attempt failed, and its name came from a client. The failure counts against the
        /// server only if a health probe fails, too.
        case suspected

        case limited(retryAfter: Duration?)

        /// The attempt was cancelled, or failed for a reason other than the server.
        case unjudged
    }

    /// Change of the current server after a report.
    package enum Change: Sendable, Hashable {
        /// The current server failed too often; another server is current.
        case switched(from: SocketAddress, to: SocketAddress)

        /// The primary server answers again, and is current.
        case returned(from: SocketAddress)
    }
}
