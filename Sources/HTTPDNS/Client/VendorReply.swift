// SPDX-License-Identifier: Apache-2.0
package import Net

/// Answer of a vendor with its origin.
package struct VendorReply: Sendable, Hashable {
    /// Answer for the name, possibly empty.
    package var answer: VendorAnswer

    /// Server that sent the answer.
    package var server: SocketAddress

    /// Time from the look-up to the answer, failed tries included.
    package var duration: Duration

    /// True if the reply used an already open connection.
    package var connectionReused: Bool

    /// True if the look-up joined a call of an earlier look-up.
    package var wasMerged = false

    /// Earlier failed tries, in order.
    package var failedTries: [FailedTry]
}

/// Failed look-up with its cause.
package struct VendorFailure: Error, Hashable {
    /// Cause of the failure: the error of the last try, or a local error.
    package var reason: VendorError

    /// Tries in order; empty if the look-up ended before the first.
    package var tries: [FailedTry]
}

/// Failed request.
package struct FailedTry: Sendable, Hashable {
    package var server: SocketAddress

    package var error: VendorError

    /// Time from the request to the failure.
    package var duration: Duration
}

// MARK: - Text

extension FailedTry: CustomStringConvertible {
    /// Text such as `192.0.2.1:443: timed out`.
    package var description: String { "\(server): \(error)" }
}

extension VendorFailure: CustomStringConvertible {
    /// All tries in one line, or the reason if there was none.
    package var description: String {
        tries.isEmpty ? "\(reason)" : tries.map(\.description).joined(separator: "; ")
    }
}
