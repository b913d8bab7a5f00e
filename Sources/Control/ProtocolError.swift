// SPDX-License-Identifier: Apache-2.0

/// Errors of a Varlink message that cannot be decoded.
///
/// The protocol has no reply to them: after such an error the receiver cannot trust the stream and
/// closes the connection.
package enum ProtocolError: Error, Equatable, Sendable {
    /// More than `limit` octets arrived without a final NUL.
    case tooLong(limit: Int)

    /// The message is not UTF-8 (RFC 8259 §8.1).
    case notUTF8

    /// The message is not JSON, or not the object of a call or a reply.
    case malformed(reason: String)
}

extension ProtocolError: CustomStringConvertible {
    /// Text for a log or a terminal, one line.
    package var description: String {
        switch self {
        case .tooLong(let limit): "message longer than \(limit) octets"
        case .notUTF8: "message is not UTF-8"
        case .malformed(let reason): "malformed message: \(reason)"
        }
    }
}
