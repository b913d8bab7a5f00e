// SPDX-License-Identifier: Apache-2.0
internal import Net

/// The question that the daemon asks itself, to see whether it answers.
///
/// It goes the way of every client's: through the kernel to a worker, from there to the service loop
/// and back.  Only its end is another: the loop replies at once, so it costs no vendor's call,
/// whatever the routes say, and is not in what is counted, logged or kept of clients' queries.  It
/// is known by a name that nobody can guess, and is no name of anybody's (RFC 6761 §6.4).
struct OwnQuery: Sendable {
    /// Octets of a message before its question.
    static let headerOctets = 12

    /// The question in wire form: the name, type A, class IN.
    let question: [UInt8]

    /// Makes a question with a name of its own.
    init() {
        var random = RandomPool()
        let digits = Array("0123456789abcdef".utf8)
        let secret = (0..<32).map { _ in digits[Int.random(in: 0..<digits.count, using: &random)] }
        let ending = Array("invalid".utf8)
        question =
            [UInt8(secret.count)] + secret + [UInt8(ending.count)] + ending + [0, 0, 1, 0, 1]
    }

    /// The message that asks it, with an ID of its own.
    func message(id: UInt16) -> [UInt8] {
        [UInt8(id >> 8), UInt8(truncatingIfNeeded: id), 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0] + question
    }

    /// The reply to it; nil if `message` is something else.
    func reply(to message: [UInt8]) -> [UInt8]? {
        guard message.count == Self.headerOctets + question.count,
            message[Self.headerOctets...].elementsEqual(question)
        else { return nil }
        var reply = message
        reply[2] |= 0x80
        return reply
    }
}
