// SPDX-License-Identifier: Apache-2.0
package import Net

extension EndpointPool {
    /// Request to one server.
    package struct Attempt: Sendable, Hashable {
        package let server: SocketAddress

        let number: UInt64

        /// Era of the start.
        let era: UInt64

        /// True for a health probe.
        let isTrial: Bool
    }

    package enum Outcome: Sendable, Hashable {
        case answered

        /// Another server answered first.
        case answeredLate

        /// The name cannot be the cause: connecting failed, or the request was a health probe.
        case failed

        /// A client's name may be the cause; counts only if a health probe also fails.
        case suspected

        case limited(retryAfter: Duration?)

        /// Cancelled, or failed for a reason other than the server.
        case unjudged
    }

    /// Change of the current server after a report.
    package enum Change: Sendable, Hashable {
        /// The current server failed too often.
        case switched(from: SocketAddress, to: SocketAddress)

        /// The primary server answers again.
        case returned(from: SocketAddress)
    }
}
