// SPDX-License-Identifier: Apache-2.0

/// What is wrong with octets that should be a Varlink message.
///
/// None of these has an answer in the protocol: the stream can no longer be trusted, so the end
/// that sees one closes the connection.
package enum ProtocolError: Error, Equatable, Sendable {
    /// More octets than `limit` came without the NUL that ends a message.
    case tooLong(limit: Int)

    /// The message is not UTF-8 (RFC 8259 §8.1).
    case notUTF8

    /// The message is not JSON, or is JSON but not the object a call or a reply is.
    case malformed(reason: String)
}

extension ProtocolError: CustomStringConvertible {
    /// One line for a log or a terminal.
    package var description: String {
        switch self {
        case .tooLong(let limit): "message longer than \(limit) octets"
        case .notUTF8: "message is not UTF-8"
        case .malformed(let reason): "malformed message: \(reason)"
        }
    }
}
