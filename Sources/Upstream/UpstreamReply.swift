// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Reply that matches its query.
package enum UpstreamReply: Hashable, Sendable {
    /// Positive answer with records that need no decoding.
    case plain(PlainReply)

    case message(Message)

    package var rcode: RCode {
        switch self {
        case .plain: .noError
        case .message(let message): message.rcode
        }
    }

    /// Returns the message as an answer to `question`.
    package func message(to question: Question) -> Message {
        switch self {
        case .plain(let reply):
            var message = reply.sections.message(to: question) ?? Message()
            message.header.flags = reply.header.flags
            return message
        case .message(let message):
            return message
        }
    }
}

extension Result<UpstreamReply, UpstreamError> {
    /// True if the reply shows that the server works: an answer, or a rate limit.
    var isUsable: Bool {
        switch self {
        case .success(let reply):
            reply.rcode == .noError || reply.rcode == .nxDomain || reply.rcode == .yxDomain
        case .failure(let error): error == .rateLimited
        }
    }

    var rejectsEDNS: Bool {
        if case .success(let reply) = self { reply.rejectsEDNS } else { false }
    }
}
