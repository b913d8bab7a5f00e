// SPDX-License-Identifier: Apache-2.0
package import Net

/// An answer and where it came from.
package struct VendorReply: Sendable, Hashable {
    /// What the vendor said; maybe that it has nothing.
    package var answer: VendorAnswer

    /// The server that said it.
    package var server: SocketAddress

    /// From the call to the answer, failed tries included.
    package var duration: Duration

    /// Whether it came over a connection that was already open.
    package var connectionReused: Bool

    /// Whether the call was begun for somebody else, who has the answer too.
    package var wasMerged = false

    /// The tries that failed before, in order.
    package var failedTries: [FailedTry]
}

/// A look-up that brought nothing, and why.
package struct VendorFailure: Error, Hashable {
    /// What ended it: the last try's error, or one of our own.
    package var reason: VendorError

    /// The tries, in order; none if the call ended before the first.
    package var tries: [FailedTry]
}

/// One request that brought no answer.
package struct FailedTry: Sendable, Hashable {
    /// The server that was asked.
    package var server: SocketAddress

    /// What went wrong.
    package var error: VendorError

    /// From the request to the failure.
    package var duration: Duration
}

// MARK: - Text

extension FailedTry: CustomStringConvertible {
    /// As `192.0.2.1:443: timed out`.
    package var description: String { "\(server): \(error)" }
}

extension VendorFailure: CustomStringConvertible {
    /// All tries in one line, or the reason if there was none.
    package var description: String {
        tries.isEmpty ? "\(reason)" : tries.map(\.description).joined(separator: "; ")
    }
}
