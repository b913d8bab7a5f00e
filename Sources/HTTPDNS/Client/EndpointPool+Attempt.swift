// SPDX-License-Identifier: Apache-2.0
package import Net

extension EndpointPool {
    package struct Attempt: Sendable, Hashable {
        package let server: SocketAddress

        let number: UInt64

        let era: UInt64

        let isTrial: Bool
    }

    package enum Outcome: Sendable, Hashable {
        case answered

        /// Another server had answered before.
        case answeredLate

        case failed

        /// No usable answer, perhaps because of the queried name; counts only if a probe also
        /// fails.
        case suspected

        case limited(retryAfter: Duration?)

        case refused(VendorError, pause: Duration)

        /// The attempt was cancelled, or the server is not the cause of the failure.
        case unjudged
    }

    package enum Change: Sendable, Hashable {
        case switched(from: SocketAddress, to: SocketAddress)

        case returned(from: SocketAddress)
    }
}
