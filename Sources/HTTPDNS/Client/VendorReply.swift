// SPDX-License-Identifier: Apache-2.0
package import Net

/// Answer of a vendor.
package struct VendorReply: Sendable, Hashable {
    /// Possibly empty.
    package var answer: VendorAnswer

    /// Families that the call requested.
    package var families: Families

    /// Server that sent the answer.
    package var server: SocketAddress

    /// Time since the look-up, with failed tries.
    package var duration: Duration

    /// True if an open connection was used.
    package var connectionReused: Bool

    /// True if the look-up joined an earlier one.
    package var wasMerged = false

    /// In order of their requests.
    package var failedTries: [FailedTry]
}

/// Failed look-up.
package struct VendorFailure: Error, Hashable {
    /// Error of the last try, or a local error.
    package var reason: VendorError

    /// Empty if the look-up failed before the first try.
    package var tries: [FailedTry]
}

/// Failed request.
package struct FailedTry: Sendable, Hashable {
    package var server: SocketAddress

    package var error: VendorError

    package var duration: Duration
}

// MARK: - Text

extension FailedTry: CustomStringConvertible {
    /// Text such as `192.0.2.1:443: timed out`.
    package var description: String { "\(server): \(error)" }
}

extension VendorFailure: CustomStringConvertible {
    /// All tries, or the reason without any.
    package var description: String {
        tries.isEmpty ? "\(reason)" : tries.map(\.description).joined(separator: "; ")
    }
}
