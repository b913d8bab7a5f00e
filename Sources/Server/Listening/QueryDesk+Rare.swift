// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

// Messages of a shape that few clients send, read where time is not short.
extension QueryDesk {
    /// The same question in the shape that nearly all queries have, or nil for what is no query.
    ///
    /// Records that do not belong into a query, such as a signature of the transaction (TSIG,
    /// RFC 8945), are left out: none is supported, so none changes the answer.
    static func plainQuery(_ octets: [UInt8]) -> [UInt8]? {
        guard let message = try? Message(parsing: octets), message.questions.count == 1 else {
            return nil
        }
        var header = Header()
        header.id = message.header.id
        header.recursionDesired = message.header.recursionDesired
        header.authenticData = message.header.authenticData
        header.checkingDisabled = message.header.checkingDisabled
        var plain = Message(header: header)
        plain.questions = message.questions
        if var edns = message.edns {
            // What the first look answers to the client itself; nothing else is of use.
            edns.options.removeAll {
                $0.code != EDNSOption.Code.cookie && $0.code != EDNSOption.Code.keepalive
            }
            plain.edns = edns
        }
        return plain.encoded()
    }

    /// The reply to a message without a question, which asks for a cookie only (RFC 7873 §5.4).
    ///
    /// - Returns: nil if it is no such message, or if there are no cookies here.
    static func cookieReply(_ octets: [UInt8], _ asker: Asker) -> [UInt8]? {
        guard let terms = asker.cookies, let message = try? Message(parsing: octets),
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
        let verdict = terms.verdict(on: number, nil, of: asker.address)
        reply.edns = EDNS(options: [.cookie(client: client, server: verdict.cookie.octets)])
        return reply.encoded()
    }
}
