// SPDX-License-Identifier: Apache-2.0

/// Reply of Redis (RESP2).
enum RedisReply: Hashable, Sendable {
    case text([UInt8])

    case integer(Int64)

    case error(String)

    case none
    case list([RedisReply])
    var octets: [UInt8]? { if case .text(let octets) = self { octets } else { nil } }
    var string: String? { octets.map { String(decoding: $0, as: UTF8.self) } }
    var isOK: Bool { string == "OK" }
    var elements: [RedisReply] { if case .list(let elements) = self { elements } else { [] } }
}

/// Failure of Redis or of a connection to it.
package enum EngineError: Error, Hashable {
    case timedOut

    case busy

    /// The text is the error reply of Redis or a Sentinel.
    case refused(String)

    case lost(String)

    case unexpected(String)
}

extension EngineError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .timedOut: "does not answer in time"
        case .busy: "too many commands in flight"
        case .refused(let text): text
        case .lost(let why): why
        case .unexpected(let what): what
        }
    }
}
