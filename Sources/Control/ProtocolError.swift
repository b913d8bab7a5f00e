// SPDX-License-Identifier: Apache-2.0

/// Errors of a message that cannot be decoded; the receiver closes the connection.
package enum ProtocolError: Error, Equatable, Sendable {
    /// No NUL within `limit` octets.
    case tooLong(limit: Int)

    /// RFC 8259 §8.1.
    case notUTF8

    /// Not JSON, or not a call or reply.
    case malformed(reason: String)
}

extension ProtocolError: CustomStringConvertible {
    /// One line for users.
    package var description: String {
        switch self {
        case .tooLong(let limit): "message longer than \(limit) octets"
        case .notUTF8: "message is not UTF-8"
        case .malformed(let reason): "malformed message: \(reason)"
        }
    }
}
