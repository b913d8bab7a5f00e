// SPDX-License-Identifier: Apache-2.0
package import Net

package struct VendorReply: Sendable, Hashable {
    package var answer: VendorAnswer

    package var families: Families

    package var server: SocketAddress

    package var duration: Duration

    package var connectionReused: Bool

    /// True if the lookup joined another lookup in flight.
    package var wasMerged = false

    package var failedTries: [FailedTry]

    /// Creates a reply that the vendor sent to this machine, or to another machine of the fleet.
    package init(
        answer: VendorAnswer,
        families: Families,
        server: SocketAddress,
        duration: Duration = .zero,
        connectionReused: Bool = false,
        failedTries: [FailedTry] = []
    ) {
        self.answer = answer
        self.families = families
        self.server = server
        self.duration = duration
        self.connectionReused = connectionReused
        self.failedTries = failedTries
    }
}

package struct VendorFailure: Error, Hashable {
    /// Error of the last request, or a local error.
    package var reason: VendorError

    /// Failed requests; empty if the lookup failed before the first request.
    package var tries: [FailedTry]

    /// True if other clients' calls are the reason that the name got no call.
    ///
    /// False if the vendor does not respond, or if the clients of the name have as many calls as
    /// they can have without other clients.
    package var isCrowded = false
}

package struct FailedTry: Sendable, Hashable {
    package var server: SocketAddress

    package var error: VendorError

    package var duration: Duration
}

// MARK: - Text

extension FailedTry: CustomStringConvertible {
    package var description: String { "\(server): \(error)" }
}

extension VendorFailure: CustomStringConvertible {
    package var description: String {
        tries.isEmpty ? "\(reason)" : tries.map(\.description).joined(separator: "; ")
    }
}
