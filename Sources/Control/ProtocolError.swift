// SPDX-License-Identifier: Apache-2.0

/// Errors of a message that cannot be decoded; the receiver closes the connection.
package enum ProtocolError: Error, Equatable, Sendable {
    /// Message that has more than `limit` octets before its NUL.
    case tooLong(limit: Int)

    case notUTF8

    /// Text that is not JSON, or JSON that is not a call or reply.
    case malformed(reason: String)
}

extension ProtocolError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLong(let limit): "message longer than \(limit) octets"
        case .notUTF8: "message is not UTF-8"
        case .malformed(let reason): "malformed message: \(reason)"
        }
    }
}
