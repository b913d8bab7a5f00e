// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Health check query with a random name below `invalid` (RFC 6761 §6.4).
package struct OwnQuery: Sendable {
    package static let headerOctets = 12

    package let question: [UInt8]

    package init() {
        var random = RandomPool()
        let digits = Array("0123456789abcdef".utf8)
        let secret = (0..<32).map { _ in digits[Int.random(in: 0..<digits.count, using: &random)] }
        let ending = Array("invalid".utf8)
        question =
            [UInt8(secret.count)] + secret + [UInt8(ending.count)] + ending + [0, 0, 1, 0, 1]
    }

    package func message(id: UInt16) -> [UInt8] {
        [UInt8(id >> 8), UInt8(truncatingIfNeeded: id), 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0] + question
    }

    /// Returns the reply to this health check; nil for a query of a client.
    package func reply(to message: [UInt8]) -> [UInt8]? {
        guard message.count == Self.headerOctets + question.count,
            message[Self.headerOctets...].elementsEqual(question)
        else { return nil }
        var reply = message
        reply[2] |= 0x80
        return reply
    }
}
