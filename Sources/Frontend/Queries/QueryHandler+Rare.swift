// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

// Messages that only `Message` can parse.
extension QueryHandler {
    /// Maximum octets of a message; parsing 64 KiB would take over 1 ms.
    private static let rareOctets = 4_096

    /// Keeps only the question and EDNS; nil if malformed.
    static func plainQuery(_ octets: [UInt8]) -> [UInt8]? {
        guard octets.count <= rareOctets, let message = try? Message(parsing: octets),
            message.questions.count == 1
        else { return nil }
        var header = Header()
        header.id = message.header.id
        header.recursionDesired = message.header.recursionDesired
        header.authenticData = message.header.authenticData
        header.checkingDisabled = message.header.checkingDisabled
        var plain = Message(header: header)
        plain.questions = message.questions
        if var edns = message.edns {
            edns.options.removeAll {
                $0.code != EDNSOption.Code.cookie && $0.code != EDNSOption.Code.keepalive
            }
            plain.edns = edns
        }
        return plain.encoded()
    }

    /// Returns the reply to a query without a question (RFC 7873 §5.4).
    static func cookieReply(_ octets: [UInt8], _ clientContext: ClientContext) -> [UInt8]? {
        guard octets.count <= rareOctets, let terms = clientContext.cookies,
            let message = try? Message(parsing: octets),
            message.questions.isEmpty, message.answers.isEmpty, message.authorities.isEmpty,
            message.additionals.isEmpty, let edns = message.edns, edns.version == 0,
            let client = edns.cookie?.client
        else { return nil }
        var header = Header(id: message.header.id)
        header.isResponse = true
        header.recursionAvailable = true
        header.recursionDesired = message.header.recursionDesired
        var reply = Message(header: header)
        let number = client.reduce(0) { $0 << 8 | UInt64($1) }
        let decision = terms.decision(on: number, nil, of: clientContext.address)
        reply.edns = EDNS(options: [.cookie(client: client, server: decision.cookie.octets)])
        return reply.encoded()
    }
}
