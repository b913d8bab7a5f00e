// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Result of validating a message.
enum QueryValidation {
    case ignored

    case answered(length: Int, QuerySource, QueryOutcome)

    /// RFC 7873 §5.2.5.
    case query(QueryFacts, isProven: Bool)

    case unusual

    var isProven: Bool {
        if case .query(_, let isProven) = self { isProven } else { false }
    }

    /// Validates a message; `buffer` has capacity for a short reply.
    init(at buffer: inout MutableRawSpan, count: Int, from clientContext: ClientContext) {
        do throws(QueryFault) {
            var facts = try QueryFacts(checking: buffer.bytes.extracting(0..<count))
            var isProven = false
            if let edns = facts.edns {
                if edns.asksKeepalive { facts.replyOptions.keepalive = clientContext.keepalive }
                if edns.hasCookie, let terms = clientContext.cookies {
                    guard let cookies = edns.cookies(in: buffer.bytes) else {
                        let length = facts.reply(rcode: RCode.formErr.rawValue, in: &buffer)
                        self = .answered(length: length, .invalid, .formErr)
                        return
                    }
                    let decision = terms.decision(
                        on: cookies.client,
                        cookies.server,
                        of: clientContext.address
                    )
                    facts.replyOptions.cookies = (cookies.client, decision.cookie)
                    isProven = decision.isProven
                }
            }
            if !clientContext.isAllowed {
                self = .answered(
                    length: facts.reply(rcode: .refused, because: .prohibited, in: &buffer),
                    .refused,
                    .refused
                )
            } else if facts.recordClass != .in {
                self = .answered(
                    length: facts.reply(rcode: .refused, because: .notSupported, in: &buffer),
                    .refused,
                    .refused
                )
            } else if let edns = facts.edns, edns.version != 0 {
                // RFC 6891 §6.1.3.
                self = .answered(
                    length: facts.reply(rcode: RCode.badVers.rawValue, in: &buffer),
                    .invalid,
                    .badVers
                )
            } else {
                self = .query(facts, isProven: isProven)
            }
        } catch {
            switch error {
            case .ignored: self = .ignored
            case .unusual where clientContext.isAllowed: self = .unusual
            case .unusual: self = Self.fault(.malformed, count, in: &buffer)
            case .malformed, .otherOpcode: self = Self.fault(error, count, in: &buffer)
            }
        }
    }

    private static func fault(
        _ fault: QueryFault,
        _ count: Int,
        in buffer: inout MutableRawSpan
    ) -> QueryValidation {
        .answered(
            length: fault.reply(to: count, in: &buffer),
            .invalid,
            fault == .otherOpcode ? .notImp : .formErr
        )
    }
}
